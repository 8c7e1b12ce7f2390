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
    from kvtiers.ledger.prefix import shared_prefix_prefills
    from kvtiers.notebook import figures, speaker
    from kvtiers.units import format_count, format_seconds


@app.cell(hide_code=True)
def _():
    LANGUAGE = mo.cli_args().get("language", "en")  # the site's pages and downloads set theirs here
    say = speaker(LANGUAGE)
    return LANGUAGE, say


@app.cell(hide_code=True)
def _(say):
    say.md(
        """
        # Why the first token is late

        Three requests share a prefix and ask different questions. How much of it is computed?
        """,
        """
        # 第一個 token 為什麼慢

        三個請求共用同一段前綴，問不同的問題。前綴究竟被計算了幾次？
        """,
    )
    return


@app.cell
def _(say):
    prefix_tokens = say.slider("Shared prefix (tokens)", "共用前綴（token）", 1000, 32000, 500, value=4000)
    question_tokens = say.slider("Each question (tokens)", "每個問題（token）", 20, 1000, 20, value=200)
    prefill_tokens_per_s = say.slider(
        "Prefill throughput (tokens/s)", "Prefill（預填充）吞吐量（token/s）", 1000, 20000, 500, value=4000
    )
    block_tokens = say.dropdown("Block size (tokens)", "Block 大小（token）", [16, 128, 1024])
    case = say.dropdown(
        "What happens to the prefix",
        "前綴的處境",
        {
            say("No cache", "沒有快取"): "off",
            say("Prefix cache", "有前綴快取"): "on",
            say("Prefix cache, one token changed in the middle", "有前綴快取，但中間改了一個 token"): "middle",
            say("Prefix cache, one token changed at the front", "有前綴快取，但最前面改了一個 token"): "front",
        },
        value=say("Prefix cache", "有前綴快取"),
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
def _(prefills, prefix_tokens, say):
    requests = prefills(prefix_tokens.value)
    computed_tokens = sum(request.computed_tokens for request in requests)
    charts.stacked_bars(
        {
            say(f"Request {number}", f"請求 {number}"): (request.reused_tokens, request.computed_tokens)
            for number, request in enumerate(requests, start=1)
        },
        (say("reused", "重用"), say("computed", "計算")),
        charts.Axis(say("tokens", "token"), format_count),
        say(
            f"Tokens reused and computed for three requests; {computed_tokens} tokens are computed in all.",
            f"三個請求各自重用與計算的 token 數，一共計算 {computed_tokens} 個 token。",
        ),
        says=[
            say(f"{format_count(request.computed_tokens)} computed", f"計算 {format_count(request.computed_tokens)}")
            for request in requests
        ],
    )
    return computed_tokens, requests


@app.cell
def _(computed_tokens, prefill_tokens_per_s, prefix_tokens, question_tokens, requests, say):
    ttft_s = [recompute_s(request.computed_tokens, prefill_tokens_per_s.value) for request in requests]
    prefix_times = (computed_tokens - 3 * question_tokens.value) / prefix_tokens.value
    figures(
        (
            f"{computed_tokens:,}",
            say("Computed in all", "一共計算"),
            say(f"the prefix is computed {prefix_times:.2f} times", f"前綴被計算 {prefix_times:.2f} 次"),
        ),
        (format_seconds(ttft_s[0]), say("TTFT, request 1", "TTFT（首個 token 延遲），請求 1")),
        (format_seconds(ttft_s[2]), say("TTFT, requests 2 and 3", "TTFT，請求 2 與 3")),
    )
    return (ttft_s,)


@app.cell
def _(prefill_tokens_per_s, prefills, prefix_tokens, say, ttft_s):
    lengths = range(0, 32001, 1000)
    curves_s = [
        [recompute_s(prefills(length)[request].computed_tokens, prefill_tokens_per_s.value) for length in lengths]
        for request in (0, 2)
    ]
    charts.lines(
        lengths,
        {say("request 1", "請求 1"): curves_s[0], say("requests 2 and 3", "請求 2 與 3"): curves_s[1]},
        charts.Axis(say("shared prefix (tokens)", "共用前綴（token）"), format_count),
        charts.Axis("TTFT", format_seconds),
        say(
            f"TTFT grows with the prefix: {format_seconds(ttft_s[0])} for request 1, {format_seconds(ttft_s[2])} for the others at {prefix_tokens.value} tokens.",
            f"TTFT 隨前綴變長：前綴 {prefix_tokens.value} 個 token 時，請求 1 要 {format_seconds(ttft_s[0])}，其餘請求要 {format_seconds(ttft_s[2])}。",
        ),
        here=(
            prefix_tokens.value,
            ttft_s[0],
            say(f"you: {format_seconds(ttft_s[0])}", f"你：{format_seconds(ttft_s[0])}"),
        ),
    )
    return


@app.cell(hide_code=True)
def _(say):
    say.md(
        """
        Reuse stops at the first token that differs, counts in full blocks, and leaves at least one token to run:
        """,
        """
        重用到第一個不同的 token 為止，只算完整的 block，而且至少留一個 token 不重用：
        """,
    )
    return


@app.cell
def _():
    def reused_tokens(same_leading, prompt, block):
        usable = min(same_leading, prompt - 1)
        return usable // block * block

    mo.show_code()
    return (reused_tokens,)


@app.cell(hide_code=True)
def _(say):
    say.from_clone("01_first_token")
    return


if __name__ == "__main__":
    app.run()
