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
    from kvtiers.doctor import Source, lint
    from kvtiers.doctor.sources import Given, read_sources
    from kvtiers.doctor.texts import text as doctor_text
    from kvtiers.errors import KvtiersError
    from kvtiers.wiring import (
        Plan,
        Wiring,
        exports,
        lmcache_environment,
        lmcache_yaml,
        settings,
        shared_environment,
        vllm_command,
    )


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
        "ssd_demo": "只接本機 SSD，用來觀察它運作",
        "directory": "CPU RAM 加一個重新啟動後仍找得到的目錄",
        "redis": "CPU RAM 加 Redis 或 Valkey",
        "model": "模型",
        "cpu_gib": "給 KV 的 CPU RAM（每個 worker，GiB）",
        "disk_gib": "磁碟上限（每個 worker，GiB）",
        "disk_path": "硬碟上的目錄",
        "redis_url": "Redis 的位址",
        "chunk": "Chunk（token）",
        "no_limit": """
            **沒有上限，就沒有磁碟層。** `max_local_disk_size` 停在預設值 0 時，LMCache 根本不會建立磁碟層，也不會有任何提示：紀錄裡照樣寫著已存入，下一次查找卻是 0 命中。
        """,
        "bad_setting": "這些設定行不通：",
        "command": "**1. 帶著連接器啟動 vLLM，並先備妥步驟 2 的設定**",
        "environment": "**2. 設定，以環境變數表示**",
        "yaml": "或寫成等效的 `lmcache.yaml`（兩者都有時以環境變數為準），以 `LMCACHE_CONFIG_FILE` 指定：",
        "smallest": "**能命中的最短前綴：**{tokens} 個 token，也就是一個完整的 chunk；每段前綴最多有 {tail} 個 token 要重算。",
        "notes": "**3. 證明它有用**",
        "note_ssd": "啟動紀錄必須出現 `Local disk cache path:`。沒有這一行，就沒有磁碟層。",
        "note_hit": "等其他請求把它擠出去之後，再問一次同一個長提示：紀錄裡的 `LMCache hit tokens` 必須大於 0。",
        "note_restart_lost": "重新啟動後什麼都找不到，即使檔案還在：要主動暖機。",
        "note_restart_kept": "重新啟動後仍找得到 KV：同一個模型、同樣的配置、同樣的雜湊。",
        "note_restart_empty": "重新啟動會清空 CPU RAM：要主動暖機。",
        "language": "zh-TW",
        "check": """
            ## 貼上你自己的設定

            vLLM 指令、腳本、compose 檔、`.env` 或 `lmcache.yaml` 都可以。貼上的內容不會離開這個網頁。
        """,
        "pasted": "要檢查的設定",
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
    wiring = mo.ui.dropdown(
        {t[wiring]: wiring for wiring in Wiring if wiring in t}, value=t[Wiring.CPU_SSD], label=t["wiring"]
    )
    model = mo.ui.text("Qwen/Qwen3-8B", label=t["model"])
    chunk_tokens = mo.ui.dropdown([64, 128, 256, 512], value=256, label=t["chunk"])
    cpu_gib = mo.ui.slider(1, 256, value=20, label=t["cpu_gib"], show_value=True)
    disk_gib = mo.ui.slider(0, 2000, 10, value=100, label=t["disk_gib"], show_value=True)
    disk_path = mo.ui.text("/mnt/nvme/lmcache", label=t["disk_path"])
    redis_url = mo.ui.text("redis://localhost:6379", label=t["redis_url"])
    return chunk_tokens, cpu_gib, disk_gib, disk_path, model, redis_url, wiring


@app.cell
def _(chunk_tokens, cpu_gib, disk_gib, disk_path, model, redis_url, wiring):
    of_this_wiring = {
        Wiring.CPU: [cpu_gib],
        Wiring.CPU_SSD: [cpu_gib, disk_path, disk_gib],
        Wiring.SSD_DEMO: [disk_path, disk_gib],
        Wiring.DIRECTORY: [cpu_gib, disk_path],
        Wiring.REDIS: [cpu_gib, redis_url],
    }
    mo.vstack([wiring, model, chunk_tokens, *of_this_wiring[wiring.value]])
    return


@app.cell
def _(chunk_tokens, cpu_gib, disk_gib, disk_path, model, redis_url, t, wiring):
    has_disk_tier = wiring.value in (Wiring.CPU_SSD, Wiring.SSD_DEMO)
    mo.stop(has_disk_tier and disk_gib.value == 0, mo.callout(mo.md(t["no_limit"]), kind="danger"))
    plan = Plan(
        wiring.value,
        model.value,
        cpu_gib=cpu_gib.value,
        disk_gib=disk_gib.value,
        disk_path=disk_path.value,
        redis_url=redis_url.value,
        chunk_tokens=chunk_tokens.value,
    )
    try:
        values = settings(plan)
    except KvtiersError as error:
        mo.stop(True, mo.callout(mo.vstack([t["bad_setting"], mo.plain_text(str(error))]), kind="danger"))
    return has_disk_tier, plan, values


@app.cell
def _(plan, t, values):
    def fenced(language, text):
        return mo.md(f"```{language}\n{text}\n```")

    mo.vstack(
        [
            mo.md(t["command"]),
            fenced("bash", vllm_command(plan)),
            mo.md(t["environment"]),
            fenced("bash", exports(shared_environment() | lmcache_environment(values))),
            mo.md(t["yaml"]),
            fenced("yaml", lmcache_yaml(values)),
            mo.md(t["smallest"].format(tokens=plan.chunk_tokens, tail=plan.chunk_tokens - 1)),
        ]
    )
    return


@app.cell
def _(has_disk_tier, plan, t):
    after_restart = {
        Wiring.CPU: "note_restart_empty",
        Wiring.DIRECTORY: "note_restart_kept",
        Wiring.REDIS: "note_restart_kept",
    }
    notes = [
        *([t["note_ssd"]] if has_disk_tier else []),
        t["note_hit"],
        t[after_restart.get(plan.wiring, "note_restart_lost")],
    ]
    mo.md(t["notes"] + "\n\n" + "".join(f"- {note}\n" for note in notes))
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
        text = [Source("paste", pasted.value)]
        mo.stop(read_sources(text) == Given(), mo.callout(t["nothing_to_check"], kind="danger"))
        findings = lint(text)
    except KvtiersError as error:
        mo.stop(True, mo.callout(mo.vstack([t["settings_unread"], mo.plain_text(str(error))]), kind="danger"))

    def card(finding):
        kind = {"error": "danger", "warning": "warn", "note": "info"}[finding.severity]
        return mo.callout(mo.Html(escape(show(finding, t["language"])).replace("\n", "<br>")), kind=kind)

    clean = mo.callout(doctor_text("lint.clean", t["language"], {}), kind="success")
    mo.vstack([*map(card, findings)] or [clean])
    return (findings,)


@app.cell(hide_code=True)
def _(t):
    mo.md(t["run"])
    return


if __name__ == "__main__":
    app.run()
