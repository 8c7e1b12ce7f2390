"""The lab's result file: the only thing the lab and the course share. Versioned, and checked on reading."""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from kvtiers.errors import KvtiersError
from kvtiers.json_text import read_object
from kvtiers.ledger.tiers import Tier
from kvtiers.result.evidence import Evidence, contradictions
from kvtiers.result.records import from_json
from kvtiers.result.steps import Arm, Step
from kvtiers.settings.version_pairs import LMCacheMode

SCHEMA = "kvtiers.lab-result/3"
_OLD_SCHEMAS = ("kvtiers.lab-result/1", "kvtiers.lab-result/2")
REPORTED_SCHEMA = "kvtiers.reported/1"


class Mode(StrEnum):
    """Where the engine came from."""

    CPU = "cpu"
    CUDA = "cuda"
    URL = "url"


class Program(StrEnum):
    """What a process of the run is."""

    ENGINE = "engine"
    SERVER = "server"


@dataclass(frozen=True)
class Versions:
    """What ran, as the packages themselves say; empty text where a foreign server does not tell."""

    vllm: str
    lmcache: str
    torch: str
    python: str
    kvtiers: str


@dataclass(frozen=True)
class Host:
    """Where it ran. ``drive`` and ``file_system`` are those of the cache directory."""

    cpu: str
    cores: int
    ram_bytes: int
    gpu: str
    operating_system: str
    drive: str
    file_system: str


@dataclass(frozen=True)
class Model:
    """The model and the size of its KV, from its config.json; null where a foreign server does not show it."""

    name: str
    kv_dtype: str | None
    kv_bytes_per_token: float | None


@dataclass(frozen=True)
class Settings:
    """The experiment's knobs, in tokens. ``pool_tokens`` is what the KV pool really holds, ``documents`` are the names
    to ``document_tokens``; null is what a foreign server does not tell, and ``l1_gib`` where LMCache keeps nothing in
    RAM. ``side_by_side``: were both arms up at once, taking turns? null where there was one, or nothing tells."""

    pool_tokens: int
    block_tokens: int
    chunk_tokens: int | None
    documents: tuple[str, ...]
    document_tokens: tuple[int, ...]
    flood_tokens: int
    repeats: int
    max_tokens: int
    seed: int
    threads: int | None
    direct_io: bool | None
    l1_gib: float | None
    side_by_side: bool | None = None


@dataclass(frozen=True)
class ProcessRun:
    """An engine, or LMCache's server: the full command, the environment the lab set for it, seconds until it was
    healthy, its log."""

    arm: Arm
    program: Program
    command: tuple[str, ...]
    environment: dict[str, str]
    start_s: float
    log: str


@dataclass(frozen=True)
class Sample:
    """One timed request and its proof. ``tpot_s`` is the mean time per token after the first."""

    arm: Arm
    step: Step
    document: str
    repeat: int
    prompt_tokens: int
    ttft_s: float
    tpot_s: float
    evidence: Evidence


@dataclass(frozen=True)
class Parting:
    """Where a sample's answer left that of the first sample of its document and repeat: generated token ``position``,
    from 0. ``gap_nats``: by how much the likelier of the two tokens is likelier there, computed anew; null where it
    could not be asked, or one is not among the likeliest at all."""

    arm: Arm
    step: Step
    document: str
    repeat: int
    position: int
    gap_nats: float | None


@dataclass(frozen=True)
class Spread:
    """Median, smallest and largest of a set of seconds."""

    median_s: float
    min_s: float
    max_s: float


@dataclass(frozen=True)
class StepSummary:
    """One step of one arm over all samples of one document."""

    arm: Arm
    step: Step
    samples: int
    ttft: Spread
    tpot: Spread


@dataclass(frozen=True)
class ReuseParts:
    """Where the TTFT of a step's median reuse went: ``prefetch_s`` from the lookup until all KV lay in LMCache's RAM
    (MP mode), ``retrieve_s`` from there, or from the drive, into the engine, ``prefill_s`` the engine's own work on the
    ``tail_tokens`` that no full chunk covers, ``rest_s`` what none of them accounts for: queueing, transport."""

    step: Step
    ttft_s: float
    prefetch_s: float
    retrieve_s: float
    prefill_s: float
    rest_s: float
    tail_tokens: int

    @property
    def drive_share(self) -> float | None:
        """The part of the TTFT, 0 to 1, that a faster drive could shorten at most: LMCache's own time with the drive,
        its lookup (MP mode) or its copy (inside the engine) included. None where the drive was not read."""
        if self.step.tier is not Tier.SSD or self.step.page_cache:
            return None
        return (self.prefetch_s or self.retrieve_s) / self.ttft_s


@dataclass(frozen=True)
class Summary:
    """What the samples of one document say. A ratio is null where one of its steps was not run.

    ``cold_over_control_cold`` compares two processes, which differ by a few percent by themselves; ``store_s`` is what
    LMCache itself says it spent on copying out the KV of a cold request.
    """

    document: str
    steps: tuple[StepSummary, ...]
    cold_over_gpu_hit: float | None
    cold_over_cpu_hit: float | None
    cold_over_ssd_reuse: float | None
    cold_over_ssd_after_restart: float | None
    evicted_recompute_over_ssd_reuse: float | None
    cold_over_control_cold: float | None
    store_s: float | None
    prefill_tokens_per_s: float | None
    reuse_parts: tuple[ReuseParts, ...]

    def step(self, arm: Arm, step: Step) -> StepSummary | None:
        """The summary of one step of one arm, if it ran."""
        return next((row for row in self.steps if (row.arm, row.step) == (arm, step)), None)


@dataclass(frozen=True)
class Result:
    """One run of the experiment, with a summary of each document. ``lmcache_mode`` is null where a foreign server does
    not tell. ``valid`` is false when any sample's evidence contradicts its name, or the run broke off; ``problems``
    says why."""

    schema: str
    valid: bool
    problems: tuple[str, ...]
    created: str
    mode: Mode
    lmcache_mode: LMCacheMode | None
    versions: Versions
    machine: Host
    model: Model
    settings: Settings
    processes: tuple[ProcessRun, ...]
    samples: tuple[Sample, ...]
    summaries: tuple[Summary, ...]
    partings: tuple[Parting, ...] = ()

    @property
    def copies_queued(self) -> bool:
        """Does LMCache's log tell when a copy was queued, not when it was done? So its server's does where that copies
        to and from a GPU itself (LMCache 0.5.6, lmcache_driven_transfer.py). Of a foreign engine nobody tells
        who copies.
        """
        if self.mode is Mode.CPU or self.lmcache_mode is not LMCacheMode.MP:
            return False
        servers = [process.command for process in self.processes if process.program is Program.SERVER]
        return not any("--supported-transfer-mode" in command for command in servers)

    @property
    def summary(self) -> Summary:
        """Of the first document."""
        return self.summaries[0]


def read_result(text: str) -> Result:
    """A lab result from its JSON text.

    Raises:
        KvtiersError: naming the field that is wrong; also when a valid file's evidence contradicts its samples.
    """
    data = read_object(text, "the file")
    schema = data.get("schema")
    if schema == REPORTED_SCHEMA:
        raise KvtiersError("this file holds figures reported by others, not a lab result")
    if schema in _OLD_SCHEMAS:
        raise KvtiersError("this result is of an earlier lab, which summed up otherwise: run the experiment anew")
    if schema != SCHEMA:
        raise KvtiersError(f"schema must be {SCHEMA!r}, got {schema!r}: this is not a result of this lab version")
    result = from_json(Result, data)
    if not result.summaries:
        raise KvtiersError("summaries must hold one of each document")
    for index, sample in enumerate(result.samples):
        if sample.ttft_s == 0:
            raise KvtiersError(f"samples[{index}].ttft_s must be above 0")
        against = contradictions(sample.step, sample.prompt_tokens, sample.evidence)
        if result.valid and against:
            raise KvtiersError(f"samples[{index}] is called {sample.step} but {against[0]}")
    return result


def dump(record: Any) -> str:
    """The JSON text of a result file, one line a field, NaN refused."""
    return json.dumps(asdict(record), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
