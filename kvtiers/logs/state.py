"""What a log has said so far, in bounded memory."""

import re
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from statistics import median

from kvtiers.logs.metrics import Metrics
from kvtiers.logs.requests import Kind, Request
from kvtiers.logs.starts import Start
from kvtiers.logs.warnings import Trouble

_CREDENTIALS = re.compile(r"(://[^/\s:@]*:)[^/\s@]+@")
_PENDING = 2048
_LENGTHS = 4096
_RATES = 1024
_STARTS = 64
_ERRORS = 20


@dataclass
class Log:
    """Everything; see ``diagnosis.conclude``."""

    keep: int
    starts: deque[Start] = field(default_factory=deque)
    start_count: int = 0
    kinds: Counter[Kind] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)
    samples: dict[str, Trouble] = field(default_factory=dict)
    finished: deque[Request] = field(init=False)
    prefill_rates: deque[float] = field(default_factory=lambda: deque(maxlen=_RATES))
    load_rates: deque[float] = field(default_factory=lambda: deque(maxlen=_RATES))
    tier_hits: deque[Request] = field(default_factory=lambda: deque(maxlen=_RATES))
    stored_gib: float = 0.0
    retrieved_gib: float = 0.0
    retrieve_s: float = 0.0
    metrics: Metrics = field(default_factory=Metrics)
    installed: dict[str, str] = field(default_factory=dict)
    mixed: set[str] = field(default_factory=set)  # servers whose lines stand among each other's
    other_systems: Counter[str] = field(default_factory=Counter)
    registered: set[str] = field(default_factory=set)  # processes of engines, at an LMCache server
    registered_most: int = 0  # … at once
    reaped: bool = False  # … one was forgotten, and none registered since
    worker_slots: int = 0
    server_lost_at_s: float | None = None  # an LMCache server, from its engine's side
    server_away_s: list[float] = field(default_factory=list)
    levels_of_a_stream: bool = False  # a collector writes its records' levels, whatever the line itself says
    not_read: int = 0
    cut_off: bool = False  # its gzip file ended early
    _pending: OrderedDict[str, Request] = field(default_factory=OrderedDict)
    _stored_lengths: OrderedDict[int, tuple[int, int]] = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        self.finished = deque(maxlen=self.keep)

    @property
    def start(self) -> Start:
        """The latest start; a log that begins in the middle has one without a name."""
        if not self.starts:
            self.starts.append(Start())
        return self.starts[-1]

    @property
    def prefill_tokens_per_s(self) -> float | None:
        """Of the last cold requests, the median; None where the log does not show it."""
        return median(self.prefill_rates) if self.prefill_rates and not self.mixed else None

    @property
    def load_tokens_per_s(self) -> float | None:
        """The same of the last loads."""
        return median(self.load_rates) if self.load_rates and not self.mixed else None

    @property
    def ceiling(self) -> float | None:
        """How much faster a token is loaded than computed: no reuse can gain more."""
        load, prefill = self.load_tokens_per_s, self.prefill_tokens_per_s
        return load / prefill if load and prefill else None

    def begin(self, container: str = "") -> None:
        """A server starts: whoever was waiting has been answered or never will be."""
        self.flush()
        self.start_count += 1
        self.starts.append(Start(container=container))
        if len(self.starts) > _STARTS:  # the oldest that served may still matter, a failed one is like the next
            failed = next((start for start in self.starts if start.failed), self.starts[0])
            self.starts.remove(failed)

    def add(self, **tokens: int) -> None:
        """Count tokens, of the log and of its latest start."""
        self.tokens.update(tokens)
        self.start.tokens.update(tokens)

    def request(self, request: Request) -> None:
        """A lookup. Seen again, the request was polled or preempted: the last lookup is what was done."""
        before = self._pending.pop(request.id, None)
        if before is None:
            self.start.stopping = False  # a server that stops takes no new request: this is another life
            self._compare_with_stored(request)
            self.tokens["asked"] += request.total
        else:
            request.stored_before = before.stored_before
        self._pending[request.id] = request
        if len(self._pending) > _PENDING:
            self._finish(self._pending.popitem(last=False)[1])

    def _compare_with_stored(self, request: Request) -> None:
        stored = self._stored_lengths.get(request.total)
        request.stored_before = stored is not None
        if stored is None or request.hit:
            return
        start = self.start
        start_number, asked_before = stored
        start.missed_lengths += 1
        start.missed_lengths_of_earlier += start_number < self.start_count
        still_held = self.tokens["asked"] - asked_before + request.total <= start.pool_tokens
        start.missed_in_both += start.prefix_caching and still_held and request.computed == 0

    @property
    def waiting(self) -> bool:
        """Are there requests that are not judged yet?"""
        return bool(self._pending)

    def pending(self, request_id: str) -> Request | None:
        """The request of that id, or for a line without one the latest."""
        if not request_id:
            return next(reversed(self._pending.values()), None)
        return self._pending.get(request_id)

    def stored(self, total: int) -> None:
        """A prompt of ``total`` tokens was stored."""
        self.start.stores += 1
        self._stored_lengths.pop(total, None)
        self._stored_lengths[total] = self.start_count, self.tokens["asked"] - total
        if len(self._stored_lengths) > _LENGTHS:
            self._stored_lengths.popitem(last=False)

    def warn(self, trouble: Trouble) -> None:
        """Count a warning; the first of its id is kept."""
        said, line, name = (_CREDENTIALS.sub(r"\1***@", text) for text in (trouble.said, trouble.line, trouble.id))
        trouble = trouble._replace(said=said, line=line, id=name)
        if trouble.severe and len(self.start.errors) < _ERRORS:
            self.start.errors.append(trouble)
        if name in self.warnings or len(self.warnings) < 200:
            self.warnings[name] += 1
            self.start.warnings[name] += 1
            self.samples.setdefault(name, trouble)

    def forget_levels_of_a_stream(self) -> None:
        """Errors that only a collector called so are none."""
        self.levels_of_a_stream = True
        for name in [name for name, trouble in self.samples.items() if trouble.by_field]:
            del self.samples[name], self.warnings[name]
            for start in self.starts:
                del start.warnings[name]
        for start in self.starts:
            start.errors = [error for error in start.errors if not error.by_field]

    def flush(self) -> None:
        """Judge the requests still open."""
        while self._pending:
            self._finish(self._pending.popitem(last=False)[1])

    def _finish(self, request: Request) -> None:
        start = self.start
        request.kind = request.judged(int(start.settings.get("chunk_size") or 256))
        self.kinds[request.kind] += 1
        start.kinds[request.kind] += 1
        if request.retrieved:
            start.since_hit = 0
        elif request.kind in (Kind.COLD, Kind.MISSED_STORED):
            start.since_hit += 1
        self.add(
            total=request.total,
            computed=request.computed,
            hit=request.hit,
            loaded=request.retrieved,
            stored=request.stored,
        )
        if request.kind is Kind.COLD and request.prefill_s > 0:
            self.prefill_rates.append(request.total / request.prefill_s)
        if request.retrieve_s > 0:
            self.load_rates.append(request.retrieve_tokens_per_s)
            if request.kind is Kind.TIER_HIT:
                self.tier_hits.append(request)
        self.finished.append(request)
