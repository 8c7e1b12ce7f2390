"""Takes what a log's lines say, event by event, into a ``Log``. Unknown lines are passed over; no line raises."""

import io
import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from kvtiers.errors import KvtiersError
from kvtiers.logs.blocks import blocks_of
from kvtiers.logs.lines import Moved
from kvtiers.logs.scan import Event, events_of
from kvtiers.logs.state import Log
from kvtiers.logs.warnings import OF_THE_STREAM, WARNINGS, Trouble

# Events that say one thing of the latest start: fields of it, and sets to which they add.
_OF_A_START = ("ready", "stopping", "no_config_file", "settings", "disk_path", "pool_tokens", "architecture")
_ADDED_TO_A_START = ("backends", "none_hashes")
_SAID_AT_A_STOP = ("engine_dead", "python_died", "proc_died", "answered_500", "exited", "process_raised")
# What processes say on their way out, of themselves and of each other.
_OF_A_STOP = re.compile(
    r"output_handler failed|terminat|cancel|clos(?:e|ing)|shut|stopp|unregister|SIG(?:TERM|INT)",
    re.IGNORECASE,
)
# … but what became of KV then is no matter of course.
_OF_KV = re.compile(r"\bkv\b|chunk|\bkeys?\b|flush|written|stored?\b|\blost\b|\bl[12]\b", re.IGNORECASE)
_OF_A_SERVER = {name for name in WARNINGS if name.startswith("mp_")} - {
    *("mp_degraded", "mp_lookup_timeout", "mp_bypass", "mp_store_dropped")  # its engine says these
}
_ROLES = ("APIServer", "EngineCore")  # of each a server has one


def read_log_file(path: Path, keep: int = 1000) -> Log:
    """A file or a pipe; as ``read_log``."""
    try:
        with path.open("rb") as stream:
            return read_log(stream, str(path), keep)
    except OSError as error:
        raise KvtiersError(f"cannot read {path}: {error.strerror or error}") from None


def read_log_text(text: str, keep: int = 1000) -> Log:
    """A pasted log; as ``read_log``."""
    return read_log(io.BytesIO(text.encode("utf-8", "replace") or b"\n"), "the text", keep)


def read_log(stream: BinaryIO, name: str, keep: int = 1000) -> Log:
    """The whole log.

    Args:
        stream: bytes, gzip or not.
        name: what to call it in messages.
        keep: how many of the last requests to keep in detail.

    Raises:
        KvtiersError: empty, binary, or without a line of vLLM or LMCache.
    """
    reader = LogReader(keep)
    for block in blocks_of(stream, name, reader.log):
        reader.take(events_of(block))
    reader.log.flush()
    if not reader.events:
        raise KvtiersError(f"{name} holds no line of vLLM or LMCache that says anything about KV")
    return reader.log


class LogReader:
    """Takes events, in order, into ``log``."""

    def __init__(self, keep: int) -> None:
        self.log = log = Log(keep)
        self.events = 0
        self._latest: dict[str, str] = {}
        self._seen: dict[str, set[str]] = {}
        self._process = self._role = self._container = ""  # whose line it is, where it says so
        own = {name.removeprefix("_on_"): getattr(self, name) for name in dir(self) if name.startswith("_on_")}
        self._take = own | {
            **{name: partial(self._note, name) for name in _OF_A_START},
            **{name: partial(self._add, name) for name in _ADDED_TO_A_START},
            "lookup": log.request,
            "installed": log.installed.update,
            "metric": log.metrics.take,
            "transfers": log.metrics.take_logged,
            "mp_unregistered": log.registered.discard,
        }

    def take(self, events: Iterable[Event]) -> None:
        take = self._take
        for name, *values in events:
            if name == "process":
                self._container, self._role, pid = values
                self._process = f"{self._container} {self._role} {pid}".strip()
                continue
            self.events += name != "installed"  # packages alone are no server's log
            take[name](*values)
            if self._process:
                self._note_process(self._process, self._role)
                self._process = self._role = self._container = ""

    def _note(self, field: str, value: Any = True) -> None:
        setattr(self.log.start, field, value)

    def _add(self, field: str, value: str) -> None:
        getattr(self.log.start, field).add(value)

    def _note_process(self, process: str, role: str) -> None:
        """One that speaks again after another of its role: two servers write into one log."""
        if role in _ROLES:
            latest, seen = self._latest.get(role, process), self._seen.setdefault(role, set())
            if process != latest and process in seen:
                self.log.mixed.update((latest, process))
            seen.add(process)
            self._latest[role] = process

    def _note_containers(self) -> None:
        """Engines of several: what one stored the other need not find, and its failures are its own."""
        containers = {start.container for start in self.log.starts if start.known and start.container}
        if len(containers) > 1:
            self.log.mixed.update(containers)

    def _on_lookup_not_read(self) -> None:
        self.log.not_read += 1

    def _on_stored(self, at_s: float, moved: Moved) -> None:
        log = self.log
        log.stored_gib += moved.gib
        request = log.pending(moved.request_id)
        if request is None:
            return
        request.stored += moved.tokens
        if request.at_s >= 0 and not request.prefill_s:
            request.prefill_s = max(at_s - request.at_s, 0.0)
        log.stored(request.total)

    def _on_retrieved(self, moved: Moved) -> None:
        log = self.log
        log.retrieved_gib += moved.gib
        log.retrieve_s += moved.cost_s
        request = log.pending(moved.request_id)
        if request is not None:
            request.retrieved += moved.tokens
            request.required += moved.of
            request.retrieve_s += moved.cost_s

    def _on_mp_stored(self, tokens: int) -> None:
        """MP mode's server: tokens, no request."""
        self.log.add(mp_stored=tokens, mp_stores=1)
        self.log.start.stores_since_load += 1

    def _on_mp_loaded(self, tokens: int, seconds: float) -> None:
        self.log.add(mp_loaded=tokens, mp_loads=1)
        self.log.start.stores_since_load = 0
        if seconds > 0:
            self.log.load_rates.append(tokens / seconds)

    def _on_mp_prefetch(self, found: int, asked: int) -> None:
        self.log.add(mp_lookups=1, mp_keys_found=found, mp_keys_asked=asked)

    def _on_mp_registered(self, instance: str) -> None:
        log = self.log
        log.registered.add(instance)
        log.registered_most = max(log.registered_most, len(log.registered))
        log.reaped = False

    def _on_mp_workers(self, slots: int) -> None:
        """A server makes its pool as it starts."""
        self.log.worker_slots = slots
        self.log.registered.clear()

    def _on_mp_server(self) -> None:
        """An LMCache server starts; in its own log that is the start to judge."""
        log, start = self.log, self.log.start
        alone = not any(start.known for start in log.starts)
        if alone and (start.served or start.errors or not log.start_count):
            log.begin(self._container)
        log.start.server = True

    def _on_mp_healthy(self, at_s: float) -> None:
        log = self.log
        if log.server_lost_at_s is not None:
            known = min(at_s, log.server_lost_at_s) >= 0
            log.server_away_s.append((at_s - log.server_lost_at_s) % 86400 if known else -1.0)
            log.server_lost_at_s = None

    def _on_warning(self, trouble: Trouble, at_s: float) -> None:
        log, start = self.log, self.log.start
        if trouble.id == OF_THE_STREAM:
            log.forget_levels_of_a_stream()
        if trouble.id == OF_THE_STREAM or (log.levels_of_a_stream and trouble.by_field):
            return
        if start.stopping and _of_a_stop(trouble):
            return
        if trouble.id == "mp_degraded" and log.server_lost_at_s is None:
            log.server_lost_at_s = at_s
        log.reaped |= trouble.id.startswith("mp_reaped")
        start.server |= not start.known and trouble.id in _OF_A_SERVER
        log.warn(trouble)
        request = log.pending(trouble.request) if trouble.request else None
        if request:
            request.failed = True
        if trouble.requests:
            log.add(requests_with_load_failure=trouble.requests)

    def _on_traceback(self) -> None:
        if not self.log.start.stopping:
            self.log.start.warnings["traceback"] += 1

    def _on_banner(self, vllm: str) -> None:
        self.log.begin(self._container)
        self.log.start.vllm, self.log.start.banner = vllm, True
        self._note_containers()

    def _on_engine(self, vllm: str, device: str, prefix_caching: str) -> None:
        """A core of the engine; several belong to one start where it has data-parallel ranks."""
        start = self.log.start
        if start.banner and not start.engines and start.vllm != vllm:
            self.log.mixed.update((f"vLLM {start.vllm}", f"vLLM {vllm}"))
        goes_on = start.known and not (start.stopping or start.served or self.log.waiting) and start.vllm in ("", vllm)
        if self._role in start.engines or not goes_on:
            self.log.begin(self._container)
            start = self.log.start
        start.engines.add(self._role)
        self._note_containers()
        start.vllm, start.device, start.prefix_caching = vllm, device or start.device, prefix_caching != "False"

    def _on_versions(self, lmcache: str, vllm: str) -> None:
        start = self.log.start
        for name, known, said in (("vLLM", start.vllm, vllm), ("LMCache", start.lmcache, lmcache)):
            if known and said.partition("+")[0] != known.partition("+")[0]:  # one server has one version of each
                self.log.mixed.update((f"{name} {known}", f"{name} {said}"))
        start.lmcache, start.vllm = lmcache, start.vllm or vllm

    def _on_connector(self, name: str) -> None:
        if name not in self.log.start.connectors:
            self.log.start.connectors.append(name)

    def _on_rates(self, own: float, external: float | None) -> None:
        start = self.log.start
        start.own_hit_rate = own
        if external is not None:
            start.external_hit_rate = external

    def _on_other_system(self, system: str) -> None:
        self.log.other_systems[system] += 1


def _of_a_stop(trouble: Trouble) -> bool:
    """Is it said of any server that is stopped on purpose?"""
    if trouble.known:
        return trouble.id in _SAID_AT_A_STOP
    return bool(_OF_A_STOP.search(trouble.said)) and not _OF_KV.search(trouble.said)
