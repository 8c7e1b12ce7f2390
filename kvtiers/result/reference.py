"""The reference runs' medians, for notebooks: where those run, no lab is at hand.

``python -m lab.report.documents`` writes ``reference.toml`` out of lab/results/reference, and README's figures too.
"""

from dataclasses import dataclass

from kvtiers.result.schema import Spread
from kvtiers.result.steps import Arm, Step
from kvtiers.tables import read_table


@dataclass(frozen=True)
class ReferenceRun:
    """A run by its one document of ``tokens``: when and on what, and the TTFT of each step."""

    created: str
    cpu: str
    vllm: str
    lmcache: str
    tokens: int
    ttft: dict[tuple[Arm, Step], Spread]

    def speedup(self, step: Step) -> float:
        """How many times sooner than cold the first token comes."""
        return self.ttft[Arm.LMCACHE, Step.COLD].median_s / self.ttft[Arm.LMCACHE, step].median_s


def reference_run(name: str = "cpu-tiny") -> ReferenceRun:
    """A committed run with LMCache's server: ``cpu-tiny``, or ``cpu-tiny-long`` with a longer document."""
    entry = read_table("result/reference.toml")[name]
    steps = {tuple(key.split(".")): Spread(*spread) for key, spread in entry["ttft_s"].items()}
    ttft = {(Arm(arm), Step(step)): spread for (arm, step), spread in steps.items()}
    return ReferenceRun(**{key: value for key, value in entry.items() if key != "ttft_s"}, ttft=ttft)
