"""The ledger of claims: what a lesson may state as a number, and why it is true.

`lessons/claims.yaml` holds one entry a claim. Its value is written there, or computed by a function of kvtiers, or
taken out of a committed result file, so that it can't go stale; a measured value that is written there names the test
that measures it. A page refers to it as ``{claim}`id` ``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

from course.errors import CourseError
from course.lessons.data import load_yaml
from kvtiers.errors import KvtiersError
from kvtiers.result.schema import Result, read_result
from kvtiers.result.steps import Arm, Step
from kvtiers.units import format_bytes, format_count, format_seconds, format_times

SHOW: dict[str, Callable[[float], str]] = {
    "bytes": format_bytes,
    "count": format_count,
    "seconds": format_seconds,
    "integer": lambda value: f"{value:,.0f}",
    "times": format_times,
    "percent": lambda value: f"{value:.0%}",
    "text": str,
}


@dataclass(frozen=True)
class Claim:
    """One checkable statement. ``value`` reads the same in both languages; ``statement`` and ``source`` are by
    language."""

    id: str
    value: str
    kind: str
    date: str
    statement: Mapping[str, str]
    source: Mapping[str, str]
    file: str
    """Where `source` can be checked: a path in vLLM's or LMCache's release, or a result file; empty where neither."""


def load_claims(path: Path, results: Path) -> dict[str, Claim]:
    """The ledger, with every value worked out; ``results`` is the folder of the committed result files.

    Raises:
        CourseError: naming the claim that is malformed or can't be worked out.
    """
    read = cache(lambda name: read_result((results / f"{name}.json").read_text(encoding="utf-8")))
    return {name: _claim(name, entry, read) for name, entry in load_yaml(path, "claims").items()}


def _claim(name: str, entry: Mapping[str, Any], read: Callable[[str], Result]) -> Claim:
    source, date, file = entry.get("source", ""), entry.get("date", ""), entry.get("check", {}).get("file", "")
    try:
        if "measure" in entry:
            run = entry["measure"].get("result", "cpu-tiny")
            result, file = read(run), f"lab/results/reference/{run}.json"
            value = SHOW[entry["show"]](_measured(entry["measure"], result))
            source, date = _setup(result), result.created[:10]
        elif "compute" in entry:
            value = SHOW[entry["show"]](_computed(entry["compute"]))
            source = entry["compute"]["call"]
        else:
            value = entry["value"]
    except (KvtiersError, OSError, AttributeError, ImportError, LookupError, TypeError, ValueError) as error:
        raise CourseError(f"claim {name} can't be worked out: {error}") from error
    if isinstance(source, str):
        source = {"en": source, "zh-TW": source}
    if "test" in entry:
        source = {language: f"{words}; {entry['test']}" for language, words in source.items()}
    return Claim(name, value, entry["kind"], date, {"en": entry["en"], "zh-TW": entry["zh-TW"]}, source, file)


def _measured(measure: Mapping[str, str], result: Result) -> Any:
    """A field of the result, or of one step's summary; a number in the path picks from a list."""
    value: Any = result
    if "step" in measure:
        arm, _, step = measure["step"].partition(".")
        value = result.summary.step(Arm(arm), Step(step))
    for part in measure["field"].split("."):
        value = value[int(part)] if part.isdigit() else getattr(value, part)
    return value


def _computed(compute: Mapping[str, Any]) -> Any:
    """Call a function of kvtiers: an argument may be such a call itself. ``field`` or ``item`` then picks from what it
    returns, ``times`` multiplies it."""
    module, _, function = compute["call"].rpartition(".")
    arguments = {
        name: _computed(value) if isinstance(value, dict) and "call" in value else value
        for name, value in compute.get("with", {}).items()
    }
    value = getattr(import_module(module), function)(**arguments)
    if "field" in compute:
        value = attrgetter(compute["field"])(value)
    if "item" in compute:
        value = value[compute["item"]]
    return value * compute["times"] if "times" in compute else value


def _setup(result: Result) -> dict[str, str]:
    versions, machine = result.versions, result.machine
    vllm, lmcache, cpu, cores = versions.vllm, versions.lmcache, machine.cpu, machine.cores
    return {
        "en": f"vLLM {vllm} ({result.mode}), LMCache {lmcache}, {cpu}, {cores} cores",
        "zh-TW": f"vLLM {vllm}（{result.mode}）、LMCache {lmcache}、{cpu}，{cores} 核心",
    }
