"""LMCache's server beside the engine: waits for its writes, empties its RAM, reads its counters and its log."""

import time
from collections.abc import Callable
from typing import Any

import httpx

from kvtiers.result.evidence import ServerCounters, ServerLog
from kvtiers.result.steps import Step
from lab.errors import LabError
from lab.judge.server_log import CacheServerLog
from lab.measure.client import RequestError
from lab.measure.counters import SETTLE_TIMEOUT_S, metric_totals

WRITE_TIMEOUT_S = 120.0
_POLL_S = 0.03
LOOKUPS = "lmcache_mp_lookups_requests_total"
L1_HITS = "lmcache_mp_lookup_hit_l1_tokens_total"
L2_HITS = "lmcache_mp_lookup_hit_l2_tokens_total"
_WRITTEN = "lmcache_mp_l1_write_chunks_total"
_NAMES = (
    "lmcache_mp_lookup_requested_tokens_total",
    L1_HITS,
    L2_HITS,
)


class CacheServer:
    """One server, by its HTTP port. ``log``: None where it may not be read."""

    def __init__(self, url: str, log: CacheServerLog | None) -> None:
        self.url = url
        self._log = log
        self._http = httpx.Client(base_url=url, timeout=10.0)
        self._chunk_tokens = int(self.status()["chunk_size"])
        self._totals = self.totals()

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def status(self) -> dict[str, Any]:
        """What it says of itself."""
        return dict(self._answer("GET", "/status").json())

    def totals(self) -> dict[str, float]:
        """Its counters and gauges."""
        return metric_totals(self._answer("GET", "/metrics").text)

    def witness(
        self, request_id: str, step: Step | None, prompt_tokens: int
    ) -> tuple[ServerLog | None, ServerCounters]:
        """What log and counters say of the one request since the last call; without a step it was new, like a cold one.

        Raises:
            LabError: when they say nothing in time.
        """
        chunks = prompt_tokens // self._chunk_tokens if step in (Step.COLD, None) else 0
        log = None
        if self._log:
            log = self._log.request(
                request_id, chunks * self._chunk_tokens, is_reuse=bool(step and step.is_reuse), ranks=self._ranks()
            )
        awaited = {LOOKUPS: 1, _WRITTEN: chunks}
        deadline = time.monotonic() + SETTLE_TIMEOUT_S
        while missing := _short(awaited, self._totals, now := self.totals()):
            if time.monotonic() > deadline:
                raise LabError(f"{self.url}/metrics lacks {missing}: does the engine use this server?")
            time.sleep(_POLL_S)
        deltas = [int(now.get(name, 0.0) - self._totals.get(name, 0.0)) for name in _NAMES]
        self._totals = now
        return log, ServerCounters(*deltas)

    def await_idle(self, check: Callable[[], None]) -> None:
        """Block until nothing is left to be written, in RAM or below.

        Args:
            check: called while waiting; raises when waiting is in vain.

        Raises:
            LabError: when it never ends.
        """
        deadline = time.monotonic() + WRITE_TIMEOUT_S
        idle = 0
        # Twice in a row: between two of its queues a write is in neither for a moment.
        while idle < 2:
            check()
            idle = 0 if self.pending() else idle + 1
            if time.monotonic() > deadline:
                raise LabError(
                    f"LMCache's server still had {self.pending()} writes to do after {WRITE_TIMEOUT_S:.0f} s"
                )
            time.sleep(_POLL_S)

    def clear_ram(self) -> None:
        """Empty L1; what lies below stays.

        Raises:
            LabError: when something stays in RAM.
        """
        deadline = time.monotonic() + WRITE_TIMEOUT_S  # what is still being written below stays until then
        while True:
            self._answer("POST", "/cache/clear")
            left = self.status()["storage_manager"]["l1_manager"]["total_object_count"]
            if not left:
                return
            if time.monotonic() > deadline:
                raise LabError(f"LMCache's server kept {left} chunks in RAM when told to empty it")
            time.sleep(_POLL_S)

    def _ranks(self) -> int:
        """Of the widest engine that uses the server."""
        status = self.status()
        engines = [*status.get("cache_context_meta", {}).values(), *status.get("non_cuda_context_meta", {}).values()]
        return max((int(engine.get("world_size", 1)) for engine in engines), default=1)

    def serves_engines(self) -> bool:
        """Has any engine told it where its KV lies?"""
        status = self.status()
        return bool(status["registered_gpu_ids"] or status["registered_non_cuda_instance_ids"])

    def pending(self) -> int:
        """Objects and tasks that are being written or fetched."""
        manager = self.status()["storage_manager"]
        l1, prefetch = manager["l1_manager"], manager["prefetch_controller"]
        stores = manager["store_controllers"].values()
        pending = [l1["staging_object_count"], l1["write_locked_count"], prefetch["in_flight_request_count"]]
        pending += [store["pending_keys_count"] + store["in_flight_task_count"] for store in stores]
        return sum(map(int, pending))

    def _answer(self, method: str, path: str) -> httpx.Response:
        try:
            response = self._http.request(method, path)
        except httpx.HTTPError as error:
            raise RequestError(f"no answer from LMCache's server at {self.url}{path}: {error}") from error
        if response.status_code != httpx.codes.OK:
            raise RequestError(f"{self.url}{path} answered {response.status_code}", response.status_code)
        return response


def _short(awaited: dict[str, int], before: dict[str, float], now: dict[str, float]) -> str:
    """Counters that have not moved by as much as awaited."""
    moved = {name: now.get(name, 0.0) - before.get(name, 0.0) for name in awaited}
    return ", ".join(f"{name} {moved[name]:.0f} of {least}" for name, least in awaited.items() if moved[name] < least)
