"""What a log has said so far, in bounded memory."""

import re
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

_CREDENTIALS = re.compile(r"(://[^/\s:@]*:)[^/\s@]+@")
_PENDING = 2048
_LENGTHS = 4096
_RATES = 1024


class Kind(StrEnum):
    """What a request was."""

    COLD = "cold"
    ENGINE_HIT = "engine_hit"
    TIER_HIT = "tier_hit"
    PARTIAL = "partial"  # some from the engine's own cache, more from a tier
    UNPROVEN = "unproven"  # a load was planned, the log does not show it
    MISSED_STORED = "missed_stored"  # the engine had computed and LMCache stored it before; LMCache found nothing
    TOO_SHORT = "too_short"
    SKIPPED = "skipped"
    FAILED_LOAD = "failed_load"


@dataclass(slots=True)
class Request:
    """One request, in tokens and seconds; ``at_s``: time of its lookup within the day, -1 where not said."""

    id: str
    total: int
    computed: int
    hit: int
    load: int
    skipped: bool = False
    at_s: float = -1.0
    stored: int = 0
    retrieved: int = 0
    required: int = 0
    retrieve_s: float = 0.0
    prefill_s: float = 0.0
    failed: bool = False
    stored_before: bool = False
    kind: Kind = Kind.COLD

    @property
    def retrieve_tokens_per_s(self) -> float:
        """Speed of the load; 0 where there was none."""
        return self.retrieved / self.retrieve_s if self.retrieve_s else 0.0


@dataclass
class Start:
    """One start of a server, and what has happened since."""

    vllm: str = ""
    device: str = ""  # cuda, cpu, …; empty where the log does not say
    lmcache: str = ""
    connector: str = ""
    ready: bool = False
    stopping: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    backends: set[str] = field(default_factory=set)
    disk_path: str = ""
    none_hashes: set[str] = field(default_factory=set)
    pool_tokens: int = 0
    block_tokens: int = 0
    requests: int = 0
    tier_hits: int = 0
    stores: int = 0
    missed_lengths: int = 0  # lookups that missed although a prompt of the same length was stored before
    missed_lengths_of_earlier: int = 0  # … stored before this start


@dataclass
class Log:
    """Everything; see ``diagnosis.conclude``."""

    keep: int
    starts: deque[Start] = field(default_factory=lambda: deque(maxlen=64))
    start_count: int = 0
    kinds: Counter[Kind] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)
    samples: dict[str, str] = field(default_factory=dict)
    finished: deque[Request] = field(init=False)
    prefill_rates: deque[float] = field(default_factory=lambda: deque(maxlen=_RATES))
    load_rates: deque[float] = field(default_factory=lambda: deque(maxlen=_RATES))
    tier_hits: deque[Request] = field(default_factory=lambda: deque(maxlen=_RATES))
    stored_gib: float = 0.0
    retrieved_gib: float = 0.0
    retrieve_s: float = 0.0
    own_hit_rate: float | None = None
    external_hit_rate: float | None = None
    _pending: OrderedDict[str, Request] = field(default_factory=OrderedDict)
    _stored_lengths: OrderedDict[int, int] = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        self.finished = deque(maxlen=self.keep)

    @property
    def start(self) -> Start:
        """The latest start; a log that begins in the middle has one without a name."""
        if not self.starts:
            self.starts.append(Start())
        return self.starts[-1]

    def begin(self, vllm: str, device: str) -> None:
        """A server starts: whoever was waiting has been answered or never will be."""
        self.flush()
        self.start_count += 1
        self.starts.append(Start(vllm=vllm, device=device))

    def request(self, request: Request) -> None:
        """A lookup. Seen again, the request was polled or preempted: the last lookup is what was done."""
        before = self._pending.pop(request.id, None)
        if before is None:
            stored_at = self._stored_lengths.get(request.total)
            request.stored_before = stored_at is not None
            if stored_at is not None and request.hit == 0:
                self.start.missed_lengths += 1
                self.start.missed_lengths_of_earlier += stored_at < self.start_count
        else:
            request.stored_before = before.stored_before
        self._pending[request.id] = request
        if len(self._pending) > _PENDING:
            self._finish(self._pending.popitem(last=False)[1])

    def pending(self, request_id: str) -> Request | None:
        """The request of that id, or for a line without one the latest."""
        if not request_id:
            return next(reversed(self._pending.values()), None)
        return self._pending.get(request_id)

    def stored(self, total: int) -> None:
        """A prompt of ``total`` tokens was stored."""
        self.start.stores += 1
        self._stored_lengths.pop(total, None)
        self._stored_lengths[total] = self.start_count
        if len(self._stored_lengths) > _LENGTHS:
            self._stored_lengths.popitem(last=False)

    def warn(self, name: str, line: str) -> None:
        """Count a warning; the first line of its name is kept."""
        name = _CREDENTIALS.sub(r"\1***@", name)
        if name in self.warnings or len(self.warnings) < 200:
            self.warnings[name] += 1
            if name not in self.samples:
                self.samples[name] = _CREDENTIALS.sub(r"\1***@", line)

    def flush(self) -> None:
        """Judge the requests still open."""
        while self._pending:
            self._finish(self._pending.popitem(last=False)[1])

    def _finish(self, request: Request) -> None:
        request.kind = self._kind(request)
        start = self.start
        start.requests += 1
        start.tier_hits += request.retrieved > 0
        self.kinds[request.kind] += 1
        tokens = self.tokens
        tokens["total"] += request.total
        tokens["computed"] += request.computed
        tokens["hit"] += request.hit
        tokens["loaded"] += request.retrieved
        tokens["stored"] += request.stored
        if request.kind is Kind.COLD and request.prefill_s > 0:
            self.prefill_rates.append(request.total / request.prefill_s)
        if request.retrieve_s > 0:
            self.load_rates.append(request.retrieve_tokens_per_s)
            if request.kind is Kind.TIER_HIT:
                self.tier_hits.append(request)
        self.finished.append(request)

    def _kind(self, request: Request) -> Kind:
        chunk = int(self.start.settings.get("chunk_size") or 256)
        if request.failed or (request.required and request.retrieved < request.required):
            kind = Kind.FAILED_LOAD
        elif request.skipped:
            kind = Kind.SKIPPED
        elif request.load > 0 and not request.retrieved:
            kind = Kind.UNPROVEN
        elif request.load > 0:
            kind = Kind.PARTIAL if request.computed else Kind.TIER_HIT
        elif request.computed >= chunk and request.hit == 0 and request.stored_before:
            kind = Kind.MISSED_STORED
        elif request.computed > 0:
            kind = Kind.ENGINE_HIT
        else:
            kind = Kind.TOO_SHORT if 0 < request.total < chunk else Kind.COLD
        return kind
