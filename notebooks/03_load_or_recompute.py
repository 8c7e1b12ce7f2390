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
    from kvtiers.ledger.costs import TtftCurve, load_s, recompute_s, reuse_ttft_s, worthwhile_from_tokens
    from kvtiers.units import KIB, format_bytes, format_count, format_seconds


@app.cell(hide_code=True)
def _():
    t = {
        "intro": """
            # Load or recompute?

            KV can be computed again, or read back from where it was kept. Which is faster?
        """,
        "rate": "Prefill throughput (tokens/s)",
        "kv": "KV per token",
        "cpu": "CPU RAM bandwidth (GB/s)",
        "ssd": "SSD bandwidth (GB/s)",
        "recompute": "recompute",
        "from_cpu": "load from CPU RAM",
        "from_ssd": "load from SSD",
        "prefix": "prefix (tokens)",
        "time": "time",
        "lines_alt": "At {tokens} tokens: recompute {recompute}, load from CPU RAM {cpu}, from SSD {ssd}.",
        "saved": "Saved at 10k tokens",
        "saved_detail": "SSD; from CPU RAM {cpu}",
        "ceiling": "Ceiling speedup",
        "ceiling_detail": "SSD; whatever the prefix length",
        "break_even": "Break-even prefill",
        "tokens_per_s": "{rate} tokens/s",
        "break_even_detail": "faster prefill than this beats the SSD",
        "formula": "Bandwidth is in GB/s (decimal), KV in bytes; the prefix length cancels:",
        "ceiling_x": "prefill throughput (tokens/s)",
        "ceiling_y": "ceiling speedup",
        "ceiling_ssd": "SSD",
        "ceiling_cpu": "CPU RAM",
        "break_even_mark": "SSD break-even, {rate} tokens/s",
        "ceiling_alt": "The ceiling falls as prefill gets faster; with SSD it is {speedup} here and 1x at {rate} tokens/s.",
        "here": "you are here",
        "curves": """
            ## The same with fixed costs and the square

            Nothing real is a straight line. Attention adds a term in n², each side has a fixed cost, and the tokens that no
            full chunk covers are computed again over the whole context.

            The lab's profile: 27M-parameter model, 2 CPU cores, vLLM 0.32.0 + LMCache 0.5.6, November 2026.
        """,
        "profile": "Start from",
        "profile_lab": "measured in this project's lab",
        "profile_gpu": "estimated: 8B-class, one GPU",
        "cold_fixed": "Cold: fixed (ms)",
        "cold_linear": "Cold: per token (µs)",
        "cold_square": "Cold: per token² (ns)",
        "load_fixed": "Load: fixed (ms)",
        "load_linear": "Load: per token (µs)",
        "tail": "Tail that is recomputed (tokens)",
        "curve_reuse": "load from SSD, then the tail",
        "curves_alt": "With fixed costs and the square, at {tokens} tokens: recompute {recompute}, reuse {reuse}.",
        "wins": "Loading wins from",
        "wins_tokens": "{tokens:,.0f} tokens loaded",
        "never": "never",
        "at_tokens": "Speedup at {tokens} tokens",
        "exercise": "Exercise 2: where is break-even, and where does the gap go?",
        "solution": """
            Break-even is bandwidth / KV bytes per token: 6 x 10⁹ / 131,072 = 45,776 tokens/s. Mixing GB and GiB gives 49,152,
            7% too many.

            A measurement stays below the ceiling because the ceiling knows only the drive. Missing are the chunk lookup, the
            copy from host to GPU, scheduling, the fixed cost of any request, and the tail that is prefilled over the whole
            context. Set both fixed costs, the square and the tail to 0: what is left is the ceiling.
        """,
        "playground": """
            ## Playground

            Put in your own numbers: open the editable version of this notebook and change this cell.
        """,
        "run": "Run it from a clone: `uvx marimo edit --sandbox notebooks/en/03_load_or_recompute.py`",
    }
    return (t,)


@app.cell(hide_code=True)
def _(t):
    mo.md(t["intro"])
    return


@app.cell
def _(t):
    rates = [500, 1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000]
    kv_sizes = [36, 64, 112, 128, 144, 320]
    prefill_tokens_per_s = mo.ui.slider(steps=rates, value=4000, label=t["rate"], show_value=True)
    kv_bytes = mo.ui.dropdown(
        {format_bytes(size * KIB): size * KIB for size in kv_sizes}, value=format_bytes(128 * KIB), label=t["kv"]
    )
    cpu_gb_per_s = mo.ui.slider(10, 200, 10, value=50, label=t["cpu"], show_value=True)
    ssd_gb_per_s = mo.ui.slider(0.5, 14, 0.5, value=6, label=t["ssd"], show_value=True)
    mo.vstack([prefill_tokens_per_s, kv_bytes, cpu_gb_per_s, ssd_gb_per_s])
    return cpu_gb_per_s, kv_bytes, prefill_tokens_per_s, rates, ssd_gb_per_s


@app.cell
def _(cpu_gb_per_s, kv_bytes, prefill_tokens_per_s, ssd_gb_per_s, t):
    def times_s(tokens):
        return (
            recompute_s(tokens, prefill_tokens_per_s.value),
            load_s(tokens, kv_bytes.value, cpu_gb_per_s.value),
            load_s(tokens, kv_bytes.value, ssd_gb_per_s.value),
        )

    lengths = range(0, 32001, 1000)
    recompute_10k_s, cpu_10k_s, ssd_10k_s = times_s(10_000)
    names = t["recompute"], t["from_cpu"], t["from_ssd"]
    mo.Html(
        charts.lines(
            lengths,
            dict(zip(names, zip(*map(times_s, lengths), strict=True), strict=True)),
            charts.Axis(t["prefix"], format_count),
            charts.Axis(t["time"], format_seconds),
            t["lines_alt"].format(
                tokens="10k",
                recompute=format_seconds(recompute_10k_s),
                cpu=format_seconds(cpu_10k_s),
                ssd=format_seconds(ssd_10k_s),
            ),
        )
    )
    return cpu_10k_s, lengths, recompute_10k_s, ssd_10k_s


@app.cell(hide_code=True)
def _(t):
    mo.md(t["formula"])
    return


@app.cell
def _():
    def ceiling_speedup(prefill_rate, kv_bytes, gb_per_s):
        load_rate = gb_per_s * 1e9 / kv_bytes
        return load_rate / prefill_rate

    def break_even(kv_bytes, gb_per_s):
        return gb_per_s * 1e9 / kv_bytes

    mo.show_code()
    return break_even, ceiling_speedup


@app.cell
def _(
    break_even,
    ceiling_speedup,
    cpu_10k_s,
    kv_bytes,
    prefill_tokens_per_s,
    recompute_10k_s,
    ssd_10k_s,
    ssd_gb_per_s,
    t,
):
    ceiling = ceiling_speedup(prefill_tokens_per_s.value, kv_bytes.value, ssd_gb_per_s.value)
    break_even_tokens_per_s = break_even(kv_bytes.value, ssd_gb_per_s.value)
    saved_s = recompute_10k_s - ssd_10k_s
    mo.hstack(
        [
            mo.stat(
                format_seconds(saved_s),
                t["saved"],
                t["saved_detail"].format(cpu=format_seconds(recompute_10k_s - cpu_10k_s)),
            ),
            mo.stat(f"{ceiling:.1f}x", t["ceiling"], t["ceiling_detail"]),
            mo.stat(
                t["tokens_per_s"].format(rate=format_count(break_even_tokens_per_s)),
                t["break_even"],
                t["break_even_detail"],
            ),
        ],
        justify="start",
        wrap=True,
    )
    return break_even_tokens_per_s, ceiling, saved_s


@app.cell
def _(
    break_even_tokens_per_s,
    ceiling,
    ceiling_speedup,
    cpu_gb_per_s,
    kv_bytes,
    prefill_tokens_per_s,
    rates,
    ssd_gb_per_s,
    t,
):
    mo.Html(
        charts.lines(
            rates,
            {
                name: [ceiling_speedup(rate, kv_bytes.value, bandwidth.value) for rate in rates]
                for name, bandwidth in ((t["ceiling_ssd"], ssd_gb_per_s), (t["ceiling_cpu"], cpu_gb_per_s))
            },
            charts.Axis(t["ceiling_x"], format_count, log=True),
            charts.Axis(t["ceiling_y"], lambda speedup: f"{speedup:g}x", log=True),
            t["ceiling_alt"].format(speedup=f"{ceiling:.1f}x", rate=format_count(break_even_tokens_per_s)),
            here=(prefill_tokens_per_s.value, ceiling, t["here"]),
            marks={t["break_even_mark"].format(rate=format_count(break_even_tokens_per_s)): [break_even_tokens_per_s]},
        )
    )
    return


@app.cell(hide_code=True)
def _(t):
    mo.md(t["curves"])
    return


@app.cell
def _(t):
    profile = mo.ui.dropdown(
        {t["profile_lab"]: (46, 1010, 386, 50, 18.8, 50), t["profile_gpu"]: (20, 250, 4, 45, 21.8, 50)},
        value=t["profile_lab"],
        label=t["profile"],
    )
    profile
    return (profile,)


@app.cell
def _(profile, t):
    knobs = (
        ("cold_fixed", 0, 500, 1),
        ("cold_linear", 0, 2000, 10),
        ("cold_square", 0, 1000, 1),
        ("load_fixed", 0, 500, 1),
        ("load_linear", 0, 200, 0.1),
        ("tail", 0, 500, 10),
    )
    curve = mo.ui.dictionary(
        {
            name: mo.ui.slider(start, stop, step, value=value, label=t[name], show_value=True)
            for (name, start, stop, step), value in zip(knobs, profile.value, strict=True)
        }
    )
    mo.vstack(curve.elements.values())
    return (curve,)


@app.cell
def _(curve, lengths, t):
    cold = TtftCurve(
        curve.value["cold_fixed"] / 1e3, curve.value["cold_linear"] / 1e6, curve.value["cold_square"] / 1e9
    )
    load = TtftCurve(curve.value["load_fixed"] / 1e3, curve.value["load_linear"] / 1e6)

    def reuse_s(tokens):
        return reuse_ttft_s(cold, load, tokens, curve.value["tail"])

    worthwhile_tokens = worthwhile_from_tokens(cold, load)
    mo.vstack(
        [
            mo.Html(
                charts.lines(
                    lengths[:9],
                    {
                        t["recompute"]: [cold.ttft_s(tokens) for tokens in lengths[:9]],
                        t["curve_reuse"]: [reuse_s(tokens) for tokens in lengths[:9]],
                    },
                    charts.Axis(t["prefix"], format_count),
                    charts.Axis(t["time"], format_seconds),
                    t["curves_alt"].format(
                        tokens="8k",
                        recompute=format_seconds(cold.ttft_s(8000)),
                        reuse=format_seconds(reuse_s(8000)),
                    ),
                )
            ),
            mo.hstack(
                [
                    mo.stat(
                        t["never"] if worthwhile_tokens is None else t["wins_tokens"].format(tokens=worthwhile_tokens),
                        t["wins"],
                    ),
                    *(
                        mo.stat(
                            f"{cold.ttft_s(tokens) / reuse_s(tokens):.1f}x",
                            t["at_tokens"].format(tokens=format_count(tokens)),
                        )
                        for tokens in (300, 8000)
                    ),
                ],
                justify="start",
                wrap=True,
            ),
        ]
    )
    return cold, load, reuse_s, worthwhile_tokens


@app.cell(hide_code=True)
def _(t):
    mo.accordion({t["exercise"]: mo.md(t["solution"])})
    return


@app.cell(hide_code=True)
def _(t):
    mo.md(t["playground"])
    return


@app.cell
def _():
    my_kv_bytes = 2 * 36 * 8 * 128 * 2
    my_tokens_per_s = 2500
    my_gb_per_s = 3.2
    my_load_rate = my_gb_per_s * 1e9 / my_kv_bytes
    my_ceiling = my_load_rate / my_tokens_per_s
    mo.show_code(f"{my_ceiling:.1f}x", position="above")
    return


@app.cell(hide_code=True)
def _(t):
    mo.md(t["run"])
    return


if __name__ == "__main__":
    app.run()
