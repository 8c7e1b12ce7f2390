# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "kvtiers",
#     "marimo==0.25.2",
#     "matplotlib",
# ]
# tool.course.pairs = [["prefill_tokens_per_s", "ssd_gb_per_s"]]
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
    from kvtiers.ledger import costs
    from kvtiers.notebook import figures, speaker
    from kvtiers.result.chart import lengths_chart, lengths_text
    from kvtiers.result.reference import reference_run
    from kvtiers.result.steps import Step
    from kvtiers.units import KIB, format_bytes, format_count, format_seconds, format_times


@app.cell(hide_code=True)
def _():
    LANGUAGE = mo.cli_args().get("language", "en")  # the site's pages and downloads set theirs here
    say = speaker(LANGUAGE)
    return LANGUAGE, say


@app.cell(hide_code=True)
def _(say):
    say.md(
        """
        # Load or recompute?

        KV can be computed again, or read back from where it was kept. Which is faster?
        """,
        """
        # 載回還是重算？

        KV 可以再算一次，也可以從存放的地方讀回來。哪一個快？
        """,
    )
    return


@app.cell
def _(say):
    rates = [500, 1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000]
    _sizes = [size * KIB for size in (36, 64, 112, 128, 144, 320)]
    prefill_tokens_per_s = say.slider(
        "Prefill throughput (tokens/s)",
        "Prefill（預填充）吞吐量（token/s）",
        steps=rates,
        value=costs.ASSUMED_PREFILL_TOKENS_PER_S,
    )
    kv_bytes = say.dropdown(
        "KV per token", "每個 token 的 KV", {format_bytes(size): size for size in _sizes}, value="128 KiB"
    )
    cpu_gb_per_s = say.slider("CPU RAM bandwidth (GB/s)", "CPU 記憶體頻寬（GB/s）", 10, 200, 10, value=50)
    ssd_gb_per_s = say.slider("SSD bandwidth (GB/s)", "SSD 頻寬（GB/s）", 0.5, 14, 0.5, value=6)
    mo.vstack([prefill_tokens_per_s, kv_bytes, cpu_gb_per_s, ssd_gb_per_s])
    return cpu_gb_per_s, kv_bytes, prefill_tokens_per_s, rates, ssd_gb_per_s


@app.cell
def _(cpu_gb_per_s, kv_bytes, prefill_tokens_per_s, ssd_gb_per_s, say):
    def times_s(tokens):
        loads_s = (costs.load_s(tokens, kv_bytes.value, tier.value) for tier in (cpu_gb_per_s, ssd_gb_per_s))
        return costs.recompute_s(tokens, prefill_tokens_per_s.value), *loads_s

    lengths = range(0, 32001, 1000)
    _at_10k_s = times_s(10_000)
    _recompute, _cpu, _ssd = map(format_seconds, _at_10k_s)
    saved_s = _at_10k_s[0] - _at_10k_s[2]
    _saved = format_seconds(abs(saved_s))
    _gap = say(f"SSD: at 10k you save {_saved}", f"SSD：10k 時省下 {_saved}")
    if saved_s < 0:
        _gap = say(f"SSD: at 10k you lose {_saved}", f"SSD：10k 時反而多花 {_saved}")
    names = say("recompute", "重算"), say("load from CPU RAM", "從 CPU 記憶體載回"), say("load from SSD", "從 SSD 載回")
    charts.lines(
        lengths,
        dict(zip(names, zip(*map(times_s, lengths), strict=True), strict=True)),
        charts.Axis(say("prefix (tokens)", "前綴（token）"), format_count),
        charts.Axis(say("time", "時間"), format_seconds),
        say(
            f"At 10k tokens: recompute {_recompute}, load from CPU RAM {_cpu}, from SSD {_ssd}.",
            f"10k 個 token 時：重算 {_recompute}，從 CPU 記憶體載回 {_cpu}，從 SSD 載回 {_ssd}。",
        ),
        gap=charts.Gap(names[0], names[2], 10_000, _gap),
    )
    return lengths, saved_s


@app.cell(hide_code=True)
def _(say):
    say.md(
        "Bandwidth is in GB/s (decimal), KV in bytes; the prefix length cancels:",
        "頻寬以 GB/s（十進位）計，KV 以位元組計；前綴長度會約掉：",
    )
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
def _(break_even, ceiling_speedup, cpu_gb_per_s, kv_bytes, prefill_tokens_per_s, rates, say, ssd_gb_per_s):
    ceiling = ceiling_speedup(prefill_tokens_per_s.value, kv_bytes.value, ssd_gb_per_s.value)
    break_even_rate = break_even(kv_bytes.value, ssd_gb_per_s.value)
    _rate, _you = format_count(break_even_rate), format_times(ceiling)
    _figures = figures(
        (_you, say("Ceiling speedup", "加速上限"), say("SSD, at any length", "SSD，與前綴長度無關")),
        (
            say(f"{_rate} tokens/s", f"{_rate} token/s"),
            say("Break-even prefill", "損益平衡的 prefill"),
            say("faster prefill than this beats the SSD", "prefill 比這更快，就贏過 SSD"),
        ),
    )
    _chart = charts.lines(
        rates,
        {
            name: [ceiling_speedup(rate, kv_bytes.value, bandwidth.value) for rate in rates]
            for name, bandwidth in (("SSD", ssd_gb_per_s), (say("CPU RAM", "CPU 記憶體"), cpu_gb_per_s))
        },
        charts.Axis(say("prefill throughput (tokens/s)", "prefill 吞吐量（token/s）"), format_count, log=True),
        charts.Axis(say("ceiling speedup", "加速上限"), format_times, log=True),
        say(
            f"The ceiling falls as prefill gets faster; with SSD it is {_you} here and 1x at {_rate} tokens/s.",
            f"Prefill 越快，上限越低；以 SSD 來說，此處為 {_you}，到 {_rate} token/s 時為 1x。",
        ),
        here=(prefill_tokens_per_s.value, ceiling, say(f"you: {_you}", f"你：{_you}")),
        level=(1, say("1x: no gain below", "1x：以下沒有好處")),
        marks={say(f"SSD break-even, {_rate} tokens/s", f"SSD 的損益平衡點，{_rate} token/s"): [break_even_rate]},
    )
    mo.vstack([_figures, _chart])
    return break_even_rate, ceiling


@app.cell(hide_code=True)
def _(say):
    say.md(
        """
        ## The same with fixed costs and the square

        Nothing real is a straight line. Attention adds a term in n², each side has a fixed cost, and the tokens that no
        full chunk covers are computed again over the whole context. The sliders start at an estimate for an 8B-class
        model on one GPU.
        """,
        """
        ## 加上固定成本與平方項

        現實裡沒有直線。注意力多出一個 n² 項，兩邊都有固定成本，而不足一個完整 chunk 的 token 要在整段上下文之上重算。滑桿從 8B 等級模型、單一 GPU 的估計值開始。
        """,
    )
    return


@app.cell
def _(say):
    curve = mo.ui.dictionary(
        {
            "cold_fixed": say.slider("Cold: fixed (ms)", "冷啟動：固定（ms）", 0, 500, value=20),
            "cold_linear": say.slider("Cold: per token (µs)", "冷啟動：每個 token（µs）", 0, 2000, 10, value=250),
            "cold_square": say.slider("Cold: per token² (ns)", "冷啟動：每 token²（ns）", 0, 1000, value=4),
            "load_fixed": say.slider("Load: fixed (ms)", "載回：固定（ms）", 0, 500, value=45),
            "load_linear": say.slider("Load: per token (µs)", "載回：每個 token（µs）", 0, 200, 0.1, value=21.8),
            "tail": say.slider("Tail that is recomputed (tokens)", "要重算的尾段（token）", 0, 500, 10, value=50),
        }
    )
    mo.vstack(curve.elements.values())
    return (curve,)


@app.cell
def _(curve, lengths, say):
    _set = curve.value
    cold = costs.TtftCurve(_set["cold_fixed"] / 1e3, _set["cold_linear"] / 1e6, _set["cold_square"] / 1e9)
    load = costs.TtftCurve(_set["load_fixed"] / 1e3, _set["load_linear"] / 1e6)

    def reuse_s(tokens):
        return costs.reuse_ttft_s(cold, load, tokens, curve.value["tail"])

    _recompute, _reuse = format_seconds(cold.ttft_s(8000)), format_seconds(reuse_s(8000))
    _names = say("recompute", "重算"), say("load from SSD, then the tail", "從 SSD 載回，再算尾段")
    _series = ([time_s(length) for length in lengths[:9]] for time_s in (cold.ttft_s, reuse_s))
    charts.lines(
        lengths[:9],
        dict(zip(_names, _series, strict=True)),
        charts.Axis(say("prefix (tokens)", "前綴（token）"), format_count),
        charts.Axis(say("time", "時間"), format_seconds),
        say(
            f"With fixed costs and the square, at 8k tokens: recompute {_recompute}, reuse {_reuse}.",
            f"加上固定成本與平方項後，8k 個 token 時：重算 {_recompute}，重用 {_reuse}。",
        ),
    )
    return cold, load, reuse_s


@app.cell
def _(cold, load, reuse_s, say):
    from_tokens = costs.worthwhile_from_tokens(cold, load)
    _chunk = costs.CHUNK_TOKENS
    _why = say(f"in chunks of {_chunk}: nothing shorter is stored", f"以 {_chunk} 的 chunk 計：更短的不會存")
    _from = say("never", "永遠不划算")
    if from_tokens is not None:
        _from = say(f"{from_tokens:,} tokens", f"{from_tokens:,} 個 token")

    def speedup(tokens):
        both_s = cold.ttft_s(tokens), reuse_s(tokens)
        return format_times(both_s[0] / both_s[1]) if min(both_s) > 0 else "–"

    _at = [(speedup(n), say(f"Speedup at {n:,} tokens", f"{n:,} 個 token 的加速")) for n in (300, 8000)]
    figures((_from, say("Loading wins from", "從多長開始，載回才划算"), _why), *_at)
    return (from_tokens,)


@app.cell
def _(LANGUAGE, say):
    _measured = reference_run("cpu-tiny"), reference_run("cpu-tiny-long")
    _names = [say(f"SSD reuse, {run.tokens:,} tokens", f"從 SSD 載回，{run.tokens:,} 個 token") for run in _measured]
    _reused = [(format_times(run.speedup(Step.SSD_REUSE)), name) for run, name in zip(_measured, _names, strict=True)]
    _title = say.md("## Measured in this project's lab", "## 本專案實驗室的實測")
    mo.vstack([_title, mo.md(lengths_text(_measured, LANGUAGE)), lengths_chart(_measured, LANGUAGE), figures(*_reused)])
    return


@app.cell(hide_code=True)
def _(say):
    _exercise = say(
        "Exercise 2: where is break-even, and where does the gap go?", "練習 2：損益平衡點在哪裡？差距又去了哪裡？"
    )
    _solution = say.md(
        """
        Break-even is bandwidth / KV bytes per token: 6 x 10⁹ / 131,072 = 45,776 tokens/s. Mixing GB and GiB gives 49,152,
        7% too many.

        A measurement stays below the ceiling because the ceiling knows only the drive. Missing are the chunk lookup, the
        copy from host to GPU, scheduling, the fixed cost of any request, and the tail that is prefilled over the whole
        context. Set both fixed costs, the square and the tail to 0: what is left is the ceiling.
        """,
        """
        損益平衡點是頻寬除以每個 token 的 KV 位元組數：6 x 10⁹ / 131,072 = 45,776 token/s。把 GB 和 GiB 混為一談會得到 49,152，多了 7%。

        實測值低於上限，是因為上限只認得硬碟。它沒算到 chunk 的查詢、主機到 GPU 的複製、排程、任何請求都有的固定成本，以及在整段上下文之上重算的尾段。把兩個固定成本、平方項與尾段都調成 0，剩下的就是上限。
        """,
    )
    mo.accordion({_exercise: _solution})
    return


@app.cell(hide_code=True)
def _(say):
    _playground = say.md(
        """
        ## Playground

        Put in your own numbers: choose “Edit the cells” above the notebook and change this one.
        """,
        """
        ## 實驗場

        填入你自己的數字：按筆記本上方的「編輯程式碼」，修改下面這一格。
        """,
    )
    mo.vstack([_playground, say.from_clone("03_load_or_recompute")])
    return


@app.cell
def _():
    my_kv_bytes = 2 * 36 * 8 * 128 * 2
    my_tokens_per_s = 2500
    my_gb_per_s = 3.2
    my_load_rate = my_gb_per_s * 1e9 / my_kv_bytes
    my_ceiling = my_load_rate / my_tokens_per_s
    mo.show_code(format_times(my_ceiling), position="above")
    return


if __name__ == "__main__":
    app.run()
