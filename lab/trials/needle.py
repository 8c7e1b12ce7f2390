"""How good is ``lab check --needle``? Prompts whose chunk files were damaged or swapped, which it must find, and clean
ones, which it must not.

python -m lab.trials.needle [CLEAN PROMPTS]
"""

import json
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from kvtiers.result.records import from_json, to_json
from kvtiers.result.schema import Host, Versions
from lab.engines.install import engine_versions, set_up
from lab.engines.models import bring
from lab.engines.presets import PRESETS
from lab.judge.asker import Check
from lab.judge.needle import run_needle
from lab.knobs import Knobs
from lab.launches import LocalRun
from lab.machine import describe
from lab.paths import RESULTS
from lab.report import outcome
from lab.trials.stage import Stage, stage_for
from progress import add_bar, bars, say

RESULT = RESULTS / "reference" / "needle.json"
_SPOILT, _CLEAN, _A_RUN = 100, 1000, 20
_TOKENS = 600  # two chunks and some, however the words fall


@dataclass(frozen=True)
class Rounds:
    """``prompts`` that came back from the drive, of which so many were called wrong."""

    prompts: int
    called_wrong: int


@dataclass(frozen=True)
class Score:
    """Of the needle, on the lab's own engine. ``damaged``: half of one chunk of two was overwritten with zeros;
    ``swapped``: one of the two is another prompt's."""

    created: str
    versions: Versions
    machine: Host
    model: str
    damaged: Rounds
    swapped: Rounds
    clean: Rounds


Spoil = Callable[[list[list[Path]], random.Random], None]


def read_score(text: str) -> Score:
    """The result file's text, checked."""
    return from_json(Score, json.loads(text))


def main(clean: int = _CLEAN) -> None:
    """Measure, and write the result."""
    run = LocalRun(PRESETS["tiny"], Knobs(control=False))
    set_up("cpu")
    bring(run.preset)
    installed = engine_versions("cpu")
    with stage_for(run) as stage:
        stage.stand()
        damaged, swapped, untouched = (
            _rounds(stage, name, prompts, spoil)
            for name, prompts, spoil in (
                ("damaged", _SPOILT, _damage),
                ("swapped", _SPOILT, _swap),
                ("clean", clean, None),
            )
        )
    score = Score(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=outcome.versions(installed.vllm, installed.lmcache, installed.torch, installed.python),
        machine=describe(run.cache_root, run.card),
        model=run.preset.name,
        damaged=damaged,
        swapped=swapped,
        clean=untouched,
    )
    outcome.write(json.dumps(to_json(score), indent=1) + "\n", RESULT)
    say(f"damaged {damaged}, swapped {swapped}, clean {untouched}; written: {RESULT}")


def _rounds(stage: Stage, name: str, prompts: int, spoil: Spoil | None) -> Rounds:
    came_back = wrong = 0
    chance = random.Random(name)
    with bars() as progress:
        bar = add_bar(progress, name, prompts)
        while came_back < prompts:
            many = min(_A_RUN, prompts - came_back)
            known = stage.files()

            def meddle(many: int = many, known: set[Path] = known) -> None:
                if spoil:
                    written = sorted(stage.files() - known, key=lambda file: file.stat().st_mtime_ns)
                    each = _TOKENS // stage.wanted.knobs.chunk_tokens
                    spoil([written[each * number : each * (number + 1)] for number in range(many)], chance)

            assert stage.first.process is not None
            check = Check(
                stage.first.process.url, document_tokens=_TOKENS, ceiling_tokens=10**9, server=stage.server.url
            )
            verdict = run_needle(check, many, 60, empty_ram=True, before_asking_again=meddle)
            came_back, wrong = came_back + verdict.came_back, wrong + len(verdict.wrong)
            bar.reach(came_back)
    return Rounds(came_back, wrong)


def _damage(prompts: list[list[Path]], chance: random.Random) -> None:
    for files in prompts:
        victim = chance.choice(files)
        whole = bytearray(victim.read_bytes())
        whole[: len(whole) // 2] = bytes(len(whole) // 2)
        victim.write_bytes(whole)


def _swap(prompts: list[list[Path]], chance: random.Random) -> None:
    for first, second in zip(prompts[::2], prompts[1::2], strict=False):
        number = chance.randrange(len(first))
        one, two = first[number].read_bytes(), second[number].read_bytes()
        first[number].write_bytes(two)
        second[number].write_bytes(one)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
