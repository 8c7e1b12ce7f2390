"""Writes the reference runs' figures into README and docs, between ``<!-- figures: NAME -->`` and ``<!-- end -->``, and
into the tables that notebooks, page and commands read.

python -m lab.report.documents
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from kvtiers.result.compare import WIRINGS, side_by_side
from kvtiers.result.pairs import read_pairs
from kvtiers.result.schema import Result, ReuseParts, read_result
from kvtiers.result.steps import Arm, Step
from kvtiers.result.survival import enumeration, read_survival, table
from kvtiers.units import GIB, format_bytes, format_seconds
from kvtiers.words import text
from lab.engines.card import card_share
from lab.engines.presets import PRESETS
from lab.judge.needle_rates import RATES, read_needle_rates
from lab.knobs import Knobs
from lab.launches import LocalRun, pool_of
from lab.paths import REPOSITORY, RESULTS
from lab.trials.stress import STRESS
from lab.trials.survive import SURVIVE
from machine.gpu import CAPABILITIES, Card

DOCUMENTS = {
    "README.md": "en",
    "README.zh-TW.md": "zh-TW",
    "docs/lab.md": "en",
    "docs/lab.zh-TW.md": "zh-TW",
}
NOTEBOOK_TABLE = REPOSITORY / "kvtiers" / "result" / "reference.toml"
PAIRS_TABLE = REPOSITORY / "kvtiers" / "result" / "pairs.toml"
_NOTEBOOK_RUNS = ("cpu-tiny", "cpu-tiny-long")
TRIALS = {"survive": SURVIVE, "stress": STRESS}
CARD_SIZES_GIB = (8, 12, 16, 24, 80)
_FREE = 0.95
_BLOCK = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    """Write every document anew."""
    for name in DOCUMENTS:
        (REPOSITORY / name).write_text(documented(name), encoding="utf-8")
    NOTEBOOK_TABLE.write_text(notebook_table(), encoding="utf-8")
    PAIRS_TABLE.write_text(pairs_table(), encoding="utf-8")


def documented(name: str) -> str:
    """A document as it should be, its blocks filled from the reference runs."""
    runs = [_read(run) for run in WIRINGS]
    language = DOCUMENTS[name]
    blocks = {
        "headline": _headline(runs[0], language),
        "steps": _steps(runs, language),
        "parts": _parts(runs, language),
        "survive": _trials("survive", language),
        "stress": _trials("stress", language),
        "needle": read_needle_rates(RATES.read_text(encoding="utf-8")).told(language),
        "cards": _cards(language),
    }
    return filled(name, blocks)


def filled(name: str, blocks: dict[str, str]) -> str:
    """A document as it should be with each block's lines."""
    document = (REPOSITORY / name).read_text(encoding="utf-8")
    return _BLOCK.sub(lambda match: f"{match[1]}{blocks[match[2]]}\n{match[3]}", document)


def notebook_table() -> str:
    """kvtiers/result/reference.toml as it should be: seconds, median, smallest, largest."""
    lines = [
        "# Written by python -m lab.report.documents out of lab/results/reference. TTFT in seconds: median, min, max."
    ]
    for name in _NOTEBOOK_RUNS:
        run = _read(name)
        facts = {
            "created": run.created[:10],
            "cpu": run.machine.cpu,
            "vllm": run.versions.vllm,
            "lmcache": run.versions.lmcache,
            "tokens": run.settings.document_tokens[0],
        }
        lines += ["", f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in facts.items())]
        lines += ["", f"[{name}.ttft_s]"]
        for row in run.summary.steps:
            ttft = row.ttft
            lines.append(f'"{row.arm}.{row.step}" = [{ttft.median_s!r}, {ttft.min_s!r}, {ttft.max_s!r}]')
    return "\n".join(lines) + "\n"


def pairs_table() -> str:
    """kvtiers/result/pairs.toml as it should be."""
    lines = ["# Written by python -m lab.report.documents out of lab/results/reference/pairs.json, a run of lab pairs."]
    for run in read_pairs((RESULTS / "reference" / "pairs.json").read_text(encoding="utf-8")).runs:
        facts = asdict(run)
        times, faults = facts.pop("ttft_s"), facts.pop("faults")
        lines += ["", "[[run]]", *(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in facts.items())]
        lines.append(_inline("ttft_s", times))
        lines += ["[run.faults]", *(_inline(name, found) for name, found in faults.items())]
    return "\n".join(lines) + "\n"


def _inline(name: str, values: Mapping[str, object]) -> str:
    """A table on one line; TOML has no null, so what is None is left out."""
    told = ", ".join(f"{key} = {json.dumps(value)}" for key, value in values.items() if value is not None)
    return f"{name} = {{ {told} }}" if told else f"{name} = {{}}"


def _read(name: str) -> Result:
    return read_result((RESULTS / "reference" / f"{name}.json").read_text(encoding="utf-8"))


def _headline(run: Result, language: str) -> str:
    steps = {f"{row.arm}_{row.step}": format_seconds(row.ttft.median_s) for row in run.summary.steps if row.arm in Arm}
    return text("report.headline", language, {**steps, "setup": _setup(run, language)})


def _steps(runs: list[Result], language: str) -> str:
    return f"{_setup(runs[0], language)}\n\n{markdown(side_by_side(runs, language))}"


def _setup(run: Result, language: str) -> str:
    known = {**vars(run.machine), **vars(run.versions), **vars(run.settings), "date": run.created[:10]}
    return text("report.setup", language, known)


def _trials(name: str, language: str) -> str:
    run = read_survival((RESULTS / "reference" / f"{name}.json").read_text(encoding="utf-8"))
    setup = text("survive.setup", language, {**vars(run.machine), **vars(run.versions), "date": run.created[:10]})
    parts = [setup, markdown(table(run, language))]
    known = {*(outcome.scenario for outcome in run.outcomes), *run.not_tried}
    if newer := [scenario for scenario in TRIALS[name] if scenario not in known]:
        parts.append(text("survive.newer", language, {"names": enumeration(newer, language)}))
    return "\n\n".join(parts)


def markdown(rows: Sequence[Sequence[str]], rules: str = "---") -> str:
    """A table in Markdown; the first row holds the heads, ``rules`` aligns all columns but the first."""
    head, *others = rows
    lines = [head, ["---", *[rules] * (len(head) - 1)], *others]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _parts(runs: list[Result], language: str) -> str:
    return "\n".join(
        "- " + parts_text(parts, language, run.settings.document_tokens[0])
        for run in runs
        for parts in run.summary.reuse_parts
        if parts.step in (Step.CPU_HIT, Step.SSD_REUSE)
    )


def _cards(language: str) -> str:
    """What fits which card, by arithmetic, with 95 % of it free: nothing of it was run."""
    names = [text(f"report.card.{name}", language, {}) for name in ("preset", "weights", "kv", "takes")]
    lines = [[*names, *(text("report.card.size", language, {"gib": size}) for size in CARD_SIZES_GIB)]]
    for preset in PRESETS.values():
        if preset.engine == "cuda":
            pool = pool_of(LocalRun(preset, Knobs()))
            shares = [card_share(_card(size), pool, preset.weight_bytes, with_server=True) for size in CARD_SIZES_GIB]
            sizes = (preset.weight_bytes, pool.kv_bytes_per_token, shares[0].engine_bytes + shares[0].server_bytes)
            fits = [text(f"report.card.engines_{share.engines}", language, {}) for share in shares]
            lines.append([f"`{preset.name}`", *map(format_bytes, sizes), *fits])
    return markdown(lines)


def _card(gib: int) -> Card:
    return Card(0, "", f"{gib} GiB", "", CAPABILITIES[-1], gib * GIB, int(_FREE * gib * GIB))


def parts_text(parts: ReuseParts, language: str, tokens: int, *, queued: bool = False) -> str:
    """Where the time of a reuse went, in a sentence. ``queued``: as far as it is known of a copy only when it began."""
    names = ("ttft_s", "prefetch_s", "retrieve_s", "prefill_s", "rest_s")
    values: dict[str, object] = {name.removesuffix("_s"): format_seconds(getattr(parts, name)) for name in names}
    values |= {"step": text(f"step.{parts.step}", language, {}), "tail": parts.tail_tokens, "tokens": tokens}
    key = "queued" if queued else "mp" if parts.prefetch_s else "in_process"
    return text(f"report.parts_{key}", language, values)


if __name__ == "__main__":
    main()
