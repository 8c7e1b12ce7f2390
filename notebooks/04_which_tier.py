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
            # Which tier?

            First see what each tier costs in time, then let the judge choose the nearest one that holds your prefixes.
        """,
        "kv_type": "KV type (8B-class model: 32 layers, 8 KV heads, head_dim 128)",
        "cards": "Bring a prefix of 10k tokens back. Click a tier:",
        "vram": "GPU memory",
        "cpu": "CPU RAM",
        "ssd": "Local SSD",
        "remote": "Remote",
        "none": "No tier",
        "about_vram": "vLLM's own prefix cache. What the weights leave over; a restart empties it.",
        "about_cpu": "Tens to hundreds of GiB a host. A restart empties it.",
        "about_ssd": "Terabytes, and slower. LMCache 0.5.6 forgets its index at a restart: the files stay and are not found again.",
        "about_remote": "Redis, Valkey, S3 or a directory: found again after a restart and by other hosts, if the hash is stable.",
        "card": "**{tier}: {time}** at {bandwidth:g} GB/s (assumed); recompute at 4,000 tokens/s: {recompute}.<br>{about}",
        "judge": "## The judge",
        "context": "Context of one user (tokens)",
        "users": "Users at once",
        "reused": "The same prefix comes back",
        "free_vram": "Free VRAM (GiB)",
        "cpu_ram": "CPU RAM for KV (GiB)",
        "needed": "needed",
        "vram_line": "free VRAM, {vram}",
        "ram_line": "CPU RAM, {ram}",
        "size": "KV cache (logarithmic)",
        "alt": "Needed {needed}, free VRAM {vram}, CPU RAM {ram}: {verdict}.",
        "verdict": "**{verdict}.** {reason} {turn_on}",
        "not_reused": "Nothing comes back, so there is nothing to load: every tier only costs writes.",
        "fits_vram": "{needed} fit in {vram} of free VRAM.",
        "fits_cpu": "{needed} exceed {vram} of free VRAM and fit in {ram} of CPU RAM. No SSD needed.",
        "exceeds_cpu": "{needed} exceed free VRAM and {ram} of CPU RAM.",
        "on_none": "Turn nothing on.",
        "on_vram": "Turn nothing on: vLLM's prefix cache is on by default.",
        "on_cpu": "Turn on LMCache's CPU tier: `local_cpu: true`, `max_local_cpu_size: {gib}`.",
        "on_ssd": "Turn on CPU and SSD: `local_disk` with `max_local_disk_size: {gib}`; without a limit there is no disk tier.",
        "order": "The order of the questions is the point:",
        "upkeep": "## What it costs to keep",
        "upkeep_note": "Prices and watts are assumptions of the right order; put in your own.",
        "kept": "KV to keep (GiB)",
        "price": "{tier}: price per GB",
        "watts": "{tier}: watts per TB",
        "new_tokens": "New tokens stored a day (millions)",
        "rated": "Drive's rating (TBW)",
        "table": "| Tier | Price | Energy a year |\n|---|---|---|\n",
        "writes": "The drive takes {written:,.0f} TB a year and reaches its {rated:,} TBW after **{years:.1f} years**.",
        "exercise": "Exercise 1: what does fp8 change?",
        "solution": """
            Leave everything as it is (128k tokens, one user, 10 GiB of free VRAM) and set the KV type to fp8. A token keeps
            64 KiB instead of 128 KiB, the context 8 GiB instead of 16 GiB, and the judge goes from the CPU tier to VRAM: no
            tier to run at all.
        """,
        "run": "Run it from a clone: `uvx marimo edit --sandbox notebooks/en/04_which_tier.py`",
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
