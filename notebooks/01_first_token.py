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
    from kvtiers.ledger.prefix import shared_prefix_prefills
    from kvtiers.units import format_count, format_seconds


@app.cell(hide_code=True)
def _():
    t = {
        "intro": """
            # Why the first token is late

            Three requests share a prefix and ask different questions. How much of it is computed?
        """,
        "prefix": "Shared prefix (tokens)",
        "question": "Each question (tokens)",
        "rate": "Prefill throughput (tokens/s)",
        "block": "Block size (tokens)",
        "case": "What happens to the prefix",
        "case_off": "No cache",
        "case_on": "Prefix cache",
        "case_middle": "Prefix cache, one token changed in the middle",
        "case_front": "Prefix cache, one token changed at the front",
        "request": "Request {number}",
        "reused": "reused",
        "computed": "computed",
        "tokens": "tokens",
        "bars_alt": "Tokens reused and computed for three requests; {computed} tokens are computed in all.",
        "total": "Computed in all",
        "times": "the prefix is computed {times:.2f} times",
        "first": "TTFT, request 1",
        "later": "TTFT, requests 2 and 3",
        "line_first": "request 1",
        "line_later": "requests 2 and 3",
        "line_x": "shared prefix (tokens)",
        "line_y": "TTFT",
        "line_alt": "TTFT grows with the prefix: {first} for request 1, {later} for the others at {prefix} tokens.",
        "here": "you are here",
        "formula": """
            Reuse stops at the first token that differs, counts in full blocks, and leaves at least one token to run:
        """,
        "run": "Run it from a clone: `uvx marimo edit --sandbox notebooks/en/01_first_token.py`",
    }
    return (t,)


@app.cell(hide_code=True)
def _(t):
    mo.md(t["intro"])
    return


@app.cell
def _(t):
    prefix_tokens = mo.ui.slider(1000, 32000, 500, value=4000, label=t["prefix"], show_value=True)
    question_tokens = mo.ui.slider(20, 1000, 20, value=200, label=t["question"], show_value=True)
    prefill_tokens_per_s = mo.ui.slider(1000, 20000, 500, value=4000, label=t["rate"], show_value=True)
    block_tokens = mo.ui.dropdown([16, 128, 1024], value=16, label=t["block"])
    case = mo.ui.dropdown(
        {t["case_off"]: "off", t["case_on"]: "on", t["case_middle"]: "middle", t["case_front"]: "front"},
        value=t["case_on"],
        label=t["case"],
    )
    mo.vstack([case, prefix_tokens, question_tokens, prefill_tokens_per_s, block_tokens])
    return block_tokens, case, prefill_tokens_per_s, prefix_tokens, question_tokens


@app.cell
def _(block_tokens, case, question_tokens):
    def prefills(prefix_tokens):
        same_leading_tokens = {"off": 0, "on": prefix_tokens, "middle": prefix_tokens // 2, "front": 0}[case.value]
        return shared_prefix_prefills(3, prefix_tokens, question_tokens.value, block_tokens.value, same_leading_tokens)

    return (prefills,)


@app.cell
def _(prefills, prefix_tokens, t):
    requests = prefills(prefix_tokens.value)
    computed_tokens = sum(request.computed_tokens for request in requests)
    mo.Html(
        charts.stacked_bars(
            {
                t["request"].format(number=number): (request.reused_tokens, request.computed_tokens)
                for number, request in enumerate(requests, start=1)
            },
            (t["reused"], t["computed"]),
            charts.Axis(t["tokens"], format_count),
            t["bars_alt"].format(computed=computed_tokens),
        )
    )
    return computed_tokens, requests


@app.cell
def _(computed_tokens, prefill_tokens_per_s, prefix_tokens, question_tokens, requests, t):
    ttft_s = [recompute_s(request.computed_tokens, prefill_tokens_per_s.value) for request in requests]
    prefix_times = (computed_tokens - 3 * question_tokens.value) / prefix_tokens.value
    mo.hstack(
        [
            mo.stat(f"{computed_tokens:,}", t["total"], t["times"].format(times=prefix_times)),
            mo.stat(format_seconds(ttft_s[0]), t["first"]),
            mo.stat(format_seconds(ttft_s[2]), t["later"]),
        ],
        justify="start",
        wrap=True,
    )
    return (ttft_s,)


@app.cell
def _(prefill_tokens_per_s, prefills, prefix_tokens, t, ttft_s):
    lengths = range(0, 32001, 1000)
    curves_s = [
        [recompute_s(prefills(length)[request].computed_tokens, prefill_tokens_per_s.value) for length in lengths]
        for request in (0, 2)
    ]
    mo.Html(
        charts.lines(
            lengths,
            {t["line_first"]: curves_s[0], t["line_later"]: curves_s[1]},
            charts.Axis(t["line_x"], format_count),
            charts.Axis(t["line_y"], format_seconds),
            t["line_alt"].format(
                first=format_seconds(ttft_s[0]), later=format_seconds(ttft_s[2]), prefix=prefix_tokens.value
            ),
            here=(prefix_tokens.value, ttft_s[0], t["here"]),
        )
    )
    return


@app.cell(hide_code=True)
def _(t):
    mo.md(t["formula"])
    return


@app.cell
def _():
    def reused_tokens(same_leading, prompt, block):
        usable = min(same_leading, prompt - 1)
        return usable // block * block

    mo.show_code()
    return (reused_tokens,)


@app.cell(hide_code=True)
def _(t):
    mo.md(t["run"])
    return


if __name__ == "__main__":
    app.run()
