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
    import marimo as mo

    from kvtiers import charts
    from kvtiers.ledger.costs import recompute_s
    from kvtiers.ledger.tiers import DEFAULT_BANDWIDTH_GB_PER_S, Tier, Traffic, judge, load_back_s
    from kvtiers.ledger.upkeep import Rate, drive_years, energy_kwh_per_year, price, terabytes_written_per_year
    from kvtiers.model import kv_spec
    from kvtiers.units import GIB, format_bytes, format_seconds


@app.cell(hide_code=True)
def _():
    t = {
        "intro": """
            # 該用哪一層？

            先看每一層要花多少時間，再讓判斷器選出裝得下你的前綴的最近一層。
        """,
        "kv_type": "KV 型別（8B 級模型：32 層、8 個 KV 頭、head_dim 128）",
        "cards": "把 10k 個 token 的前綴載回來。點選一層：",
        "vram": "GPU 記憶體",
        "cpu": "CPU RAM",
        "ssd": "本機 SSD",
        "remote": "遠端",
        "none": "不需要任何一層",
        "about_vram": "vLLM 自己的前綴快取，只有權重用剩的空間；重新啟動就清空。",
        "about_cpu": "每台主機數十到數百 GiB；重新啟動就清空。",
        "about_ssd": "以 TB 計，比較慢。LMCache 0.5.6 重新啟動後會忘記索引：檔案還在，卻再也找不到。",
        "about_remote": "Redis、Valkey、S3 或一個目錄：只要雜湊穩定，重新啟動後、其他主機上都找得到。",
        "card": "**{tier}：{time}**（假設 {bandwidth:g} GB/s）；以每秒 4,000 個 token 重算要 {recompute}。<br>{about}",
        "judge": "## 判斷器",
        "context": "一位使用者的上下文（token）",
        "users": "同時的使用者數",
        "reused": "同一段前綴會再出現",
        "free_vram": "可用 VRAM（GiB）",
        "cpu_ram": "可給 KV 的 CPU RAM（GiB）",
        "needed": "需要",
        "vram_line": "可用 VRAM，{vram}",
        "ram_line": "CPU RAM，{ram}",
        "size": "KV 快取（對數刻度）",
        "alt": "需要 {needed}，可用 VRAM {vram}，CPU RAM {ram}：{verdict}。",
        "verdict": "**{verdict}。** {reason}{turn_on}",
        "not_reused": "前綴不會再出現，沒有東西可以載回：每一層都只是多付寫入的代價。",
        "fits_vram": "{needed} 放得進 {vram} 的可用 VRAM。",
        "fits_cpu": "{needed} 超過 {vram} 的可用 VRAM，但放得進 {ram} 的 CPU RAM，不需要 SSD。",
        "exceeds_cpu": "{needed} 超過可用 VRAM，也超過 {ram} 的 CPU RAM。",
        "on_none": "什麼都不用開。",
        "on_vram": "什麼都不用開：vLLM 的前綴快取預設就是開的。",
        "on_cpu": "開啟 LMCache 的 CPU 層：`local_cpu: true`、`max_local_cpu_size: {gib}`。",
        "on_ssd": "開啟 CPU 與 SSD：`local_disk` 加上 `max_local_disk_size: {gib}`；沒有上限就沒有磁碟層。",
        "order": "重點在提問的順序：",
        "upkeep": "## 養它要多少成本",
        "upkeep_note": "價格與功耗是數量級正確的假設值，請換成你自己的。",
        "kept": "要保留的 KV（GiB）",
        "price": "{tier}：每 GB 價格",
        "watts": "{tier}：每 TB 瓦數",
        "new_tokens": "每天新存入的 token（百萬）",
        "rated": "硬碟的耐寫度（TBW）",
        "table": "| 層 | 價格 | 一年用電 |\n|---|---|---|\n",
        "writes": "硬碟一年寫入 {written:,.0f} TB，**{years:.1f} 年**後達到 {rated:,} TBW 的耐寫度。",
        "exercise": "練習 1：fp8 改變了什麼？",
        "solution": """
            其他都不動（128k 個 token、一位使用者、10 GiB 可用 VRAM），把 KV 型別改成 fp8。每個 token 從 128 KiB 變成 64 KiB，整段上下文從 16 GiB 變成 8 GiB，判斷器就從 CPU 層改判為 VRAM：一層都不必架。
        """,
        "run": "從 clone 下來的專案執行：`uvx marimo edit --sandbox notebooks/zh-TW/04_which_tier.py`",
    }
    return (t,)


@app.cell(hide_code=True)
def _(t):
    mo.md(t["intro"])
    return


@app.cell
def _(t):
    kv_type = mo.ui.dropdown(["fp32", "fp16", "bf16", "fp8"], value="fp16", label=t["kv_type"])
    context_tokens = mo.ui.slider(
        steps=[2048, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576],
        value=131072,
        label=t["context"],
        show_value=True,
    )
    users = mo.ui.slider(1, 50, value=1, label=t["users"], show_value=True)
    reused = mo.ui.switch(value=True, label=t["reused"])
    free_vram_gib = mo.ui.slider(0, 80, value=10, label=t["free_vram"], show_value=True)
    cpu_ram_gib = mo.ui.slider(0, 512, value=64, label=t["cpu_ram"], show_value=True)
    chosen, choose = mo.state(Tier.SSD)
    kv_type
    return chosen, choose, context_tokens, cpu_ram_gib, free_vram_gib, kv_type, reused, users


@app.cell
def _(kv_type):
    model = {
        "model_type": "llama",
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "hidden_size": 4096,
    }
    kv_bytes = kv_spec(model, kv_type.value).bytes_per_token
    back_s = {tier: load_back_s(tier, 10_000, kv_bytes) for tier in DEFAULT_BANDWIDTH_GB_PER_S}
    return back_s, kv_bytes


@app.cell
def _(back_s, choose, t):
    cards = mo.ui.array(
        [
            mo.ui.button(label=f"{t[tier]}<br>{format_seconds(time_s)}", on_click=lambda _, tier=tier: choose(tier))
            for tier, time_s in back_s.items()
        ]
    )
    mo.vstack([mo.md(t["cards"]), mo.hstack(cards, justify="start", wrap=True)])
    return


@app.cell
def _(back_s, chosen, t):
    tier = chosen()
    card = t["card"].format(
        tier=t[tier],
        time=format_seconds(back_s[tier]),
        bandwidth=DEFAULT_BANDWIDTH_GB_PER_S[tier],
        recompute=format_seconds(recompute_s(10_000, 4000)),
        about=t[f"about_{tier}"],
    )
    mo.callout(mo.md(card))
    return


@app.cell(hide_code=True)
def _(context_tokens, cpu_ram_gib, free_vram_gib, reused, t, users):
    mo.vstack([mo.md(t["judge"]), context_tokens, users, reused, free_vram_gib, cpu_ram_gib])
    return


@app.cell
def _(context_tokens, cpu_ram_gib, free_vram_gib, kv_bytes, reused, t, users):
    verdict = judge(
        Traffic(context_tokens.value, users.value, reused.value), kv_bytes, free_vram_gib.value, cpu_ram_gib.value
    )
    sizes = {
        "needed": format_bytes(verdict.needed_bytes),
        "vram": format_bytes(verdict.free_vram_bytes),
        "ram": format_bytes(verdict.cpu_ram_bytes),
    }
    mo.vstack(
        [
            mo.callout(
                mo.md(
                    t["verdict"].format(
                        verdict=t[verdict.tier],
                        reason=t[verdict.reason].format(**sizes),
                        turn_on=t[f"on_{verdict.tier}"].format(gib=round(verdict.needed_bytes / GIB + 1)),
                    )
                ),
                kind="success",
            ),
            mo.Html(
                charts.log_bars(
                    {t["needed"]: verdict.needed_bytes},
                    charts.Axis(t["size"], format_bytes, log=True, log_base=4),
                    (GIB / 16, 4096 * GIB),
                    t["alt"].format(**sizes, verdict=t[verdict.tier]),
                    {
                        t["vram_line"].format(**sizes): verdict.free_vram_bytes,
                        t["ram_line"].format(**sizes): verdict.cpu_ram_bytes,
                    },
                )
            ),
        ]
    )
    return (verdict,)


@app.cell(hide_code=True)
def _(t):
    mo.md(t["order"])
    return


@app.cell
def _():
    def which_tier(reused, needed, free_vram, cpu_ram):
        if not reused:
            return "none"
        if needed <= free_vram:
            return "vram"
        if needed <= cpu_ram:
            return "cpu"
        return "ssd"

    mo.show_code()
    return (which_tier,)


@app.cell
def _(t):
    priced = {Tier.VRAM: (60, 2500), Tier.CPU: (5, 400), Tier.SSD: (0.2, 4)}
    kept_gib = mo.ui.slider(10, 2000, 10, value=500, label=t["kept"], show_value=True)
    prices = mo.ui.dictionary(
        {
            tier: mo.ui.number(0.01, 1000, value=cost, label=t["price"].format(tier=t[tier]))
            for tier, (cost, _) in priced.items()
        }
    )
    watts = mo.ui.dictionary(
        {
            tier: mo.ui.number(0.1, 10000, value=power, label=t["watts"].format(tier=t[tier]))
            for tier, (_, power) in priced.items()
        }
    )
    new_tokens_m = mo.ui.slider(1, 500, value=20, label=t["new_tokens"], show_value=True)
    rated_tbw = mo.ui.slider(300, 10000, 100, value=1200, label=t["rated"], show_value=True)
    mo.vstack(
        [
            mo.md(t["upkeep"]),
            mo.md(t["upkeep_note"]),
            kept_gib,
            *prices.elements.values(),
            *watts.elements.values(),
            new_tokens_m,
            rated_tbw,
        ]
    )
    return kept_gib, new_tokens_m, prices, rated_tbw, watts


@app.cell
def _(kept_gib, kv_bytes, new_tokens_m, prices, rated_tbw, t, watts):
    rates = {tier: Rate(prices.value[tier], watts.value[tier]) for tier in prices.value}
    written_tb = terabytes_written_per_year(new_tokens_m.value * 1e6, kv_bytes)
    drive_life_years = drive_years(rated_tbw.value, written_tb)
    mo.md(
        t["table"]
        + "".join(
            f"| {t[tier]} | {price(kept_gib.value, rate):,.0f} | {energy_kwh_per_year(kept_gib.value, rate):,.0f} kWh |\n"
            for tier, rate in rates.items()
        )
        + "\n"
        + t["writes"].format(written=written_tb, rated=rated_tbw.value, years=drive_life_years)
    )
    return drive_life_years, written_tb


@app.cell(hide_code=True)
def _(t):
    mo.accordion({t["exercise"]: mo.md(t["solution"])})
    return


@app.cell(hide_code=True)
def _(t):
    mo.md(t["run"])
    return


if __name__ == "__main__":
    app.run()
