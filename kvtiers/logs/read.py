"""Takes what a log's lines say, event by event, into a ``Log``. Unknown lines are passed over; no line raises."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from kvtiers.errors import KvtiersError
from kvtiers.logs.blocks import LogBlocks
from kvtiers.logs.scan import Event, Scanner, events_of_lines
from kvtiers.logs.state import Log, Request

# Events that say one thing of the latest start, and the field it goes to.
_OF_A_START = {
    "ready": "ready",
    "stopping": "stopping",
    "connector": "connector",
    "settings": "settings",
    "disk": "disk_path",
    "pool": "pool_tokens",
}


def read_log_file(path: Path, keep: int = 1000) -> tuple[Log, bool]:
    """A file or a pipe; as ``read_log``."""
    try:
        with path.open("rb") as stream:
            return read_log(stream, str(path), keep)
    except OSError as error:
        raise KvtiersError(f"cannot read {path}: {error.strerror or error}") from None


def read_log(stream: BinaryIO, name: str, keep: int = 1000) -> tuple[Log, bool]:
    """The whole log.

    Args:
        stream: bytes, gzip or not.
        name: what to call it in messages.
        keep: how many of the last requests to keep in detail.

    Returns:
        the log, and whether its gzip file was cut off.

    Raises:
        KvtiersError: empty, binary, or without a line of vLLM or LMCache.
    """
    reader, scanner = LogReader(keep), Scanner()
    blocks = LogBlocks(stream, name)
    for number, block in enumerate(blocks):
        # The head is read whole: a short paste may hold messages without their prefixes.
        reader.take(scanner.events(block) if number else events_of_lines(block.decode("utf-8", "replace")))
    return reader.finish(name), blocks.cut_off


def read_log_text(text: str, keep: int = 1000) -> Log:
    """A pasted log; as ``read_log``."""
    reader = LogReader(keep)
    reader.take(events_of_lines(text))
    return reader.finish("the text")


class LogReader:
    """Takes events, in order, into ``log``."""

    def __init__(self, keep: int) -> None:
        self.log = Log(keep)
        self._events = 0
        own = {name.removeprefix("_on_"): getattr(self, name) for name in dir(self) if name.startswith("_on_")}
        self._take = own | {name: partial(self._note, field) for name, field in _OF_A_START.items()}

    def take(self, events: Iterable[Event]) -> None:
        take = self._take
        for name, *values in events:
            self._events += 1
            take[name](*values)

    def finish(self, name: str) -> Log:
        """The log, every request judged.

        Raises:
            KvtiersError: when nothing in it was said by vLLM or LMCache.
        """
        self.log.flush()
        if not self._events:
            raise KvtiersError(f"{name} holds no line of vLLM or LMCache that says anything about KV")
        return self.log

    def _note(self, field: str, value: Any = True) -> None:
        setattr(self.log.start, field, value)

    def _on_lookup(self, *values: Any) -> None:
        self.log.request(Request(*values))

    def _on_other(self) -> None:
        """A line of LMCache that changes nothing."""

    def _on_stored(self, at_s: float, request_id: str, tokens: int, gib: float) -> None:
        log = self.log
        log.stored_gib += gib
        request = log.pending(request_id)
        if request is None:
            return
        request.stored += tokens
        if request.at_s >= 0 and not request.prefill_s:
            request.prefill_s = max(at_s - request.at_s, 0.0)
        log.stored(request.total)

    def _on_retrieved(self, request_id: str, tokens: int, required: int, gib: float, cost_s: float) -> None:
        log = self.log
        log.retrieved_gib += gib
        log.retrieve_s += cost_s
        request = log.pending(request_id)
        if request is not None:
            request.retrieved += tokens
            request.required += required
            request.retrieve_s += cost_s

    def _on_mp_stored(self, tokens: int) -> None:
        """MP mode's server: tokens, no request."""
        self.log.tokens["mp_stored"] += tokens

    def _on_mp_loaded(self, tokens: int, seconds: float) -> None:
        self.log.tokens["mp_loaded"] += tokens
        if seconds > 0:
            self.log.load_rates.append(tokens / seconds)

    def _on_mp_prefetch(self, found: int, asked: int) -> None:
        self.log.tokens.update(mp_lookups=1, mp_keys_found=found, mp_keys_asked=asked)

    def _on_warning(self, name: str, line: str, request_id: str, requests: int) -> None:
        if name == "engine_dead" and self.log.start.stopping:
            return  # an ordinary stop: the API server outlived the engine by a moment
        self.log.warn(name, line)
        request = self.log.pending(request_id) if request_id else None
        if request:
            request.failed = True
        if requests:
            self.log.tokens["requests_with_load_failure"] += requests

    def _on_engine(self, vllm: str, device: str) -> None:
        self.log.begin(vllm, device)

    def _on_versions(self, lmcache: str, vllm: str) -> None:
        start = self.log.start
        start.lmcache, start.vllm = lmcache, start.vllm or vllm

    def _on_backend(self, name: str) -> None:
        self.log.start.backends.add(name)

    def _on_none_hash(self, hash_: str) -> None:
        self.log.start.none_hashes.add(hash_)

    def _on_rates(self, own: float, external: float | None) -> None:
        self.log.own_hit_rate = own
        if external is not None:
            self.log.external_hit_rate = external
