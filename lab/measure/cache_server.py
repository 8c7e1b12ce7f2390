"""LMCache's server beside the engine: waits for its writes, empties its RAM, reads its counters and its log."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from kvtiers.result.evidence import ServerCounters, ServerLog
from kvtiers.result.steps import Step
from kvtiers.settings.version_pairs import numbers
from lab.errors import LabError
from lab.judge.server_log import CacheServerLog
from lab.measure.counters import SETTLE_TIMEOUT_S
from lab.measure.server import RequestError, Server
from lab.waiting import tries

WRITE_TIMEOUT_S = 120.0
_POLL_S = 0.03
LOOKUPS = "lmcache_mp_lookups_requests_total"
L1_HITS = "lmcache_mp_lookup_hit_l1_tokens_total"
L2_HITS = "lmcache_mp_lookup_hit_l2_tokens_total"
_COUNTS_TIERS_SINCE = "0.5.5"  # before, LMCache's counters named no tier
_REQUESTED = "lmcache_mp_lookup_requested_tokens_total"
_WRITTEN = "lmcache_mp_l1_write_chunks_total"


class CacheServer(Server):
    """One server, by its HTTP port. ``log``: None where it may not be read; ``lmcache``: its version, where that is
    known. What waits raises LabError where that never comes."""

    called = "LMCache's server at "

    def __init__(self, url: str, log: CacheServerLog | None, lmcache: str = "") -> None:
        super().__init__(url, timeout=10.0)
        self._log = log
        self.chunk_tokens = self._told(lambda status: int(status["chunk_size"]))
        self.counts_tiers = not lmcache or numbers(lmcache) >= numbers(_COUNTS_TIERS_SINCE)
        self._totals = self.totals() if self.counts_tiers else {}

    def status(self) -> dict[str, Any]:
        answer = self.answer("GET", "/status")
        try:
            return dict(json.loads(answer))
        except (ValueError, TypeError) as error:
            raise self._stranger(answer[:100]) from error

    def witness(
        self, request_id: str, step: Step | None, prompt_tokens: int
    ) -> tuple[ServerLog | None, ServerCounters | None]:
        """What log and counters say of the one request since the last call; without a step it was new, like a cold
        one."""
        chunks = prompt_tokens // self.chunk_tokens if step in (Step.COLD, None) else 0
        log = None
        if self._log:
            log = self._log.request(
                request_id, chunks * self.chunk_tokens, is_reuse=bool(step and step.is_reuse), ranks=self._ranks()
            )
        if not self.counts_tiers:
            return log, None
        awaited, before = {LOOKUPS: 1, _WRITTEN: chunks}, self._totals
        for is_last in tries(SETTLE_TIMEOUT_S, _POLL_S):
            now = self.totals()
            moved = {name: now[name] - before[name] for name in awaited}
            missing = [f"{name} {moved[name]:.0f} of {least}" for name, least in awaited.items() if moved[name] < least]
            if not missing:
                break
            if is_last:
                raise LabError(f"{self.url}/metrics lacks {', '.join(missing)}: does the engine use this server?")
        self._totals = now
        return log, ServerCounters(*(int(now[name] - before[name]) for name in (_REQUESTED, L1_HITS, L2_HITS)))

    def await_idle(self, check: Callable[[], None]) -> None:
        """Block until nothing is left to be written, in RAM or below. ``check`` raises when waiting is in vain."""
        idle = 0
        for is_last in tries(WRITE_TIMEOUT_S, _POLL_S):
            check()
            pending = self.pending()
            # Twice in a row: between two of its queues a write is in neither for a moment.
            idle = 0 if pending else idle + 1
            if idle == 2:
                return
            if is_last:
                raise LabError(f"LMCache's server still had {pending} writes to do after {WRITE_TIMEOUT_S:.0f} s")

    def clear_ram(self) -> None:
        """Empty L1; what lies below stays. What is still being written there stays in RAM until then."""
        for is_last in tries(WRITE_TIMEOUT_S, _POLL_S):
            self.answer("POST", "/cache/clear")
            left = self._told(lambda status: int(status["storage_manager"]["l1_manager"]["total_object_count"]))
            if not left:
                return
            if is_last:
                raise LabError(f"LMCache's server kept {left} chunks in RAM when told to empty it")

    def prefetch(self, model: str, token_ids: Sequence[int]) -> None:
        """Bring a prompt's whole chunks from below into L1, and wait until they lie there. ``model``: as the engine's
        --model names it."""
        body = {"model_name": model, "world_size": self._ranks(), "token_ids": list(token_ids)}
        told = json.loads(self.answer("POST", "/cache/prefetches", body))
        for is_last in tries(WRITE_TIMEOUT_S, _POLL_S):
            if json.loads(self.answer("GET", f"/cache/prefetches/{told['request_id']}"))["status"] == "completed":
                return
            if is_last:
                raise LabError(
                    f"LMCache's server had not fetched {len(token_ids)} tokens after {WRITE_TIMEOUT_S:.0f} s"
                )

    def _ranks(self) -> int:
        return self._told(_widest)

    def serves_engines(self) -> bool:
        """Has any engine told it where its KV lies?"""
        return self._told(_engines) > 0

    def pending(self) -> int:
        """Objects and tasks that are being written or fetched."""
        return self._told(_pending)

    def _told(self, read: Callable[[dict[str, Any]], int]) -> int:
        """What the status says, read so.

        Raises:
            RequestError: it is not that of LMCache's server.
        """
        try:
            return read(self.status())
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._stranger(repr(error)) from error

    def _stranger(self, said: str) -> RequestError:
        return RequestError(
            f"{self.url}/status is not as LMCache's server answers ({said}): --server takes its HTTP address, port "
            "8080 unless --http-port says otherwise"
        )


def _widest(status: dict[str, Any]) -> int:
    """Ranks of the widest engine that uses the server."""
    engines = [*status.get("cache_context_meta", {}).values(), *status.get("non_cuda_context_meta", {}).values()]
    return max((int(engine.get("world_size", 1)) for engine in engines), default=1)


def _engines(status: dict[str, Any]) -> int:
    return len(status["registered_gpu_ids"]) + len(status["registered_non_cuda_instance_ids"])


def _pending(status: dict[str, Any]) -> int:
    manager = status["storage_manager"]
    l1, prefetch = manager["l1_manager"], manager["prefetch_controller"]
    # One of a kind up to LMCache 0.5.5, then one a lower tier.
    stores = [manager["store_controller"]] if "store_controller" in manager else manager["store_controllers"].values()
    pending = [l1.get("staging_object_count", 0), l1["write_locked_count"], prefetch["in_flight_request_count"]]
    pending += [store["pending_keys_count"] + store["in_flight_task_count"] for store in stores]
    return sum(map(int, pending))
