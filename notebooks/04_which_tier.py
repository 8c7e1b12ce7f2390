# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "kvtiers",
#     "marimo==0.25.2",
#     "matplotlib",
# ]
#
# [tool.uv.sources]
# kvtiers = { path = "..", editable = true }
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full")

with app.setup:
    import marimo as mo

    from kvtiers import charts
    from kvtiers.ledger.costs import recompute_s
    from kvtiers.ledger.tiers import DEFAULT_BANDWIDTH_GB_PER_S, Reason, Tier, Traffic, judge, load_back_s
    from kvtiers.ledger.upkeep import Rate, drive_years, energy_kwh_per_year, price, terabytes_written_per_year
    from kvtiers.model import kv_spec
    from kvtiers.model.public import public_models
    from kvtiers.notebook import speaker
    from kvtiers.units import GIB, format_bytes, format_seconds


@app.cell(hide_code=True)
def _():
    LANGUAGE = mo.cli_args().get("language", "en")  # the site's pages and downloads set theirs here
    say = speaker(LANGUAGE)
    return LANGUAGE, say


@app.cell(hide_code=True)
def _(say):
    say.md(
        """
        # Which tier?

        First see what each tier costs in time, then let the judge choose the nearest one that holds your prefixes.
        """,
        """
        # 該用哪一層？

        先看每一層要花多少時間，再讓判斷器選出裝得下你的前綴的最近一層。
        """,
    )
    return


@app.cell
def _(say):
    kv_type = say.dropdown(
        "KV type (8B-class model: 32 layers, 8 KV heads, head_dim 128)",
        "KV 型別（8B 級模型：32 層、8 個 KV 頭、head_dim 128）",
        ["fp32", "fp16", "bf16", "fp8"],
        value="fp16",
    )
    _contexts = [2048, *(8192 << power for power in range(8))]
    context_tokens = say.slider(
        "Context of one user (tokens)", "一位使用者的上下文（token）", steps=_contexts, value=131072
    )
    users = say.slider("Users at once", "同時的使用者數", 1, 50, value=1)
    reused = mo.ui.switch(value=True, label=say("The same prefix comes back", "同一段前綴會再出現"))
    free_vram_gib = say.slider("Free VRAM (GiB)", "可用 VRAM（GiB）", 0, 80, value=10)
    cpu_ram_gib = say.slider("CPU RAM for KV (GiB)", "可給 KV 的 CPU 記憶體（GiB）", 0, 512, value=64)
    chosen, choose = mo.state(Tier.SSD)
    tier_names = {
        Tier.VRAM: say("GPU memory", "GPU 記憶體"),
        Tier.CPU: say("CPU RAM", "CPU 記憶體"),
        Tier.SSD: say("Local SSD", "本機 SSD"),
        Tier.REMOTE: say("Remote", "遠端"),
        Tier.NONE: say("No tier", "不需要任何一層"),
    }
    kv_type
    return chosen, choose, context_tokens, cpu_ram_gib, free_vram_gib, kv_type, reused, tier_names, users


@app.cell
def _(kv_type):
    kv_bytes = kv_spec(public_models()["Llama-3.1-8B"], kv_type.value).bytes_per_token
    back_s = {tier: load_back_s(tier, 10_000, kv_bytes) for tier in DEFAULT_BANDWIDTH_GB_PER_S}
    return back_s, kv_bytes


@app.cell
def _(back_s, choose, say, tier_names):
    cards = mo.ui.array(
        [
            mo.ui.button(
                label=f"{tier_names[tier]}<br>{format_seconds(time_s)}", on_click=lambda _, tier=tier: choose(tier)
            )
            for tier, time_s in back_s.items()
        ]
    )
    _click = say.md("Bring a prefix of 10k tokens back. Click a tier:", "把 10k 個 token 的前綴載回來。點選一層：")
    mo.vstack([_click, mo.hstack(cards, justify="start", wrap=True)])
    return


@app.cell
def _(back_s, chosen, say, tier_names):
    about = {
        Tier.VRAM: say(
            "vLLM's own prefix cache. What the weights leave over; a restart empties it.",
            "vLLM 自己的前綴快取，只有權重用剩的空間；重新啟動就清空。",
        ),
        Tier.CPU: say(
            "Tens to hundreds of GiB a host; gone with LMCache's server.", "每台主機數十到數百 GiB；伺服器停了就沒了。"
        ),
        Tier.SSD: say(
            "Terabytes, and slower. LMCache's server finds its files again after a restart; LMCache inside vLLM does not.",
            "以 TB 計，比較慢。重新啟動後，LMCache 的伺服器找得回檔案，放在 vLLM 裡面的 LMCache 找不回。",
        ),
        Tier.REMOTE: say(
            "Redis, Valkey or S3: found again after a restart, and by other hosts.",
            "Redis、Valkey 或 S3：重新啟動後、其他主機上都找得到。",
        ),
    }
    tier = chosen()
    _name, _time, _recompute = tier_names[tier], format_seconds(back_s[tier]), format_seconds(recompute_s(10_000, 4000))
    _gb_per_s = DEFAULT_BANDWIDTH_GB_PER_S[tier]
    _card = say.md(
        f"**{_name}: {_time}** at {_gb_per_s:g} GB/s (assumed); recompute at 4,000 tokens/s: {_recompute}.<br>{about[tier]}",
        f"**{_name}：{_time}**（假設 {_gb_per_s:g} GB/s）；以每秒 4,000 個 token 重算要 {_recompute}。<br>{about[tier]}",
    )
    mo.callout(_card)
    return


@app.cell(hide_code=True)
def _(context_tokens, cpu_ram_gib, free_vram_gib, reused, say, users):
    mo.vstack([say.md("## The judge", "## 判斷器"), context_tokens, users, reused, free_vram_gib, cpu_ram_gib])
    return


@app.cell
def _(context_tokens, cpu_ram_gib, free_vram_gib, kv_bytes, reused, users):
    traffic = Traffic(context_tokens.value, users.value, reused.value)
    verdict = judge(traffic, kv_bytes, free_vram_gib.value, cpu_ram_gib.value)
    needed, vram, ram = map(format_bytes, (verdict.needed_bytes, verdict.free_vram_bytes, verdict.cpu_ram_bytes))
    return needed, ram, verdict, vram


@app.cell
def _(needed, ram, say, tier_names, verdict, vram):
    _gib = round(verdict.needed_bytes / GIB + 1)
    reasons = {
        Reason.NOT_REUSED: say(
            "Nothing comes back, so there is nothing to load: every tier only costs writes.",
            "前綴不會再出現，沒有東西可以載回：每一層都只是多付寫入的代價。",
        ),
        Reason.FITS_VRAM: say(f"{needed} fit in {vram} of free VRAM.", f"{needed} 放得進 {vram} 的可用 VRAM。"),
        Reason.FITS_CPU: say(
            f"{needed} exceed {vram} of free VRAM and fit in {ram} of CPU RAM. No SSD needed.",
            f"{needed} 超過 {vram} 的可用 VRAM，但放得進 {ram} 的 CPU 記憶體，不需要 SSD。",
        ),
        Reason.EXCEEDS_CPU: say(
            f"{needed} exceed free VRAM and {ram} of CPU RAM.", f"{needed} 超過可用 VRAM，也超過 {ram} 的 CPU 記憶體。"
        ),
    }
    turn_on = {
        Tier.NONE: say("Turn nothing on.", "什麼都不用開。"),
        Tier.VRAM: say(
            "Turn nothing on: vLLM's prefix cache is on by default.", "什麼都不用開：vLLM 的前綴快取預設就是開的。"
        ),
        Tier.CPU: say(
            f"Turn on LMCache's CPU tier: `local_cpu: true`, `max_local_cpu_size: {_gib}`.",
            f"開啟 LMCache 的 CPU 層：`local_cpu: true`、`max_local_cpu_size: {_gib}`。",
        ),
        Tier.SSD: say(
            f"Turn on CPU and SSD: `local_disk` with `max_local_disk_size: {_gib}`; without a limit there is no disk tier.",
            f"開啟 CPU 與 SSD：`local_disk` 加上 `max_local_disk_size: {_gib}`；沒有上限就沒有硬碟層。",
        ),
    }
    _name, _reason, _turn_on = tier_names[verdict.tier], reasons[verdict.reason], turn_on[verdict.tier]
    mo.callout(say.md(f"**{_name}.** {_reason} {_turn_on}", f"**{_name}。** {_reason}{_turn_on}"), kind="success")
    return


@app.cell
def _(needed, ram, say, tier_names, verdict, vram):
    _name = tier_names[verdict.tier]
    charts.log_bars(
        {say("needed", "需要"): verdict.needed_bytes},
        charts.Axis(say("KV cache (logarithmic)", "KV 快取（對數刻度）"), format_bytes, log=True, log_base=4),
        (GIB / 16, 4096 * GIB),
        say(
            f"Needed {needed}, free VRAM {vram}, CPU RAM {ram}: {_name}.",
            f"需要 {needed}，可用 VRAM {vram}，CPU 記憶體 {ram}：{_name}。",
        ),
        {
            say(f"free VRAM, {vram}", f"可用 VRAM，{vram}"): verdict.free_vram_bytes,
            say(f"CPU RAM, {ram}", f"CPU 記憶體，{ram}"): verdict.cpu_ram_bytes,
        },
    )
    return


@app.cell(hide_code=True)
def _(say):
    say.md("The order of the questions is the point:", "重點在提問的順序：")
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


@app.cell(hide_code=True)
def _(say):
    say.md(
        """
        ## What it costs to keep

        Prices and watts are assumptions of the right order; put in your own.
        """,
        """
        ## 養它要多少成本

        價格與功耗是數量級正確的假設值，請換成你自己的。
        """,
    )
    return


@app.cell
def _(say, tier_names):
    def _numbers(least, most, values, what):
        labels = {tier: f"{tier_names[tier]}{say(': ', '：')}{what}" for tier in values}
        return mo.ui.dictionary(
            {tier: mo.ui.number(least, most, value=values[tier], label=labels[tier]) for tier in values}
        )

    kept_gib = say.slider("KV to keep (GiB)", "要保留的 KV（GiB）", 10, 2000, 10, value=500)
    prices = _numbers(0.01, 1000, {Tier.VRAM: 60, Tier.CPU: 5, Tier.SSD: 0.2}, say("price per GB", "每 GB 價格"))
    watts = _numbers(0.1, 10000, {Tier.VRAM: 2500, Tier.CPU: 400, Tier.SSD: 4}, say("watts per TB", "每 TB 瓦數"))
    new_tokens_m = say.slider("New tokens stored a day (millions)", "每天新存入的 token（百萬）", 1, 500, value=20)
    rated_tbw = say.slider("Drive's rating (TBW)", "硬碟的耐寫度（TBW）", 300, 10000, 100, value=1200)
    mo.vstack([kept_gib, *prices.elements.values(), *watts.elements.values(), new_tokens_m, rated_tbw])
    return kept_gib, new_tokens_m, prices, rated_tbw, watts


@app.cell
def _(kept_gib, prices, say, tier_names, watts):
    rates = {tier: Rate(prices.value[tier], watts.value[tier]) for tier in prices.value}
    _head = say("| Tier | Price | Energy a year |", "| 層 | 價格 | 一年用電 |")
    _rows = [
        f"| {tier_names[tier]} | {price(kept_gib.value, rate):,.0f} | {energy_kwh_per_year(kept_gib.value, rate):,.0f} kWh |"
        for tier, rate in rates.items()
    ]
    mo.md("\n".join([_head, "|---|---|---|", *_rows]))
    return


@app.cell
def _(kv_bytes, new_tokens_m, rated_tbw, say):
    written_tb = terabytes_written_per_year(new_tokens_m.value * 1e6, kv_bytes)
    drive_life_years = drive_years(rated_tbw.value, written_tb)
    say.md(
        f"The drive takes {written_tb:,.0f} TB a year and reaches its {rated_tbw.value:,} TBW after **{drive_life_years:.1f} years**.",
        f"硬碟一年寫入 {written_tb:,.0f} TB，**{drive_life_years:.1f} 年**後達到 {rated_tbw.value:,} TBW 的耐寫度。",
    )
    return drive_life_years, written_tb


@app.cell(hide_code=True)
def _(say):
    _solution = say.md(
        """
        Leave everything as it is (128k tokens, one user, 10 GiB of free VRAM) and set the KV type to fp8. A token keeps
        64 KiB instead of 128 KiB, the context 8 GiB instead of 16 GiB, and the judge goes from the CPU tier to VRAM: no
        tier to run at all.
        """,
        """
        其他都不動（128k 個 token、一位使用者、10 GiB 可用 VRAM），把 KV 型別改成 fp8。每個 token 從 128 KiB 變成 64 KiB，整段上下文從 16 GiB 變成 8 GiB，判斷器就從 CPU 層改判為 VRAM：一層都不必架。
        """,
    )
    _exercise = mo.accordion({say("Exercise 1: what does fp8 change?", "練習 1：fp8 改變了什麼？"): _solution})
    mo.vstack([_exercise, say.from_clone("04_which_tier")])
    return


if __name__ == "__main__":
    app.run()
