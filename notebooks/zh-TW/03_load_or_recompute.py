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
            # 載回還是重算？

            KV 可以再算一次，也可以從存放的地方讀回來。哪一個快？
        """,
        "rate": "Prefill（預填充）吞吐量（token/s）",
        "kv": "每個 token 的 KV",
        "cpu": "CPU RAM 頻寬（GB/s）",
        "ssd": "SSD 頻寬（GB/s）",
        "recompute": "重算",
        "from_cpu": "從 CPU RAM 載回",
        "from_ssd": "從 SSD 載回",
        "prefix": "前綴（token）",
        "time": "時間",
        "lines_alt": "{tokens} 個 token 時：重算 {recompute}，從 CPU RAM 載回 {cpu}，從 SSD 載回 {ssd}。",
        "saved": "10k token 省下",
        "saved_detail": "SSD；從 CPU RAM 則省下 {cpu}",
        "ceiling": "加速上限",
        "ceiling_detail": "SSD；與前綴長度無關",
        "break_even": "損益平衡的 prefill",
        "tokens_per_s": "{rate} token/s",
        "break_even_detail": "prefill 比這更快，就贏過 SSD",
        "formula": "頻寬以 GB/s（十進位）計，KV 以位元組計；前綴長度會約掉：",
        "ceiling_x": "prefill 吞吐量（token/s）",
        "ceiling_y": "加速上限",
        "ceiling_ssd": "SSD",
        "ceiling_cpu": "CPU RAM",
        "break_even_mark": "SSD 的損益平衡點，{rate} token/s",
        "ceiling_alt": "Prefill 越快，上限越低；以 SSD 來說，此處為 {speedup}，到 {rate} token/s 時為 1x。",
        "here": "你在這裡",
        "curves": """
            ## 加上固定成本與平方項

            現實裡沒有直線。注意力多出一個 n² 項，兩邊都有固定成本，而不足一個完整 chunk 的 token 要在整段上下文之上重算。

            實驗室的數值：2,700 萬參數模型、2 個 CPU 核心、vLLM 0.32.0 + LMCache 0.5.6，2026 年 11 月。
        """,
        "profile": "從哪組數字開始",
        "profile_lab": "本專案實驗室實測",
        "profile_gpu": "估計：8B 等級、單一 GPU",
        "cold_fixed": "冷請求：固定（ms）",
        "cold_linear": "冷請求：每個 token（µs）",
        "cold_square": "冷請求：每 token²（ns）",
        "load_fixed": "載回：固定（ms）",
        "load_linear": "載回：每個 token（µs）",
        "tail": "要重算的尾段（token）",
        "curve_reuse": "從 SSD 載回，再算尾段",
        "curves_alt": "加上固定成本與平方項後，{tokens} 個 token 時：重算 {recompute}，重用 {reuse}。",
        "wins": "載回從何時開始划算",
        "wins_tokens": "載回 {tokens:,.0f} 個 token 起",
        "never": "永遠不划算",
        "at_tokens": "{tokens} 個 token 的加速",
        "exercise": "練習 2：損益平衡點在哪裡？差距又去了哪裡？",
        "solution": """
            損益平衡點是頻寬除以每個 token 的 KV 位元組數：6 x 10⁹ / 131,072 = 45,776 token/s。把 GB 和 GiB 混為一談會得到 49,152，多了 7%。

            實測值低於上限，是因為上限只認得硬碟。它沒算到 chunk 的查找、主機到 GPU 的複製、排程、任何請求都有的固定成本，以及在整段上下文之上重算的尾段。把兩個固定成本、平方項與尾段都調成 0，剩下的就是上限。
        """,
        "playground": """
            ## 實驗場

            填入你自己的數字：開啟這份筆記本的可編輯版本，修改下面這一格。
        """,
        "run": "從 clone 下來的專案執行：`uvx marimo edit --sandbox notebooks/zh-TW/03_load_or_recompute.py`",
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
