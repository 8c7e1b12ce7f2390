# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "kvtiers",
#     "marimo==0.25.2",
#     "matplotlib",
# ]
#
# [tool.uv.sources]
# kvtiers = { path = "../..", editable = true }
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full")

with app.setup:
    from html import escape

    import marimo as mo

    from kvtiers.commands.lint import show
    from kvtiers.errors import KvtiersError
    from kvtiers.lint import Source, lint
    from kvtiers.lint.sources import Given, read_sources
    from kvtiers.settings.advise import files, proof
    from kvtiers.settings.wiring import Plan, Wiring, settings
    from kvtiers.words import text as doctor_text


@app.cell(hide_code=True)
def _():
    t = {
        "intro": """
            # 接起來

            選好要接哪些層，然後複製設定。適用 vLLM 0.32.0 與 LMCache 0.5.6。
        """,
        "wiring": "要接哪些層",
        "cpu": "CPU RAM",
        "cpu_ssd": "CPU RAM 加本機 SSD",
        "ssd_demo": "只接本機 SSD（示範用）",
        "directory": "CPU RAM 加一個目錄",
        "redis": "CPU RAM 加 Redis 或 Valkey",
        "s3": "CPU RAM 加 S3",
        "mp_server": "LMCache 伺服器（MP 模式）",
        "vllm_tiering": "vLLM 自己的分層",
        "model": "模型",
        "cpu_gib": "給 KV 的 CPU RAM（每個 worker，GiB）",
        "disk_gib": "磁碟上限（每個 worker，GiB）",
        "disk_path": "硬碟上的目錄",
        "redis_url": "Redis 的位址",
        "s3_url": "S3 儲存貯體的位址",
        "s3_region": "所在區域",
        "chunk": "Chunk（token）",
        "no_limit": """
            **沒有上限，就沒有磁碟層。** `max_local_disk_size` 停在預設值 0 時，LMCache 根本不會建立磁碟層，也不會有任何提示：日誌裡照樣寫著已存入，下一次查找卻是 0 命中。
        """,
        "bad_setting": "這些設定行不通：",
        "server_step": "**先啟動 LMCache 伺服器。**各層由它持有，這台機器上的每個 vLLM 都用它。",
        "environment_step": "**設好環境變數**",
        "yaml_step": "或寫成等效的 `lmcache.yaml`（兩者都有時以環境變數為準），以 `LMCACHE_CONFIG_FILE` 指定：",
        "command_step": "**帶著連接器啟動 vLLM**",
        "smallest": "**能命中的最短前綴：**{tokens} 個 token，也就是一個完整的 chunk；每段前綴最多有 {tail} 個 token 要重算。",
        "tiering": "這種接法不經過 LMCache，需要 GPU：CUDA、ROCm 或 XPU。",
        "s3_keys": "金鑰由 AWS 慣用的地方取得（環境變數、profile、角色），不要寫進這些設定。",
        "notes": "**證明它有用**",
        "language": "zh-TW",
        "check": """
            ## 貼上你自己的設定

            vLLM 指令、腳本、compose 檔、`.env` 或 `lmcache.yaml` 都可以。貼上的內容不會離開這個網頁。
        """,
        "pasted": "要檢查的設定",
        "paste": "貼上的內容",
        "settings_unread": "這些設定讀不懂。問題是：",
        "nothing_to_check": "這段文字裡沒有 vLLM 指令，也沒有環境變數或 LMCache 的設定。",
        "run": "從 clone 下來的專案執行：`uvx marimo edit --sandbox notebooks/zh-TW/05_wire_it.py`",
    }
    return (t,)


@app.cell(hide_code=True)
def _(t):
    mo.md(t["intro"])
    return


@app.cell
def _(t):
    wiring = mo.ui.dropdown({t[wiring]: wiring for wiring in Wiring}, value=t[Wiring.CPU_SSD], label=t["wiring"])
    model = mo.ui.text("Qwen/Qwen3-8B", label=t["model"])
    chunk_tokens = mo.ui.dropdown([64, 128, 256, 512], value=256, label=t["chunk"])
    cpu_gib = mo.ui.slider(1, 256, value=20, label=t["cpu_gib"], show_value=True)
    disk_gib = mo.ui.slider(0, 2000, 10, value=100, label=t["disk_gib"], show_value=True)
    disk_path = mo.ui.text("/mnt/nvme/lmcache", label=t["disk_path"])
    redis_url = mo.ui.text(Plan.redis_url, label=t["redis_url"])
    s3_url = mo.ui.text(Plan.s3_url, label=t["s3_url"], full_width=True)
    s3_region = mo.ui.text(Plan.s3_region, label=t["s3_region"])
    return chunk_tokens, cpu_gib, disk_gib, disk_path, model, redis_url, s3_region, s3_url, wiring


@app.cell
def _(chunk_tokens, cpu_gib, disk_gib, disk_path, model, redis_url, s3_region, s3_url, wiring):
    of_this_wiring = {
        Wiring.CPU: [chunk_tokens, cpu_gib],
        Wiring.CPU_SSD: [chunk_tokens, cpu_gib, disk_path, disk_gib],
        Wiring.SSD_DEMO: [chunk_tokens, disk_path, disk_gib],
        Wiring.DIRECTORY: [chunk_tokens, cpu_gib, disk_path],
        Wiring.REDIS: [chunk_tokens, cpu_gib, redis_url],
        Wiring.S3: [chunk_tokens, cpu_gib, s3_url, s3_region],
        Wiring.MP_SERVER: [chunk_tokens, cpu_gib, disk_path],
        Wiring.VLLM_TIERING: [cpu_gib, disk_path],
    }
    mo.vstack([wiring, model, *of_this_wiring[wiring.value]])
    return


@app.cell
def _(chunk_tokens, cpu_gib, disk_gib, disk_path, model, redis_url, s3_region, s3_url, t, wiring):
    needs_limit = wiring.value in (Wiring.CPU_SSD, Wiring.SSD_DEMO)
    mo.stop(needs_limit and disk_gib.value == 0, mo.callout(mo.md(t["no_limit"]), kind="danger"))
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
    )
    try:
        values = settings(plan)
        to_paste = files(plan)
    except KvtiersError as error:
        mo.stop(True, mo.callout(mo.vstack([t["bad_setting"], mo.plain_text(str(error))]), kind="danger"))
    return plan, to_paste, values


@app.cell
def _(plan, t, to_paste):
    def fenced(kind, text):
        return mo.md(f"```{'yaml' if kind == 'yaml' else 'bash'}\n{text.rstrip()}\n```")

    _steps = [part for kind, text in to_paste.items() for part in (mo.md(t[f"{kind}_step"]), fenced(kind, text))]
    _notes = {
        Wiring.VLLM_TIERING: t["tiering"],
        Wiring.S3: t["smallest"] + "\n\n" + t["s3_keys"],
    }
    _note = _notes.get(plan.wiring, t["smallest"]).format(tokens=plan.chunk_tokens, tail=plan.chunk_tokens - 1)
    mo.vstack([*_steps, mo.md(_note)])
    return


@app.cell
def _(plan, t):
    _proof = [doctor_text(f"plan.proof.{name}", t["language"], {}) for name in proof(plan.wiring)]
    _restart = "survives" if plan.wiring.survives_restart else "lost_at_restart"
    _said = [*_proof, doctor_text(f"plan.note.{_restart}", t["language"], {})]
    mo.md(t["notes"] + "\n\n" + "".join(f"- {line}\n" for line in _said))
    return


@app.cell(hide_code=True)
def _(t):
    mo.md(t["check"])
    return


@app.cell
def _(t):
    pasted = mo.ui.text_area(
        "export LMCACHE_LOCAL_DISK=file:/mnt/nvme/lmcache\n"
        "export LMCACHE_LOCAL_CPU=no\n"
        "vllm serve Qwen/Qwen3-8B \\\n"
        '  --kv-transfer-config \'{"kv_connector": "LMCacheConnector", "kv_role": "kv_both"}\'\n',
        label=t["pasted"],
        rows=6,
        full_width=True,
    )
    pasted
    return (pasted,)


@app.cell
def _(pasted, t):
    try:
        text = [Source(t["paste"], pasted.value)]
        mo.stop(read_sources(text) == Given(), mo.callout(t["nothing_to_check"], kind="danger"))
        findings = lint(text)
    except KvtiersError as error:
        mo.stop(True, mo.callout(mo.vstack([t["settings_unread"], mo.plain_text(str(error))]), kind="danger"))

    def card(finding):
        kind = {"error": "danger", "warning": "warn", "note": "info"}[finding.severity]
        head, *rest = escape(show(finding, t["language"])).split("\n")
        return mo.callout(mo.Html("<br>".join([f"<strong>{head}</strong>", *rest])), kind=kind)

    clean = mo.callout(doctor_text("lint.clean", t["language"], {}), kind="success")
    mo.vstack([*map(card, findings)] or [clean])
    return (findings,)


@app.cell(hide_code=True)
def _(t):
    mo.md(t["run"])
    return


if __name__ == "__main__":
    app.run()
