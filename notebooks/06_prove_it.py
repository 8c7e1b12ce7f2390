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

with app.setup(hide_code=True):
    import sys
    from html import escape

    import marimo as mo

    from kvtiers.errors import KvtiersError
    from kvtiers.ledger.costs import ceiling_speedup
    from kvtiers.logs.diagnosis import conclude
    from kvtiers.logs.read import read_log_text
    from kvtiers.notebook import refuse, speaker
    from kvtiers.result.chart import is_reference, parts_chart, steps_chart
    from kvtiers.result.schema import read_result
    from kvtiers.result.steps import Arm, Step
    from kvtiers.units import KIB, format_seconds, format_times
    from kvtiers.words import text as words
    from kvtiers.words.refusals import in_language


@app.cell(hide_code=True)
def _():
    LANGUAGE = mo.cli_args().get("language", "en")  # the site's pages and downloads set theirs here
    say = speaker(LANGUAGE)
    return LANGUAGE, say


@app.cell(hide_code=True)
def _(say):
    say.md(
        """
        # Prove it

        A lab result: what was measured, what proves each sample, and where the time of a reuse went. After `make lab`
        this shows your run beside the committed reference run; without one, the reference run alone.
        """,
        """
        # 證明它有用

        一份實驗結果：量到了什麼、每個樣本的佐證是什麼、重用的時間花在哪裡。執行 `make lab` 之後，這裡把你的結果和本專案附的參考結果並排；還沒有的話，只顯示參考結果。
        """,
    )
    return


@app.cell
def _(say):
    dropped = mo.ui.file(
        filetypes=[".json"], kind="area", label=say("Drop another result file here", "把另一份結果檔拖到這裡")
    )
    dropped
    return (dropped,)


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
        results = location.parent / "lab" / "results"
        found = [
            path for path in (served, results / "latest.json", results / "reference" / "cpu-tiny.json") if path.exists()
        ]
        return found[0].read_text() if found else None

    return (result_at_hand,)


@app.cell
def _(dropped, result_at_hand, say):
    result_text = dropped.contents().decode(errors="replace") if dropped.value else result_at_hand()
    no_result = say.md(
        "There is no lab result here yet. Drop one above, or run `make lab` in a clone.",
        "這裡還沒有實驗結果。請在上面拖入一份，或在 clone 下來的專案裡執行 `make lab`。",
    )
    mo.stop(result_text is None, mo.callout(no_result, kind="warn"))
    try:
        result = read_result(result_text)
    except KvtiersError as error:
        refuse(say, "This file can't be shown. What is wrong:", "這個檔案無法顯示，原因是：", error)
    return (result,)


@app.cell
def _(LANGUAGE, result, say):
    _model, _cpu, _vllm, _lmcache = map(
        escape, (result.model.name, result.machine.cpu, result.versions.vllm, result.versions.lmcache)
    )
    _gpu = escape(result.machine.gpu or say("none", "無"))
    _date, _cores = result.created[:10], result.machine.cores
    _whose = say("Your run", "你的執行結果")
    if is_reference(result):
        _whose = say("This project's reference run", "本專案的參考執行")
    _origin = say.md(
        f"{_whose}: **{_model}** on {_cpu}, {_cores} cores, GPU: {_gpu} · vLLM {_vllm}, LMCache {_lmcache} · {_date}",
        f"{_whose}：**{_model}**，{_cpu}，{_cores} 核心，GPU：{_gpu} · vLLM {_vllm}、LMCache {_lmcache} · {_date}",
    )
    _invalid = say("This run is marked invalid:", "這次執行被標記為無效：")
    _why = [mo.plain_text(in_language(problem, LANGUAGE)) for problem in result.problems]
    _problems = mo.callout(mo.vstack([_invalid, *_why]), kind="danger")
    mo.vstack([_origin, *([] if result.valid else [_problems])])
    return


@app.cell
def _(LANGUAGE, result):
    steps_chart(result, LANGUAGE)
    return


@app.cell
def _(result, say):
    not_run = say("not run", "沒有執行")

    def times(ratio):
        return not_run if ratio is None else format_times(ratio)

    _store_s, _against = result.summary.store_s, result.summary.cold_over_control_cold
    _against_control = not_run if _against is None else f"{_against - 1:+.0%}"
    _by_log = say(
        f"on a miss, by LMCache's own account; cold against the control's cold: {_against_control}",
        f"未命中時，LMCache 自己的記錄；冷啟動對上對照組：{_against_control}",
    )
    _by_control = say(
        "on a miss: cold against the control's cold. LMCache's log names a copy of the GPU's KV once it is queued.",
        "未命中時，冷啟動對上對照組。GPU 的 KV 一排入複製佇列，LMCache 的日誌就記為完成。",
    )
    _logged = not_run if _store_s is None else format_seconds(_store_s)
    _figures = [
        mo.stat(times(result.summary.cold_over_cpu_hit), say("Cold / RAM hit", "冷啟動／RAM 命中")),
        mo.stat(times(result.summary.cold_over_ssd_reuse), say("Cold / SSD reuse", "冷啟動／從 SSD 載回")),
        mo.stat(
            times(result.summary.evicted_recompute_over_ssd_reuse),
            say("Evicted / SSD reuse", "逐出後重算／從 SSD 載回"),
            say("control against LMCache: what the tier is worth", "對照組對上 LMCache：這一層的價值"),
        ),
        mo.stat(
            _against_control if result.copies_queued else _logged,
            say("Price of storing", "存入的代價"),
            _by_control if result.copies_queued else _by_log,
        ),
    ]
    mo.hstack(_figures, justify="start", wrap=True)
    return


@app.cell
def _(LANGUAGE, result, say):
    mo.stop(not result.summary.reuse_parts)
    _chart = parts_chart(result, LANGUAGE)
    _faster = [
        words(
            "report.faster_drive",
            LANGUAGE,
            {"step": words(f"step.{parts.step}", LANGUAGE, {}), "percent": 50 * parts.drive_share},
        )
        for parts in result.summary.reuse_parts
        if parts.drive_share is not None
    ]
    _title = say.md("## Where the time of a reuse went", "## 重用的時間花在哪裡")
    mo.vstack([_title, _chart, *map(mo.md, _faster)])
    return


@app.cell
def _(LANGUAGE, result, say):
    _what = say.md(
        """
        ## What proves each sample

        Tokens. From vLLM's counters: hits of the engine's own cache, and of the connector. From LMCache's server: what it
        held in RAM (L1) and below (L2), and what was really retrieved. Inside the engine LMCache logs instead: C already
        held by the engine, H held by LMCache, L to load.
        """,
        """
        ## 每個樣本的佐證

        單位是 token。來自 vLLM 的計數器：引擎自己快取的命中，以及連接器的命中。來自 LMCache 的伺服器：RAM（L1）和下面那層（L2）各有多少，以及真正載回的數量。LMCache 在引擎裡面時，改由日誌說明：引擎已有 C、LMCache 已有 H、要載回 L。
        """,
    )

    def evidence_row(sample):
        names = {kind: words(f"{kind}.{getattr(sample, kind)}", LANGUAGE, {}) for kind in ("step", "arm")}
        name = words("report.row", LANGUAGE, names) + (f" ({sample.document})" if len(result.summaries) > 1 else "")
        proof, counters = sample.evidence, sample.evidence.counters
        held, log = proof.server_counters, proof.log
        tiers = (f"{held.l1_hits:,}", f"{held.l2_hits:,}") if held else ("–", "–")
        chl = f"{log.computed_tokens:,} / {log.hit_tokens:,} / {log.need_to_load_tokens:,}" if log else "–"
        retrieved = f"{proof.moved.retrieved_tokens:,}" if proof.moved else "–"
        ttft = format_seconds(sample.ttft_s).replace(" ", "\N{NO-BREAK SPACE}")
        tokens = sample.prompt_tokens, counters.own_hits, counters.external_hits
        return "| " + " | ".join((name, ttft, *map("{:,}".format, tokens), *tiers, chl, retrieved)) + " |"

    in_order = sorted(
        result.samples, key=lambda sample: (list(Arm).index(sample.arm), list(Step).index(sample.step), sample.repeat)
    )
    _head = say(
        "| Step | TTFT | Prompt | Own hits | Connector hits | L1 | L2 | C / H / L | Retrieved |",
        "| 步驟 | TTFT | 提示詞 | 自身命中 | 連接器命中 | L1 | L2 | C / H / L | 載回 |",
    )
    _table = mo.md("\n".join([_head, "|---" * 9 + "|", *map(evidence_row, in_order)]))
    mo.vstack([_what, _table.style({"overflow-x": "auto"})])
    return


@app.cell(hide_code=True)
def _(say):
    say.md(
        """
        ## Exercise 3: your own numbers

        Prefill throughput: one long prompt with `max_tokens` 1. Drive: measured by fio, never the data sheet.
        """,
        """
        ## 練習 3：你自己的數字

        Prefill 吞吐量：用一個長提示詞，`max_tokens` 設為 1。硬碟：用 fio 實測，不要抄規格書。
        """,
    )
    return


@app.cell
def _(say):
    own_tokens = mo.ui.number(1, 10_000_000, value=10_000, label=say("Prompt (tokens)", "提示詞（token）"))
    own_cold_s = mo.ui.number(0.001, 10_000, value=2.5, label=say("Cold TTFT (s)", "冷啟動的 TTFT（s）"))
    own_reuse_s = mo.ui.number(0.001, 10_000, value=1.1, label=say("TTFT when it comes back (s)", "載回時的 TTFT（s）"))
    own_kv_kib = mo.ui.number(0.1, 100_000, value=144, label=say("KV per token (KiB)", "每個 token 的 KV（KiB）"))
    own_drive_gb_per_s = mo.ui.number(0.01, 1000, value=6, label=say("Drive (GB/s)", "硬碟（GB/s）"))
    mo.vstack([own_tokens, own_cold_s, own_reuse_s, own_kv_kib, own_drive_gb_per_s])
    return own_cold_s, own_drive_gb_per_s, own_kv_kib, own_reuse_s, own_tokens


@app.cell
def _(discount, own_cold_s, own_drive_gb_per_s, own_kv_kib, own_reuse_s, own_tokens, say):
    own_speedup = own_cold_s.value / own_reuse_s.value
    own_ceiling = ceiling_speedup(own_tokens.value / own_cold_s.value, own_kv_kib.value * KIB, own_drive_gb_per_s.value)
    own_discount = discount(own_speedup, own_ceiling)
    _shorter = f"{own_discount / 2:.0%}"
    _advice = say(
        f"A drive twice as fast would shorten this reuse by {_shorter}.",
        f"換成快一倍的硬碟，這次重用會縮短 {_shorter}。",
    )
    if own_discount > 1:
        _advice = say(
            "This drive can't be that fast: the page cache answered, or one of the numbers is wrong.",
            "這顆硬碟不可能這麼快：回應的是分頁快取，不然就是有一個數字錯了。",
        )
    _result = say.md(
        f"Speedup **{format_times(own_speedup)}** of a ceiling of **{format_times(own_ceiling)}**: discount **{own_discount:.2f}**, the drive's share of this reuse. {_advice}",
        f"加速 **{format_times(own_speedup)}**，上限 **{format_times(own_ceiling)}**：折扣 **{own_discount:.2f}**，也就是硬碟在這次重用裡占的比例。{_advice}",
    )
    mo.callout(_result)
    return (own_discount,)


@app.cell(hide_code=True)
def _(say):
    say.md("The part of the ceiling that was reached:", "達到了上限的幾成：")
    return


@app.cell
def _():
    def discount(measured_speedup, ceiling):
        return measured_speedup / ceiling

    mo.show_code()
    return (discount,)


@app.cell(hide_code=True)
def _(say):
    _solution = say.md(
        """
        - KV per token: layers, KV heads and head_dim from config.json (lesson 2).
        - Prefill throughput: prompt tokens / TTFT of a long, new prompt with `max_tokens` 1.
        - Drive: `fio --rw=read --bs=1M --direct=1 --numjobs=4 --group_reporting --size=1G --name=kv --directory=DIR`: several
          reads at once and past the page cache, as LMCache reads.
        - Ceiling = bandwidth / (throughput x KV bytes per token); discount = measured speedup / ceiling.
        """,
        """
        - 每個 token 的 KV：從 config.json 讀出層數、KV 頭數與 head_dim（第 2 課）。
        - Prefill 吞吐量：一個全新長提示詞的 token 數，除以 `max_tokens` 設為 1 時的 TTFT。
        - 硬碟：`fio --rw=read --bs=1M --direct=1 --numjobs=4 --group_reporting --size=1G --name=kv --directory=DIR`：跟 LMCache 一樣，同時讀好幾份、不經過分頁快取。
        - 上限＝頻寬／（吞吐量 x 每個 token 的 KV 位元組數）；折扣＝實測加速／上限。
        """,
    )
    mo.accordion({say("How to find each number", "每個數字怎麼來"): _solution})
    return


@app.cell(hide_code=True)
def _(say):
    say.md(
        """
        ## Paste your own log

        Lines of a vLLM server with LMCache, as they are. Nothing you paste leaves this page.
        """,
        """
        ## 貼上你自己的日誌

        vLLM 伺服器搭配 LMCache 的日誌，原樣貼上即可。貼上的內容不會離開這個網頁。
        """,
    )
    return


@app.cell
def _(say):
    _lines = (
        "Reqid: cmpl-a, Total tokens 1330, Inference Engine computed tokens: 0, LMCache hit tokens: 0, need to load: 0",
        "[req_id=cmpl-a] Stored 1280 out of total 1330 tokens. size: 0.0195 GB, cost 3.0600 ms, throughput: 6.38 GB/s",
        "Reqid: cmpl-b, Total tokens 1330, Inference Engine computed tokens: 0, "
        "LMCache hit tokens: 1280, need to load: 1280",
        "[req_id=cmpl-b] Retrieved 1280 out of 1280 required tokens (from 1280 total tokens). "
        "size: 0.0195 gb, cost 12.4000 ms, throughput: 1.5751 GB/s;",
    )
    pasted_log = mo.ui.text_area("\n".join(_lines), label=say("Server log", "伺服器日誌"), rows=6, full_width=True)
    pasted_log
    return (pasted_log,)


@app.cell
def _(LANGUAGE, pasted_log, say):
    try:
        diagnosis = conclude(read_log_text(pasted_log.value))
    except KvtiersError as error:
        refuse(say, "This log can't be read. What is wrong:", "這份日誌讀不懂。問題是：", error)

    def said(conclusion):
        what, next_step = conclusion.what(LANGUAGE), conclusion.next_step(LANGUAGE)
        kind = "warn" if conclusion in diagnosis.problems else "info"
        return mo.callout(mo.Html(f"<p><strong>{escape(what)}</strong></p><p>{escape(next_step)}</p>"), kind=kind)

    def request_row(request):
        tokens = request.total, request.computed, request.hit, request.load, request.retrieved
        kind = words(f"log.kind.{request.kind}", LANGUAGE, {})
        return "| " + " | ".join((escape(request.id), *map("{:,}".format, tokens), kind)) + " |"

    def gaps():
        """What the verdict would like to rest on and the log does not show, and what was not read of it."""
        unseen = " · ".join(words(f"log.unseen.{name}", LANGUAGE, {}) for name in diagnosis.unseen)
        yield from [words("log.head.unseen", LANGUAGE, {}) + say(": ", "：") + unseen] if unseen else []
        log = diagnosis.log
        yield from [words("log.head.skipped", LANGUAGE, {"count": log.not_read})] if log.not_read else []
        yield from [words("log.head.cut_off", LANGUAGE, {})] if log.cut_off else []

    asked = [request_row(request) for request in list(diagnosis.log.finished)[-20:]]
    _head = say(
        "| request | total | C | H | L | retrieved | what it was |",
        "| 請求 | 總數 | C | H | L | 已載回 | 是什麼 |",
    )
    _table = mo.md("\n".join([_head, "|:---" + "|---:" * 5 + "|:---|", *asked]))
    requests = _table.style({"overflow-x": "auto", "white-space": "nowrap"})
    conclusions = diagnosis.problems or (diagnosis.conclusion,)
    mo.vstack([*map(said, conclusions), *map(mo.md, gaps()), *([requests] if asked else [])])
    return (diagnosis,)


@app.cell(hide_code=True)
def _(say):
    say.from_clone("06_prove_it")
    return


if __name__ == "__main__":
    app.run()
