# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "kvtiers",
#     "marimo==0.25.2",
#     "matplotlib",
# ]
# tool.course.pairs = [["kv_type", "context_tokens"], ["kv_type", "chosen"], ["context_tokens", "prefixes"]]
#
# [tool.uv.sources]
# kvtiers = { path = "..", editable = true }
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full")

with app.setup(hide_code=True):
    import marimo as mo

    from kvtiers import charts
    from kvtiers.ledger.costs import ASSUMED_PREFILL_TOKENS_PER_S, load_s, recompute_s
    from kvtiers.ledger.tiers import DEFAULT_BANDWIDTH_GB_PER_S, Tier, Traffic
    from kvtiers.ledger.upkeep import (
        DAYS_PER_YEAR,
        Rate,
        drive_years,
        energy_kwh_per_year,
        price,
        terabytes_written_per_year,
    )
    from kvtiers.model import kv_spec
    from kvtiers.model.public import public_models
    from kvtiers.notebook import speaker
    from kvtiers.settings.advise import Hardware, Served, advise
    from kvtiers.units import GIB, format_bytes, format_seconds
    from kvtiers.words import text as words


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
    tier_names = {
        Tier.VRAM: say("GPU memory", "GPU 記憶體"),
        Tier.CPU: say("CPU RAM", "CPU 記憶體"),
        Tier.SSD: say("Local SSD", "本機 SSD"),
        Tier.REMOTE: say("Remote", "遠端"),
        Tier.NONE: say("No tier", "不需要任何一層"),
    }
    kv_type
    return kv_type, tier_names


@app.cell
def _(kv_type, say, tier_names):
    kv_bytes = kv_spec(public_models()["Llama-3.1-8B"], kv_type.value).bytes_per_token
    back_s = {tier: load_s(10_000, kv_bytes, gb_per_s) for tier, gb_per_s in DEFAULT_BANDWIDTH_GB_PER_S.items()}
    chosen = mo.ui.radio(
        {f"{tier_names[tier]}{say(': ', '：')}{format_seconds(time_s)}": tier for tier, time_s in back_s.items()},
        f"{tier_names[Tier.SSD]}{say(': ', '：')}{format_seconds(back_s[Tier.SSD])}",
        label=say("Bring a prefix of 10k tokens back from:", "把 10k 個 token 的前綴從這裡載回來："),
    )
    chosen
    return back_s, chosen, kv_bytes


@app.cell
def _(back_s, chosen, prefill_tokens_per_s, say, tier_names):
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
    tier, _rate = chosen.value, prefill_tokens_per_s.value
    _name, _recompute = tier_names[tier], format_seconds(recompute_s(10_000, _rate))
    _time, _gb_per_s = format_seconds(back_s[tier]), DEFAULT_BANDWIDTH_GB_PER_S[tier]
    _card = say.md(
        f"**{_name}: {_time}** at {_gb_per_s:g} GB/s (assumed); recompute at {_rate:,.0f} tokens/s: {_recompute}.<br>{about[tier]}",
        f"**{_name}：{_time}**（假設 {_gb_per_s:g} GB/s）；以每秒 {_rate:,.0f} 個 token 重算要 {_recompute}。<br>{about[tier]}",
    )
    mo.callout(_card)
    return


@app.cell
def _(say):
    _contexts = [2048, *(8192 << power for power in range(8))]
    context_tokens = say.slider(
        "Length of one prefix (tokens)", "一段前綴的長度（token）", steps=_contexts, value=131072
    )
    prefixes = say.slider(
        "Different prefixes (500 users of one prompt: 1)", "不同的前綴數（500 人共用一份提示詞：1）", 1, 50
    )
    reused = mo.ui.switch(value=True, label=say("The same prefixes come back", "同樣的前綴會再出現"))
    shared = mo.ui.switch(label=say("Several hosts must share them", "要讓多台主機共用"))
    free_vram_gib = say.slider("Free VRAM (GiB)", "可用 VRAM（GiB）", 0, 80, value=10)
    cpu_ram_gib = say.slider("CPU RAM for KV (GiB)", "可給 KV 的 CPU 記憶體（GiB）", 0, 512, value=64)
    _rates = [1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000]
    prefill_tokens_per_s = say.slider(
        "Prefill (tokens/s)", "Prefill 吞吐量（token/s）", steps=_rates, value=ASSUMED_PREFILL_TOKENS_PER_S
    )
    _title = say.md("## The judge", "## 判斷器")
    mo.vstack([_title, context_tokens, prefixes, reused, shared, free_vram_gib, cpu_ram_gib, prefill_tokens_per_s])
    return context_tokens, cpu_ram_gib, free_vram_gib, prefill_tokens_per_s, prefixes, reused, shared


@app.cell
def _(context_tokens, cpu_ram_gib, free_vram_gib, kv_bytes, prefill_tokens_per_s, prefixes, reused, shared):
    traffic = Traffic(context_tokens.value, prefixes.value, reused.value, shared.value)
    served = Served("MODEL", kv_bytes, prefill_tokens_per_s=prefill_tokens_per_s.value)
    advice = advise(served, traffic, Hardware(free_vram_gib.value, cpu_ram_gib.value))
    verdict = advice.verdict
    needed, vram, ram = map(format_bytes, (verdict.needed_bytes, verdict.free_vram_bytes, verdict.cpu_ram_bytes))
    return advice, needed, ram, verdict, vram


@app.cell
def _(LANGUAGE, advice, say, tier_names, verdict):
    _turn_on = ""
    if advice.plan:
        _ram, _below = f"`lmcache server --l1-size-gb {advice.plan.cpu_gib:g}`", f"{advice.plan.disk_gib:g} GiB"
        _more = {
            Tier.CPU: "",
            Tier.SSD: say(
                f", with an `fs` adapter on {_below} of drive", f"，加上 `fs` 轉接器，放在 {_below} 的硬碟空間"
            ),
            Tier.REMOTE: say(f", with `resp` to a Redis of {_below}", f"，加上 `resp`，連到 {_below} 的 Redis"),
        }
        _turn_on = say(f"Start {_ram}{_more[verdict.tier]}.", f"啟動 {_ram}{_more[verdict.tier]}。")
    _name, _reason = tier_names[verdict.tier], words(f"plan.reason.{verdict.reason}", LANGUAGE, {})
    _kind = {Tier.NONE: "neutral", Tier.VRAM: "info"}.get(verdict.tier, "success")
    mo.callout(say.md(f"**{_name}.** {_reason} {_turn_on}", f"**{_name}。** {_reason}{_turn_on}"), kind=_kind)
    return


@app.cell
def _(needed, ram, say, tier_names, verdict, vram):
    _name = tier_names[verdict.tier]
    _needs = say("needs CPU RAM", "需要 CPU 記憶體"), say("needs SSD", "需要 SSD")
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
        beyond=(say("fits free VRAM", "放得進 VRAM"), *_needs),
    )
    return


@app.cell(hide_code=True)
def _(say):
    say.md(
        "The order of the questions is the point. The last one, whether the tier loads faster than the GPU computes, is lesson 3's.",
        "重點在提問的順序。最後一題（這一層載回有沒有比 GPU 重算快）是第 3 課的算式。",
    )
    return


@app.cell
def _():
    def which_tier(reused, shared, needed, vram, ram):
        if not reused:
            return "none"
        if shared:
            return "remote"
        if needed <= vram:
            return "vram"
        if needed <= ram:
            return "cpu"
        return "ssd"

    mo.show_code()
    return (which_tier,)


@app.cell(hide_code=True)
def _(say):
    say.md(
        """
        ## What it costs to keep

        US dollars and watts are assumptions of the right order, November 2026: an 80 GB data-centre card of 30,000 dollars
        and 700 W, server DRAM, a PCIe NVMe drive. Put in your own.
        """,
        """
        ## 養它要多少成本

        價格（美元）與功耗是數量級正確的假設值，2026 年 11 月：一張 80 GB、3 萬美元、700 W 的資料中心卡，伺服器 DRAM，一顆 PCIe NVMe 硬碟。請換成你自己的。
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
    prices = _numbers(0.01, 1000, {Tier.VRAM: 375, Tier.CPU: 5, Tier.SSD: 0.2}, say("US$ per GB", "每 GB 美元"))
    watts = _numbers(0.1, 10000, {Tier.VRAM: 8750, Tier.CPU: 400, Tier.SSD: 4}, say("watts per TB", "每 TB 瓦數"))
    new_tokens_m = say.slider("New tokens stored a day (millions)", "每天新存入的 token（百萬）", 1, 500, value=10)
    rated_tbw = say.slider("Drive's rating (TBW)", "硬碟的耐寫度（TBW）", 300, 10000, 100, value=1200)
    mo.vstack([kept_gib, *prices.elements.values(), *watts.elements.values(), new_tokens_m, rated_tbw])
    return kept_gib, new_tokens_m, prices, rated_tbw, watts


@app.cell
def _(kept_gib, kv_bytes, new_tokens_m, prices, rated_tbw, say, tier_names, watts):
    rates = {tier: Rate(prices.value[tier], watts.value[tier]) for tier in prices.value}
    _head = say("| Tier | Price (US$) | Energy a year |", "| 層 | 價格（美元） | 一年用電 |")
    _rows = [
        f"| {tier_names[tier]} | {price(kept_gib.value, rate):,.0f} | {energy_kwh_per_year(kept_gib.value, rate):,.0f} kWh |"
        for tier, rate in rates.items()
    ]
    written_tb = terabytes_written_per_year(new_tokens_m.value * 1e6, kv_bytes)
    drive_life_years = drive_years(rated_tbw.value, written_tb)
    _life = say(f"{drive_life_years:,.1f} years", f"{drive_life_years:,.1f} 年")
    if drive_life_years < 1:
        _days = f"{drive_life_years * DAYS_PER_YEAR:,.0f}"
        _life = say(f"{_days} days", f"{_days} 天")
    _wear = say.md(
        f"The drive takes {written_tb:,.0f} TB a year and reaches its {rated_tbw.value:,} TBW after **{_life}**.",
        f"硬碟一年寫入 {written_tb:,.0f} TB，**{_life}**後達到 {rated_tbw.value:,} TBW 的耐寫度。",
    )
    mo.vstack([mo.md("\n".join([_head, "|---|---|---|", *_rows])), _wear])
    return drive_life_years, written_tb


@app.cell(hide_code=True)
def _(say):
    _solution = say.md(
        """
        Leave everything as it is (128k tokens, one prefix, 10 GiB of free VRAM) and set the KV type to fp8. A token keeps
        64 KiB instead of 128 KiB, the context 8 GiB instead of 16 GiB, and the judge goes from the CPU tier to VRAM: no
        tier to run at all.
        """,
        """
        其他都不動（128k 個 token、一段前綴、10 GiB 可用 VRAM），把 KV 型別改成 fp8。每個 token 從 128 KiB 變成 64 KiB，整段上下文從 16 GiB 變成 8 GiB，判斷器就從 CPU 層改判為 VRAM：一層都不必架。
        """,
    )
    _exercise = mo.accordion({say("Exercise 1: what does fp8 change?", "練習 1：fp8 改變了什麼？"): _solution})
    mo.vstack([_exercise, say.from_clone("04_which_tier")])
    return


if __name__ == "__main__":
    app.run()
