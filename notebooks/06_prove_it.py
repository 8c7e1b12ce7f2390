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
            # Prove it

            A lab result: what was measured, what proves each sample, and how far it stays below the ceiling. After `make lab`
            this shows your run; without one, the committed reference run.
        """,
        "drop": "Drop another result file here",
        "no_file": "There is no lab result here yet. Drop one above, or run `make lab` in a clone.",
        "bad_file": "This file can't be shown. What is wrong:",
        "origin": "**{model}** on {cpu}, {cores} cores, GPU: {gpu} · vLLM {vllm}, LMCache {lmcache} · {date}",
        "no_gpu": "none",
        "invalid": "This run is marked invalid:",
        "lmcache": "LMCache",
        "control": "control",
        "cold": "cold",
        "gpu_hit": "GPU hit",
        "ssd_reuse": "back from SSD",
        "page_cache_reuse": "back from the page cache",
        "evicted_recompute": "evicted, computed again",
        "row": "{step}, {arm}",
        "ttft": "TTFT",
        "median": "median TTFT",
        "medians_alt": "Median TTFT of each step: {steps}.",
        "reuse_speedup": "Cold / back from SSD",
        "worth": "Evicted / back from SSD",
        "worth_detail": "control against LMCache: what the tier is worth",
        "price": "Price of storing",
        "price_detail": "on a miss, by LMCache's own account; cold against the control's cold: {against}",
        "unknown": "not run",
        "ceiling": "## Measured against the ceiling",
        "measured": "measured",
        "ceiling_bar": "ceiling",
        "speedup": "speedup (logarithmic)",
        "ceiling_alt": "Measured speedup {measured}, ceiling {ceiling}.",
        "discount": "Effective-bandwidth discount",
        "discount_detail": "measured / ceiling; drive {drive:.2f} GB/s, prefill {rate} tokens/s",
        "no_ceiling": "This result has no ceiling: the drive's bandwidth or the KV size was not measured.",
        "retrieve": "read and copy",
        "rest": "the rest, mostly the prefill of {tail} tail tokens",
        "parts": "one median reuse",
        "parts_alt": "Of {total}, reading and copying take {retrieve}.",
        "evidence": """
            ## What proves each sample

            Tokens. From the log: T in the prompt, C already held by the engine, H held by LMCache, L to load, and what was
            really retrieved. From the counters: hits of the engine's own cache, and of the connector.
        """,
        "table_head": "| Step | TTFT | T | C | H | L | Retrieved | Own hits | Connector hits |",
        "formula": "What the ceiling leaves unexplained:",
        "own": """
            ## Exercise 3: your own numbers

            Prefill throughput: one long prompt with `max_tokens` 1. Drive: measured by fio, never the data sheet.
        """,
        "own_tokens": "Prompt (tokens)",
        "own_cold": "Cold TTFT (s)",
        "own_reuse": "TTFT when it comes back (s)",
        "own_kv": "KV per token (KiB)",
        "own_drive": "Drive (GB/s)",
        "own_result": "Speedup **{measured:.1f}x** of a ceiling of **{ceiling:.1f}x**: discount **{discount:.2f}**. {advice}",
        "advice_low": "The drive is not the limit: a faster one is money wasted.",
        "advice_high": "The drive matters here: a faster one would show.",
        "solution_title": "How to find each number",
        "solution": """
            - KV per token: layers, KV heads and head_dim from config.json (lesson 02).
            - Prefill throughput: prompt tokens / TTFT of a long, new prompt with `max_tokens` 1.
            - Drive: `fio --rw=read --bs=1M --direct=1 --size=4G --name=kv --directory=DIR`.
            - Ceiling = bandwidth / (throughput x KV bytes per token); discount = measured speedup / ceiling.
        """,
        "language": "en",
        "read": """
            ## Paste your own log

            Lines of a vLLM server with LMCache, as they are. Nothing you paste leaves this page.
        """,
        "pasted_log": "Server log",
        "log_unread": "This log can't be read. What is wrong:",
        "log_head": "| request | total | C | H | L | retrieved | what it was |",
        "run": "Run it from a clone: `uvx marimo edit --sandbox notebooks/en/06_prove_it.py`",
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
