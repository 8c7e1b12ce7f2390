"""The page of version pairs: what the lab measured, a grid a mode, each cell with its proof; then what others
reported."""

from collections.abc import Mapping, Sequence

from markupsafe import escape

from course.lessons.sources import linked
from course.lessons.tables import table_of
from course.lessons.text import scrolling
from kvtiers.result.pairs import PairRun, PairVerdict, measured_pairs, newest_working
from kvtiers.result.steps import Step
from kvtiers.settings.known_pairs import known_pair
from kvtiers.settings.version_pairs import LMCacheMode, numbers, reported_pairs
from kvtiers.units import format_seconds
from kvtiers.words import labelled, text

_MARKS = {PairVerdict.WORKS: "✓", PairVerdict.UNPROVEN: "?", PairVerdict.NOT_TRIED: "·"}
_FAILED = "✗"


def version_pairs(words: Mapping[str, str], language: str) -> str:
    """Every pair on record; ``words``: the site's strings."""
    newest = newest_working()
    parts = [f"<p><strong>{escape(text('pairs.newest', language, dict(newest.facts)))}</strong></p>"] if newest else []
    parts.append(_filter(words, language))
    parts += [_grid(mode, [run for run in measured_pairs() if run.mode is mode], language) for mode in LMCacheMode]
    return "\n".join([*parts, _reported(words, language)])


def _filter(words: Mapping[str, str], language: str) -> str:
    names = {
        "all": words["pairs_all"],
        **{mode.value: text(f"pairs.mode.{mode}", language, {}) for mode in LMCacheMode},
    }
    choices = "".join(
        f'<label><input type="radio" name="mode" value="{value}"{" checked" * (value == "all")}> {escape(name)}</label>'
        for value, name in names.items()
    )
    return f'<fieldset class="modes"><legend>{escape(words["pairs_filter"])}</legend>{choices}</fieldset>'


def _grid(mode: LMCacheMode, runs: Sequence[PairRun], language: str) -> str:
    """vLLM down, LMCache across, newest first."""
    known = {(run.vllm, run.lmcache): run for run in runs}
    down, across = (
        sorted({getattr(run, name) for run in runs}, key=numbers, reverse=True) for name in ("vllm", "lmcache")
    )
    head = "".join(f'<th scope="col">LMCache {escape(version)}</th>' for version in across)
    rows = "".join(
        f'<tr><th scope="row">vLLM {escape(vllm)}</th>'
        + "".join(_cell(known.get((vllm, lmcache)), language) for lmcache in across)
        + "</tr>"
        for vllm in down
    )
    name = text(f"pairs.mode.{mode}", language, {})
    table = f'<table class="pairs"><thead><tr><td></td>{head}</tr></thead><tbody>{rows}</tbody></table>'
    return f'<section class="mode {mode}"><h2>{escape(name)}</h2><div class="wide" tabindex="0">{table}</div></section>'


def _cell(run: PairRun | None, language: str) -> str:
    if run is None:
        return "<td></td>"
    said = text(f"pairs.verdict.{run.verdict}", language, {})
    summary = f'<span aria-hidden="true">{_MARKS.get(run.verdict, _FAILED)}</span> {escape(said)}'
    lines = "".join(f"<li>{escape(line)}</li>" for line in _proof(run, language))
    again = text("pairs.repeat", language, dict(run.facts))
    proof = f"<ul>{lines}</ul><p>{escape(text('pairs.tried', language, {}))} <code>{escape(again)}</code></p>"
    details = f"<details><summary>{summary}</summary>{proof}</details>"
    return f'<td class="{run.verdict}">{details}{_on_gpus(run, language)}</td>'


def _on_gpus(run: PairRun, language: str) -> str:
    """What is reported to fail there must not look well here."""
    known = known_pair(run.mode, run.vllm, run.lmcache, "cuda")
    if known is None or known.works:
        return ""
    said = escape(text("pairs.fails_on_gpus", language, {}))
    return f'<small><span aria-hidden="true">{_FAILED}</span> {said}</small>'


def _proof(run: PairRun, language: str) -> list[str]:
    """What was measured, a line each."""
    facts = dict(run.facts)
    lines = [run.cause] if run.cause else []
    if run.ttft_s:
        lines.append(text("pairs.document", language, facts))
    for step in Step:
        if step in run.ttft_s:
            lines.append(labelled(text(f"step.{step}", language, {}), format_seconds(run.ttft_s[step]), language))
    for scenario, found in run.faults.items():
        reply = text(f"survive.reply.{found.reply}" if found.lives else "pairs.dies", language, {})
        values = {"scenario": text(f"survive.scenario.{scenario}", language, {}), "tokens": found.tokens or 0}
        lines.append(text("pairs.fault", language, {**values, "reply": reply}))
    return [*lines, text("pairs.on", language, facts)]


def _reported(words: Mapping[str, str], language: str) -> str:
    names = ("wiring", "platform", "outcome", "what", "source", "date")
    heads = ["vLLM", "LMCache", *(words[f"pairs_{name}"] for name in names)]
    rows = [
        [
            pair.vllm_span,
            pair.lmcache_span,
            text(f"pairs.mode.{pair.mode}", language, {}),
            f"{pair.platform} ({pair.engine})",
            words["pairs_works" if pair.works else "pairs_fails"],
            pair.what[language],
            linked(pair.source[language]),
            pair.date,
        ]
        for pair in reported_pairs()
    ]
    table = scrolling(table_of(heads, rows))
    head, note = escape(words["pairs_reported"]), escape(words["pairs_reported_note"])
    return f"<section><h2>{head}</h2><p>{note}</p>{table}</section>"
