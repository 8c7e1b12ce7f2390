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
    import sys
    from dataclasses import asdict
    from html import escape

    import marimo as mo

    from kvtiers import charts
    from kvtiers.errors import KvtiersError
    from kvtiers.ledger.costs import ceiling_speedup
    from kvtiers.logs.diagnosis import conclude
    from kvtiers.logs.read import read_log_text
    from kvtiers.result.evidence import Step
    from kvtiers.result.schema import Arm, read_result
    from kvtiers.units import KIB, format_count, format_seconds
    from kvtiers.words import text as doctor_text


@app.cell(hide_code=True)
def _():
    t = {
        "intro": """
            # 證明它有用

            一份實驗結果：量到了什麼、每個樣本的佐證是什麼、離上限有多遠。執行 `make lab` 之後，這裡顯示你的結果；還沒有的話，顯示本專案附的參考結果。
        """,
        "drop": "把另一份結果檔拖到這裡",
        "no_file": "這裡還沒有實驗結果。請在上面拖入一份，或在 clone 下來的專案裡執行 `make lab`。",
        "bad_file": "這個檔案無法顯示，原因是：",
        "origin": "**{model}**，{cpu}，{cores} 核心，GPU：{gpu} · vLLM {vllm}、LMCache {lmcache} · {date}",
        "no_gpu": "無",
        "invalid": "這次執行被標記為無效：",
        "lmcache": "LMCache",
        "control": "對照組",
        "cold": "冷請求",
        "gpu_hit": "GPU 命中",
        "ssd_reuse": "從 SSD 載回",
        "page_cache_reuse": "從分頁快取載回",
        "evicted_recompute": "被逐出後重算",
        "row": "{step}，{arm}",
        "ttft": "TTFT",
        "median": "TTFT 中位數",
        "medians_alt": "每個步驟的 TTFT 中位數：{steps}。",
        "reuse_speedup": "冷請求／從 SSD 載回",
        "worth": "逐出後重算／從 SSD 載回",
        "worth_detail": "對照組對上 LMCache：這一層的價值",
        "price": "存入的代價",
        "price_detail": "未命中時，LMCache 自己的記錄；冷請求對上對照組：{against}",
        "unknown": "沒有執行",
        "ceiling": "## 實測對照上限",
        "measured": "實測",
        "ceiling_bar": "上限",
        "speedup": "加速（對數刻度）",
        "ceiling_alt": "實測加速 {measured}，上限 {ceiling}。",
        "discount": "有效頻寬折扣",
        "discount_detail": "實測／上限；硬碟 {drive:.2f} GB/s，prefill 每秒 {rate} 個 token",
        "no_ceiling": "這份結果沒有上限：沒有量到硬碟頻寬，或不知道 KV 大小。",
        "retrieve": "讀取與複製",
        "rest": "其餘，大多是尾段 {tail} 個 token 的 prefill",
        "parts": "一次重用（中位數）",
        "parts_alt": "{total} 之中，讀取與複製占 {retrieve}。",
        "evidence": """
            ## 每個樣本的佐證

            單位是 token。來自日誌：提示共 T、引擎已有 C、LMCache 已有 H、要載入 L，以及真正取回的數量。來自計數器：引擎自己快取的命中，以及連接器的命中。
        """,
        "table_head": "| 步驟 | TTFT | T | C | H | L | 取回 | 自身命中 | 連接器命中 |",
        "formula": "上限沒有解釋到的部分：",
        "own": """
            ## 練習 3：你自己的數字

            Prefill 吞吐量：用一個長提示，`max_tokens` 設為 1。硬碟：用 fio 實測，不要抄規格書。
        """,
        "own_tokens": "提示（token）",
        "own_cold": "冷請求的 TTFT（s）",
        "own_reuse": "載回時的 TTFT（s）",
        "own_kv": "每個 token 的 KV（KiB）",
        "own_drive": "硬碟（GB/s）",
        "own_result": "加速 **{measured:.1f}x**，上限 **{ceiling:.1f}x**：折扣 **{discount:.2f}**。{advice}",
        "advice_low": "瓶頸不在硬碟：換更快的只是浪費錢。",
        "advice_high": "硬碟在這裡有影響：換更快的看得出來。",
        "solution_title": "每個數字怎麼來",
        "solution": """
            - 每個 token 的 KV：從 config.json 讀出層數、KV 頭數與 head_dim（第 02 課）。
            - Prefill 吞吐量：一個全新長提示的 token 數，除以 `max_tokens` 設為 1 時的 TTFT。
            - 硬碟：`fio --rw=read --bs=1M --direct=1 --size=4G --name=kv --directory=DIR`。
            - 上限＝頻寬／（吞吐量 x 每個 token 的 KV 位元組數）；折扣＝實測加速／上限。
        """,
        "language": "zh-TW",
        "read": """
            ## 貼上你自己的日誌

            vLLM 伺服器搭配 LMCache 的日誌，原樣貼上即可。貼上的內容不會離開這個網頁。
        """,
        "pasted_log": "伺服器日誌",
        "log_unread": "這份日誌讀不懂。問題是：",
        "log_head": "| 請求 | 總數 | C | H | L | 已載回 | 是什麼 |",
        "run": "從 clone 下來的專案執行：`uvx marimo edit --sandbox notebooks/zh-TW/06_prove_it.py`",
    }
    return (t,)


@app.cell(hide_code=True)
def _(t):
    mo.md(t["intro"])
    return


@app.cell
def _(t):
    dropped = mo.ui.file(filetypes=[".json"], kind="area", label=t["drop"])
    own_tokens = mo.ui.number(1, 10_000_000, value=10_000, label=t["own_tokens"])
    own_cold_s = mo.ui.number(0.001, 10_000, value=2.5, label=t["own_cold"])
    own_reuse_s = mo.ui.number(0.001, 10_000, value=1.1, label=t["own_reuse"])
    own_kv_kib = mo.ui.number(0.1, 100_000, value=144, label=t["own_kv"])
    own_drive_gb_per_s = mo.ui.number(0.01, 1000, value=6, label=t["own_drive"])
    dropped
    return dropped, own_cold_s, own_drive_gb_per_s, own_kv_kib, own_reuse_s, own_tokens


@app.cell(hide_code=True)
def _():
    def result_at_hand():
        """The served result in the browser; the latest run or the reference run in a clone; None elsewhere."""
        location = mo.notebook_location()
        served = location / "public" / "lab-result.json"
        if "pyodide" in sys.modules:
            from pyodide.http import pyxhr

            answer = pyxhr.get(str(served))
            return answer.text if answer.ok else None
        results = location.parents[1] / "lab" / "results"
        found = [
            path for path in (served, results / "latest.json", results / "reference" / "cpu-tiny.json") if path.exists()
        ]
        return found[0].read_text() if found else None

    return (result_at_hand,)


@app.cell
def _(dropped, result_at_hand, t):
    result_text = dropped.contents().decode(errors="replace") if dropped.value else result_at_hand()
    mo.stop(result_text is None, mo.callout(mo.md(t["no_file"]), kind="warn"))
    try:
        result = read_result(result_text)
    except KvtiersError as error:
        mo.stop(True, mo.callout(mo.vstack([t["bad_file"], mo.plain_text(str(error))]), kind="danger"))
    return (result,)


@app.cell
def _(result, t):
    names = {
        "model": result.model.name,
        "cpu": result.machine.cpu,
        "gpu": result.machine.gpu or t["no_gpu"],
        **asdict(result.versions),
    }
    origin = t["origin"].format(
        **{name: escape(text) for name, text in names.items()}, cores=result.machine.cores, date=result.created[:10]
    )
    problems = mo.callout(mo.vstack([t["invalid"], *map(mo.plain_text, result.problems)]), kind="danger")
    mo.vstack([mo.md(origin), *([] if result.valid else [problems])])
    return


@app.cell
def _(result, t):
    medians = {t["row"].format(step=t[row.step], arm=t[row.arm]): row.ttft.median_s for row in result.summary.steps}
    mo.Html(
        charts.stacked_bars(
            {name: [median_s] for name, median_s in medians.items()},
            [t["median"]],
            charts.Axis(t["ttft"], format_seconds),
            t["medians_alt"].format(
                steps="; ".join(f"{name} {format_seconds(median_s)}" for name, median_s in medians.items())
            ),
        )
    )
    return (medians,)


@app.cell
def _(result, t):
    def times(ratio):
        return t["unknown"] if ratio is None else f"{ratio:.1f}x"

    store_s, against = result.summary.store_s, result.summary.cold_over_control_cold
    price = t["unknown"] if store_s is None else format_seconds(store_s)
    against_control = t["unknown"] if against is None else f"{against - 1:+.0%}"
    mo.hstack(
        [
            mo.stat(times(result.summary.cold_over_ssd_reuse), t["reuse_speedup"]),
            mo.stat(times(result.summary.evicted_recompute_over_ssd_reuse), t["worth"], t["worth_detail"]),
            mo.stat(price, t["price"], t["price_detail"].format(against=against_control)),
        ],
        justify="start",
        wrap=True,
    )
    return (times,)


@app.cell
def _(result, t, times):
    limit = result.summary.ceiling
    mo.stop(limit is None, mo.vstack([mo.md(t["ceiling"]), mo.callout(t["no_ceiling"])]))
    measured = result.summary.cold_over_ssd_reuse
    mo.vstack(
        [
            mo.md(t["ceiling"]),
            mo.Html(
                charts.log_bars(
                    {t["measured"]: measured, t["ceiling_bar"]: limit.speedup},
                    charts.Axis(t["speedup"], lambda speedup: f"{speedup:.3g}x", log=True),
                    (0.1, 1000),
                    t["ceiling_alt"].format(measured=times(measured), ceiling=times(limit.speedup)),
                )
            ),
            mo.stat(
                f"{limit.effective_bandwidth_discount:.2f}",
                t["discount"],
                t["discount_detail"].format(
                    drive=limit.drive_gb_per_s, rate=format_count(result.summary.prefill_tokens_per_s)
                ),
            ),
        ]
    )
    return


@app.cell
def _(result, t):
    parts = result.summary.reuse_parts
    mo.stop(parts is None)
    mo.Html(
        charts.stacked_bars(
            {t["parts"]: [parts.retrieve_s, parts.rest_s]},
            [t["retrieve"], t["rest"].format(tail=parts.tail_tokens)],
            charts.Axis(t["ttft"], format_seconds),
            t["parts_alt"].format(
                total=format_seconds(parts.retrieve_s + parts.rest_s), retrieve=format_seconds(parts.retrieve_s)
            ),
        )
    )
    return


@app.cell
def _(result, t):
    def evidence_row(sample):
        log, counters = sample.evidence.log, sample.evidence.counters
        from_log = (
            (log.computed_tokens, log.hit_tokens, log.need_to_load_tokens, log.retrieved_tokens) if log else ("–",) * 4
        )
        cells = (
            t["row"].format(step=t[sample.step], arm=t[sample.arm]),
            format_seconds(sample.ttft_s).replace(" ", "\N{NO-BREAK SPACE}"),
            sample.prompt_tokens,
            *from_log,
            counters.own_hits,
            counters.external_hits,
        )
        return "| " + " | ".join(map(str, cells)) + " |"

    in_order = sorted(
        result.samples, key=lambda sample: (list(Arm).index(sample.arm), list(Step).index(sample.step), sample.repeat)
    )
    rule = "|---" * 9 + "|"
    table = mo.md("\n".join([t["table_head"], rule, *map(evidence_row, in_order)]))
    mo.vstack([mo.md(t["evidence"]), table.style({"overflow-x": "auto"})])
    return


@app.cell(hide_code=True)
def _(own_cold_s, own_drive_gb_per_s, own_kv_kib, own_reuse_s, own_tokens, t):
    mo.vstack([mo.md(t["own"]), own_tokens, own_cold_s, own_reuse_s, own_kv_kib, own_drive_gb_per_s])
    return


@app.cell
def _(discount, own_cold_s, own_drive_gb_per_s, own_kv_kib, own_reuse_s, own_tokens, t):
    own_speedup = own_cold_s.value / own_reuse_s.value
    own_ceiling = ceiling_speedup(own_tokens.value / own_cold_s.value, own_kv_kib.value * KIB, own_drive_gb_per_s.value)
    own_discount = discount(own_speedup, own_ceiling)
    mo.callout(
        mo.md(
            t["own_result"].format(
                measured=own_speedup,
                ceiling=own_ceiling,
                discount=own_discount,
                advice=t["advice_high" if own_discount > 0.5 else "advice_low"],
            )
        )
    )
    return (own_discount,)


@app.cell(hide_code=True)
def _(t):
    mo.md(t["formula"])
    return


@app.cell
def _():
    def discount(measured_speedup, ceiling):
        return measured_speedup / ceiling

    mo.show_code()
    return (discount,)


@app.cell(hide_code=True)
def _(t):
    mo.accordion({t["solution_title"]: mo.md(t["solution"])})
    return


@app.cell(hide_code=True)
def _(t):
    mo.md(t["read"])
    return


@app.cell
def _(t):
    _lines = (
        "Reqid: cmpl-a, Total tokens 1330, Inference Engine computed tokens: 0, LMCache hit tokens: 0, need to load: 0",
        "[req_id=cmpl-a] Stored 1280 out of total 1330 tokens. size: 0.0195 GB, cost 3.0600 ms, throughput: 6.38 GB/s",
        "Reqid: cmpl-b, Total tokens 1330, Inference Engine computed tokens: 0, "
        "LMCache hit tokens: 1280, need to load: 1280",
        "[req_id=cmpl-b] Retrieved 1280 out of 1280 required tokens (from 1280 total tokens). "
        "size: 0.0195 gb, cost 12.4000 ms, throughput: 1.5751 GB/s;",
    )
    pasted_log = mo.ui.text_area("\n".join(_lines), label=t["pasted_log"], rows=6, full_width=True)
    pasted_log
    return (pasted_log,)


@app.cell
def _(pasted_log, t):
    try:
        diagnosis = conclude(read_log_text(pasted_log.value))
    except KvtiersError as error:
        mo.stop(True, mo.callout(mo.vstack([t["log_unread"], mo.plain_text(str(error))]), kind="danger"))

    def said(conclusion):
        what, next_step = conclusion.what(t["language"]), conclusion.next_step(t["language"])
        kind = "warn" if conclusion in diagnosis.problems else "info"
        return mo.callout(mo.Html(f"<p><strong>{escape(what)}</strong></p><p>{escape(next_step)}</p>"), kind=kind)

    def request_row(request):
        tokens = request.total, request.computed, request.hit, request.load, request.retrieved
        kind = doctor_text(f"log.kind.{request.kind}", t["language"], {})
        return "| " + " | ".join(map(str, (escape(request.id), *tokens, kind))) + " |"

    asked = [request_row(request) for request in list(diagnosis.log.finished)[-20:]]
    requests = mo.md("\n".join([t["log_head"], "|:---" + "|---:" * 5 + "|:---|", *asked])).style(
        {"overflow-x": "auto", "white-space": "nowrap"}
    )
    mo.vstack([*map(said, diagnosis.problems or (diagnosis.verdict,)), *([requests] if asked else [])])
    return (diagnosis,)


@app.cell(hide_code=True)
def _(t):
    mo.md(t["run"])
    return


if __name__ == "__main__":
    app.run()
