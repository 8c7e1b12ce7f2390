# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "kvtiers",
#     "marimo==0.25.2",
#     "matplotlib",
# ]
# tool.course.pairs = [["wiring", "ranks"], ["wiring", "chunk_tokens"], ["wiring", "cpu_gib"], ["wiring", "disk_gib"]]
#
# [tool.uv.sources]
# kvtiers = { path = "..", editable = true }
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full")

with app.setup(hide_code=True):
    from html import escape

    import marimo as mo

    from kvtiers.errors import KvtiersError
    from kvtiers.lint import Source, report
    from kvtiers.lint.formats import basis, show, verdict
    from kvtiers.notebook import refuse, speaker
    from kvtiers.settings.advise import files, place_notes, proof
    from kvtiers.settings.known_pairs import known_pair
    from kvtiers.settings.version_pairs import LMCacheMode
    from kvtiers.settings.wiring import Plan, Wiring
    from kvtiers.words import text as doctor_text


@app.cell(hide_code=True)
def _():
    LANGUAGE = mo.cli_args().get("language", "en")  # the site's pages and downloads set theirs here
    say = speaker(LANGUAGE)
    return LANGUAGE, say


@app.cell(hide_code=True)
def _(say):
    say.md(
        """
        # Wire it

        Choose what to wire; copy the settings. For vLLM 0.32.0 and LMCache 0.5.6.
        """,
        """
        # 接起來

        選好要接哪些層，然後複製設定。適用 vLLM 0.32.0 與 LMCache 0.5.6。
        """,
    )
    return


@app.cell
def _(say):
    _legacy = say("Legacy, inside vLLM up to 0.25", "舊做法，vLLM 0.25 以前的行程內")
    _wirings = {
        say("MP mode: RAM", "MP 模式：RAM"): Wiring.MP_RAM,
        say("MP mode: RAM and a drive", "MP 模式：RAM 加硬碟"): Wiring.MP_DRIVE,
        say("MP mode: RAM and Redis or Valkey", "MP 模式：RAM 加 Redis 或 Valkey"): Wiring.MP_REDIS,
        say("MP mode: RAM and S3", "MP 模式：RAM 加 S3"): Wiring.MP_S3,
        say("vLLM's own tiering", "vLLM 自己的分層"): Wiring.VLLM_TIERING,
        say(f"{_legacy}: RAM", f"{_legacy}：RAM"): Wiring.IN_PROCESS_RAM,
        say(f"{_legacy}: RAM and disk", f"{_legacy}：RAM 加硬碟"): Wiring.IN_PROCESS_DISK,
        say(f"{_legacy}: disk only (a demo)", f"{_legacy}：只接硬碟（示範用）"): Wiring.IN_PROCESS_DISK_ONLY,
        say(f"{_legacy}: RAM and a directory", f"{_legacy}：RAM 加一個目錄"): Wiring.IN_PROCESS_DIRECTORY,
    }
    wiring = mo.ui.dropdown(
        _wirings, value=say("MP mode: RAM and a drive", "MP 模式：RAM 加硬碟"), label=say("What to wire", "要接哪些層")
    )
    ranks = mo.ui.slider(
        steps=[1, 2, 4, 8], value=1, label=say("Tensor-parallel ranks", "張量平行的卡數"), show_value=True
    )
    model = mo.ui.text("Qwen/Qwen3-8B", label=say("Model", "模型"))
    chunk_tokens = mo.ui.dropdown([64, 128, 256, 512], value=256, label=say("Chunk (tokens)", "Chunk（token）"))
    cpu_gib = mo.ui.slider(
        1,
        256,
        value=20,
        label=say("CPU RAM for KV (GiB, all ranks)", "給 KV 的 CPU 記憶體（所有卡合計，GiB）"),
        show_value=True,
    )
    _limit = say("Limit of the lower tier (GiB, all ranks)", "下一層的上限（所有卡合計，GiB）")
    disk_gib = mo.ui.slider(0, 2000, 10, value=100, label=_limit, show_value=True)
    disk_path = mo.ui.text("/mnt/nvme/lmcache", label=say("Directory on the drive", "硬碟上的目錄"))
    redis_url = mo.ui.text(Plan.redis_url, label=say("Address of Redis", "Redis 的位址"))
    s3_url = mo.ui.text(Plan.s3_url, label=say("Address of the S3 bucket", "S3 儲存貯體的位址"), full_width=True)
    s3_region = mo.ui.text(Plan.s3_region, label=say("Its region", "所在區域"))
    return chunk_tokens, cpu_gib, disk_gib, disk_path, model, ranks, redis_url, s3_region, s3_url, wiring


@app.cell
def _(chunk_tokens, cpu_gib, disk_gib, disk_path, model, ranks, redis_url, s3_region, s3_url, wiring):
    of_this_wiring = {
        Wiring.MP_RAM: [chunk_tokens, cpu_gib],
        Wiring.MP_DRIVE: [chunk_tokens, cpu_gib, disk_path],
        Wiring.MP_REDIS: [chunk_tokens, cpu_gib, redis_url],
        Wiring.MP_S3: [chunk_tokens, cpu_gib, s3_url, s3_region, disk_gib],
        Wiring.VLLM_TIERING: [cpu_gib, disk_path],
        Wiring.IN_PROCESS_RAM: [chunk_tokens, cpu_gib],
        Wiring.IN_PROCESS_DISK: [chunk_tokens, cpu_gib, disk_path, disk_gib],
        Wiring.IN_PROCESS_DISK_ONLY: [chunk_tokens, disk_path, disk_gib],
        Wiring.IN_PROCESS_DIRECTORY: [chunk_tokens, cpu_gib, disk_path],
    }
    mo.vstack([wiring, model, ranks, *of_this_wiring[wiring.value]])
    return


@app.cell
def _(chunk_tokens, cpu_gib, disk_gib, disk_path, model, ranks, redis_url, s3_region, s3_url, say, wiring):
    needs_limit = wiring.value in (Wiring.IN_PROCESS_DISK, Wiring.IN_PROCESS_DISK_ONLY)
    no_limit = say.md(
        """
        **No limit, no disk tier.** With `max_local_disk_size` at its default of 0, LMCache never creates the disk tier and
        says nothing: stores are still logged, and the next lookup hits 0.
        """,
        """
        **沒有上限，就沒有硬碟層。** `max_local_disk_size` 停在預設值 0 時，LMCache 根本不會建立硬碟層，也不會有任何訊息：日誌裡照樣寫著已存入，下一次查詢卻是 0 命中。
        """,
    )
    mo.stop(needs_limit and disk_gib.value == 0, mo.callout(no_limit, kind="danger"))
    plan = Plan(
        wiring.value,
        model.value,
        cpu_gib=cpu_gib.value,
        disk_gib=disk_gib.value,
        disk_path=disk_path.value,
        redis_url=redis_url.value,
        s3_url=s3_url.value,
        s3_region=s3_region.value,
        chunk_tokens=chunk_tokens.value,
        tensor_parallel=ranks.value,
    )
    try:
        to_paste = files(plan)
    except KvtiersError as error:
        refuse(say, "These settings can't work:", "這些設定行不通：", error)
    return plan, to_paste


@app.cell
def _(LANGUAGE, plan, say, to_paste):
    def fenced(kind, text):
        return mo.md(f"```{'yaml' if kind == 'yaml' else 'bash'}\n{text.rstrip()}\n```")

    _titles = {
        "server": say.md(
            "**Start the LMCache server first.** It holds the tiers; every vLLM on the machine uses it.",
            "**先啟動 LMCache 伺服器。**各層由它持有，這台機器上的每個 vLLM 都用它。",
        ),
        "environment": say.md("**Set the environment**", "**設好環境變數**"),
        "yaml": say.md(
            "or the same as `lmcache.yaml` (variables win where both are set), named by `LMCACHE_CONFIG_FILE`:",
            "或寫成等效的 `lmcache.yaml`（兩者都有時以環境變數為準），以 `LMCACHE_CONFIG_FILE` 指定：",
        ),
        "command": say.md("**Start vLLM with the connector**", "**帶著連接器啟動 vLLM**"),
    }
    _steps = [part for kind, text in to_paste.items() for part in (_titles[kind], fenced(kind, text))]
    _chunk, _tail = plan.chunk_tokens, plan.chunk_tokens - 1
    _smallest = say(
        f"**Smallest prefix that can hit:** {_chunk} tokens, one full chunk; at most {_tail} tokens of each prefix are recomputed.",
        f"**能命中的最短前綴：**{_chunk} 個 token，也就是一個完整的 chunk；每段前綴最多有 {_tail} 個 token 要重算。",
    )
    _keys = say(
        "Keys come from the usual AWS places (variables, profile, role): none belongs into these settings.",
        "金鑰由 AWS 慣用的地方取得（環境變數、profile、角色），不要寫進這些設定。",
    )
    _tiering = say(
        "LMCache takes no part in this one. It needs a GPU: CUDA, ROCm or XPU.",
        "這種接法不經過 LMCache，需要 GPU：CUDA、ROCm 或 XPU。",
    )
    _notes = {Wiring.VLLM_TIERING: _tiering, Wiring.MP_S3: f"{_smallest}\n\n{_keys}"}
    _warned = []
    if plan.wiring.mode is LMCacheMode.IN_PROCESS:
        _fault = known_pair(plan.wiring.mode, "", "", "cuda")
        _text = f"{doctor_text('plan.note.legacy', LANGUAGE, {})} vLLM ≥ {_fault.vllm_from}, LMCache ≤ {_fault.lmcache_to}: {_fault.what[LANGUAGE]}"
        _warned = [mo.callout(mo.md(_text), kind="danger")]
    mo.vstack([*_warned, *_steps, mo.md(_notes.get(plan.wiring, _smallest))])
    return


@app.cell
def _(LANGUAGE, plan, say):
    _proof = [doctor_text(f"plan.proof.{name}", LANGUAGE, {}) for name in proof(plan.wiring)]
    _known = [doctor_text(f"plan.note.{name}", LANGUAGE, values) for name, values in place_notes(plan)]
    mo.md(
        "\n".join(
            [
                *(say("**Prove it**", "**證明它有用**"), "", *(f"- {line}" for line in _proof), ""),
                *(say("**Know this**", "**要知道的事**"), "", *(f"- {line}" for line in _known)),
            ]
        )
    )
    return


@app.cell(hide_code=True)
def _(say):
    say.md(
        """
        ## Paste your own settings

        A vLLM command, a script, a compose file, a Kubernetes manifest, a `.env`, an `lmcache.yaml` and more. Nothing
        you paste leaves this page.
        """,
        """
        ## 貼上你自己的設定

        vLLM 指令、腳本、compose 檔、Kubernetes manifest、`.env`、`lmcache.yaml` 等等都可以。貼上的內容不會離開這個網頁。
        """,
    )
    return


@app.cell
def _(say):
    pasted = mo.ui.text_area(
        "export LMCACHE_LOCAL_DISK=file:/mnt/nvme/lmcache\n"
        "export LMCACHE_LOCAL_CPU=no\n"
        "vllm serve Qwen/Qwen3-8B \\\n"
        '  --kv-transfer-config \'{"kv_connector": "LMCacheConnector", "kv_role": "kv_both"}\'\n',
        label=say("Settings to check", "要檢查的設定"),
        rows=6,
        full_width=True,
    )
    pasted
    return (pasted,)


@app.cell
def _(LANGUAGE, pasted, say):
    nothing = say(
        "No vLLM command, no variable and no LMCache setting in this text.",
        "這段文字裡沒有 vLLM 指令，也沒有環境變數或 LMCache 的設定。",
    )
    try:
        checked = report([Source(say("paste", "貼上的內容"), pasted.value)])
        mo.stop(checked.given.silent, mo.callout(nothing, kind="danger"))
    except KvtiersError as error:
        refuse(say, "These settings can't be read. What is wrong:", "這些設定讀不懂。問題是：", error)

    def card(finding):
        kind = {"error": "danger", "warning": "warn"}.get(finding.label, "info")
        head, *rest = escape(show(finding, LANGUAGE)).split("\n")
        return mo.callout(mo.Html("<br>".join([f"<strong>{head}</strong>", *rest])), kind=kind)

    clean = mo.callout(verdict(LANGUAGE), kind="success")
    rests_on = mo.Html("<br>".join(escape(basis(checked, LANGUAGE)).split("\n")))
    findings = checked.findings
    mo.vstack([*([clean] if checked.clean else []), *map(card, findings), rests_on])
    return (findings,)


@app.cell(hide_code=True)
def _(say):
    say.from_clone("05_wire_it")
    return


if __name__ == "__main__":
    app.run()
