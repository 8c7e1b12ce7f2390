"""How many damaged chunks does the needle call, and how many whole ones? On the real engine beside the real server.

Each prompt has one chunk damaged, or none, while it lies on the drive and nowhere else; then all are asked again.

usage: python -m bench.needle [--damaged 100] [--whole 1000] [--write]
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from kvtiers.result.schema import dump
from lab.engines.install import engine_versions
from lab.engines.launch import Launch
from lab.engines.presets import PRESETS
from lab.errors import LabError
from lab.judge.asker import Check
from lab.judge.needle import run_needle
from lab.judge.needle_rates import RATES, SCHEMA, NeedleRates, Rate, Treatment
from lab.knobs import Knobs
from lab.launches import LocalRun
from lab.machine import describe
from lab.report import outcome
from lab.trials.run import stage_for
from lab.trials.stage import Stage
from machine import MachineError
from progress import add_bar, bars

PROMPT_TOKENS = 640  # two whole chunks of 256, whatever the words of a prompt come to
CHUNKS = 2
BATCH = 20
CEILING_TOKENS, MINUTES = 1_000_000, 60.0  # none that a batch could reach


def main() -> int:
    """Print the rates; 1 where a damaged chunk was not called, or a whole one was."""
    parser = argparse.ArgumentParser(prog="python -m bench.needle", description=__doc__)
    parser.add_argument("--damaged", type=int, default=100, help="prompts with a damaged chunk, at least")
    parser.add_argument("--whole", type=int, default=1000, help="prompts without one, at least")
    parser.add_argument("--write", action="store_true", help="as the committed result file")
    options = parser.parse_args()
    half = -(-options.damaged // 2)
    wanted = {Treatment.HALF_ZEROED: half, Treatment.SWAPPED: half, Treatment.WHOLE: options.whole}
    try:
        measured = measure({treatment: -(-prompts // BATCH) for treatment, prompts in wanted.items()})
    except (LabError, MachineError) as error:
        sys.exit(str(error))
    print(measured.told("en"))
    if options.write:
        outcome.write(dump(measured), RATES)
    return int(not all(is_right(rate) for rate in measured.rates))


def is_right(rate: Rate) -> bool:
    """All of the damaged were called, and none of the whole."""
    return rate.came_back == rate.prompts and rate.called == rate.prompts * (rate.treatment is not Treatment.WHOLE)


def measure(batches: dict[Treatment, int]) -> NeedleRates:
    """So many batches of each."""
    run, began = LocalRun(PRESETS["tiny"], Knobs(control=False)), time.monotonic()
    with stage_for(run) as stage, bars() as progress:
        stage.start_server(None, unlocked_soon)
        stage.first.start()
        bar = add_bar(progress, "batches", sum(batches.values()))
        rates = []
        for treatment, many in batches.items():
            bar.note(treatment)
            counted = []
            for _ in range(many):
                counted.append(batch(stage, treatment))
                bar.advance()
            rates.append(Rate(treatment, *(sum(each) for each in zip(*counted, strict=True))))
        minutes = (time.monotonic() - began) / 60
    return NeedleRates(
        schema=SCHEMA,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=engine_versions(run.preset.engine),
        machine=describe(run.cache_root, run.card),
        model=run.preset.name,
        prompt_tokens=PROMPT_TOKENS,
        minutes=round(minutes, 1),
        rates=tuple(rates),
    )


def unlocked_soon(server: Launch) -> Launch:
    """What a look at logprobs left locked in RAM (lab.judge.needle says why) would stay there for five minutes."""
    return replace(server, command=(*server.command, "--l1-read-ttl-seconds", "10"))


def batch(stage: Stage, treatment: Treatment) -> tuple[int, int, int, int]:
    """Prompts, how many came back, were called wrong, remained untold."""
    known = stage.files()
    assert stage.first.process is not None
    wanted = Check(
        stage.first.process.url,
        document_tokens=PROMPT_TOKENS,
        ceiling_tokens=CEILING_TOKENS,
        server=stage.server.url,
    )
    found = run_needle(
        wanted, BATCH, MINUTES, empty_ram=True, before_asking_again=lambda: damage(stage.files() - known, treatment)
    )
    stage.forget()
    return found.prompts, found.came_back, len(found.wrong), len(found.untold)


def damage(files: set[Path], treatment: Treatment) -> None:
    """Of each prompt one chunk. The prompts were stored first, one after the other, then what pushed them out."""
    in_time = sorted(files, key=lambda path: path.stat().st_mtime_ns)
    prompts = [in_time[at : at + CHUNKS] for at in range(0, BATCH * CHUNKS, CHUNKS)]
    victims = [chunks[number % CHUNKS] for number, chunks in enumerate(prompts)]
    _TREATMENTS[treatment](victims)


def _zero_half(victims: list[Path]) -> None:
    for path in victims:
        content = path.read_bytes()
        path.write_bytes(bytes(len(content) // 2) + content[len(content) // 2 :])


def _swap(victims: list[Path]) -> None:
    """Each gets what the second next had: of the same place, of another prompt."""
    contents = [path.read_bytes() for path in victims]
    for path, content in zip(victims, contents[CHUNKS:] + contents[:CHUNKS], strict=True):
        path.write_bytes(content)


_TREATMENTS: dict[Treatment, Callable[[list[Path]], None]] = {
    Treatment.WHOLE: lambda victims: None,
    Treatment.HALF_ZEROED: _zero_half,
    Treatment.SWAPPED: _swap,
}


if __name__ == "__main__":
    sys.exit(main())
