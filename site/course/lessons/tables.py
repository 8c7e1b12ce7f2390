"""The tables that kvtiers fills: sizes by four ways of counting, the lab's measured steps."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from markupsafe import escape

from kvtiers.deployment.alarms import alarms
from kvtiers.model.naive import compare
from kvtiers.model.public import public_models
from kvtiers.result.compare import WIRINGS, side_by_side, spread_text
from kvtiers.result.schema import Result, read_result
from kvtiers.result.survival import read_survival, table
from kvtiers.units import format_bytes, format_seconds
from kvtiers.words import text

COMPARED = ("Llama-3.1-8B", "Qwen3-4B", "GLM-4.5", "DeepSeek-V2-Lite", "gpt-oss-20b", "Gemma-3-27B", "Nemotron-H-8B")
COMPARED_TOKENS = 32_768
SHORT = 12
"""Letters of a cell that stays on one line: Chinese may break between any two."""


def tables(results: Path, words: Mapping[str, str], language: str) -> dict[str, Callable[[], str]]:
    """Every table by name, in one language (``words``: the site's strings, for headings)."""
    return {
        "kv-comparison": partial(_comparison, words),
        "lab-steps": lambda: _steps(_read(results, "cpu-tiny"), words, language),
        "lab-wirings": lambda: _wirings(results, language),
        "lab-survive": partial(_trials, results, "survive", language),
        "lab-stress": partial(_trials, results, "stress", language),
        "alarms": partial(_alarms, words, language),
    }


def _comparison(words: Mapping[str, str]) -> str:
    heads = [words[f"compare_{name}"] for name in ("model", "hidden_size", "kv_heads", "kept", "reserved")]
    models = public_models()
    rows = []
    for name in COMPARED:
        row = compare(models[name], COMPARED_TOKENS)
        sizes = (row.hidden_size_bytes, row.kv_heads_bytes, row.kept_bytes, row.reserved_bytes)
        rows.append([name, *map(format_bytes, sizes)])
    return table_of(heads, rows)


def _read(results: Path, name: str) -> Result:
    return read_result((results / f"{name}.json").read_text(encoding="utf-8"))


def _wirings(results: Path, language: str) -> str:
    heads, *rows = side_by_side([_read(results, name) for name in WIRINGS], language)
    return table_of(heads, rows)


def _trials(results: Path, name: str, language: str) -> str:
    heads, *rows = table(read_survival((results / f"{name}.json").read_text(encoding="utf-8")), language)
    return table_of(heads, rows)


def _alarms(words: Mapping[str, str], language: str) -> str:
    heads = [words[f"alarms_{name}"] for name in ("alarm", "what", "next")]
    return table_of(heads, [[alarm.id, alarm.what[language], alarm.next[language]] for alarm in alarms()])


def _steps(result: Result, words: Mapping[str, str], language: str) -> str:
    heads = [words[f"steps_{name}"] for name in ("step", "arm", "median", "range", "samples")]
    rows = []
    for row in result.summary.steps:
        median = format_seconds(row.ttft.median_s)
        step, arm = (text(key, language, {}) for key in (f"step.{row.step}", f"arm.{row.arm}"))
        rows.append([step, arm, median, spread_text(row.ttft), str(row.samples)])
    return table_of(heads, rows)


def table_of(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in HTML."""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in heads)
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(text: str) -> str:
    short = ' class="short"' if len(text) <= SHORT else ""
    return f"<td{short}>{escape(text)}</td>"
