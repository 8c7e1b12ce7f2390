# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "kvtiers",
#     "marimo==0.25.2",
#     "matplotlib",
# ]
# tool.course.pairs = [["traffic", "case"]]
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
    from kvtiers.ledger.costs import recompute_s
    from kvtiers.ledger.prefix import prefill
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

        What a model has read can lie in four places. Click each:
        """,
        """
        # 第一個 token 為什麼慢

        模型讀過的東西，可以放在四個地方。點點看：
        """,
    )
    return


@app.cell
def _(say):
    four_places = {
        say("Desk", "桌面"): say.md(
            "**GPU memory.** At hand at once, and small: when it is full the oldest sheet goes, and a restart clears it.",
            "**GPU 記憶體。**伸手就拿得到，但很小：滿了就收走最舊的，重新啟動就清空。",
        ),
        say("Drawer", "抽屜"): say.md(
            "**CPU RAM.** An arm's length away, and much larger. It lives as long as the server that keeps it.",
            "**CPU 記憶體。**一個手臂的距離，大得多；保管它的伺服器在，它就在。",
        ),
        say("Cabinet", "櫃子"): say.md(
            "**Local SSD.** Across the room: slower to fetch from, with room for months, and still full on Monday.",
            "**本機 SSD。**在房間另一頭：拿得慢一點，裝得下好幾個月的東西，星期一早上也還在。",
        ),
        say("Warehouse", "倉庫"): say.md(
            "**Remote store.** Another building: the slowest and the largest, and your colleagues fetch from it too.",
            "**遠端儲存。**在另一棟樓：最慢、最大，而且同事也能去拿。",
        ),
    }
    mo.ui.tabs(four_places)
    return (four_places,)


@app.cell(hide_code=True)
def _(say):
    say.md(
        """
        ## How often is it read?

        Three requests come one after another. What they share decides whether anything can be reused.
        """,
        """
        ## 同一段內容讀了幾次？

        三個請求先後進來。它們有沒有共同的開頭，決定了能不能重用。
        """,
    )
    return


@app.cell
def _(say):
    traffic = say.dropdown(
        "Who is asking",
        "誰在問",
        {
            say("RAG: fixed knowledge, new questions", "RAG：固定知識前綴，問題每次不同"): "rag",
            say("Agent: each turn adds to one history", "代理程式：每一輪都接在同一段歷史後面"): "agent",
            say("One-off prompts: nothing comes back", "一次性的提示詞：什麼都不會再來"): "one_off",
        },
    )
    prefix_tokens = say.slider("Prefix (tokens)", "前綴（token）", 1000, 32000, 500, value=4000)
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
    mo.vstack([traffic, case, prefix_tokens, question_tokens, prefill_tokens_per_s, block_tokens])
    return block_tokens, case, prefill_tokens_per_s, prefix_tokens, question_tokens, traffic


@app.cell
def _(block_tokens, case, question_tokens, traffic):
    def prefills(prefix_tokens):
        turns = (1, 2, 3) if traffic.value == "agent" else (1, 1, 1)
        prompts = [prefix_tokens + turn * question_tokens.value for turn in turns]
        seen = {"rag": (0, prefix_tokens, prefix_tokens), "agent": (0, *prompts[:2]), "one_off": (0, 0, 0)}
        equal_up_to = {"off": 0, "on": max(prompts), "middle": prefix_tokens // 2, "front": 0}[case.value]
        return [
            prefill(prompt, min(same, equal_up_to), block_tokens.value)
            for prompt, same in zip(prompts, seen[traffic.value], strict=True)
        ]

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
def _(computed_tokens, prefill_tokens_per_s, requests, say, traffic):
    ttft_s = [recompute_s(request.computed_tokens, prefill_tokens_per_s.value) for request in requests]
    _asked = computed_tokens + sum(request.reused_tokens for request in requests)
    _figures = figures(
        (
            f"{computed_tokens:,}",
            say("Computed in all", "一共計算"),
            say(f"of {_asked:,} tokens asked", f"請求一共 {_asked:,} 個 token"),
        ),
        (format_seconds(ttft_s[0]), say("TTFT, request 1", "TTFT（首個 token 延遲），請求 1")),
        (format_seconds(ttft_s[2]), say("TTFT, request 3", "TTFT，請求 3")),
    )
    _comes_back = {
        "rag": say("The fixed knowledge comes back with every question.", "固定知識每次提問都會再來。"),
        "agent": say("The whole history comes back with every turn.", "整段歷史每一輪都會再來。"),
        "one_off": say("Nothing comes back: no cache and no tier can help.", "什麼都不會再來：快取和各層都幫不上忙。"),
    }
    mo.vstack([_figures, mo.md(_comes_back[traffic.value])])
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
        {say("request 1", "請求 1"): curves_s[0], say("request 3", "請求 3"): curves_s[1]},
        charts.Axis(say("prefix (tokens)", "前綴（token）"), format_count),
        charts.Axis("TTFT", format_seconds),
        say(
            f"TTFT grows with the prefix: {format_seconds(ttft_s[0])} for request 1, {format_seconds(ttft_s[2])} for request 3 at {prefix_tokens.value} tokens.",
            f"TTFT 隨前綴變長：前綴 {prefix_tokens.value} 個 token 時，請求 1 要 {format_seconds(ttft_s[0])}，請求 3 要 {format_seconds(ttft_s[2])}。",
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
