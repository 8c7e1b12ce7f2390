"""Counters of ``/metrics`` dumps, and of the "KV Transfer metrics" lines in which vLLM logs the same names.

Source: vLLM 0.32.0 (kv_offload, tiering, prefix cache) and LMCache 0.5.6, in-process and server.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

# Bytes or tokens that went down a tier, and those that came back; of each pair either side may be missing.
_WRITTEN = {
    "vllm:kv_offload_store_bytes": "bytes",
    "vllm:kv_offload_tiering_write_bytes": "bytes",
    "lmcache:num_stored_tokens": "tokens",
    "lmcache_mp_l1_write_chunks": "chunks",
}
_READ = (
    "vllm:kv_offload_load_bytes",
    "vllm:kv_offload_tiering_read_bytes",
    "lmcache:num_hit_tokens",
    "lmcache_mp_lookup_hit_tokens",
)
_BOTH = "vllm:kv_offload_total_bytes"  # deprecated: one name, a label for the direction
_FAILURES = (
    "vllm:kv_offload_tiering_promotion_job_failures",
    "vllm:kv_offload_tiering_cascade_job_failures",
    "vllm:kv_offload_tiering_promotion_allocation_failures",
    "vllm:kv_offload_allocation_failure",
    "lmcache:put_failed_count",
    "lmcache:get_blocking_failed_count",
    "lmcache_mp_l2_prefetch_failure_chunks",
    "lmcache_mp_l1_allocation_failure_chunks",
    "lmcache_mp_l1_read_failure_chunks",
)
_ASKED, _HIT = "vllm:external_prefix_cache_queries", "vllm:external_prefix_cache_hits"
_PAIR = re.compile(r"([\w:]+)(?::\([^)]*\))?=(\d+(?:\.\d+)?)")
_SERIES = 20_000


@dataclass
class Metrics:
    """Series by name and labels, each at its first and its last dump; ``logged``: sums of what log lines said."""

    series: dict[tuple[str, str], tuple[float, float, int]] = field(default_factory=dict)
    logged: dict[str, float] = field(default_factory=dict)

    def take(self, name: str, labels: str, value: float) -> None:
        """One sample of a dump."""
        key = name.removesuffix("_total"), labels
        first, _, times = self.series.get(key, (value, value, 0))
        if times or len(self.series) < _SERIES:
            self.series[key] = first, value, times + 1

    def take_logged(self, line: str) -> None:
        """What one interval's log line adds."""
        for name, value in _PAIR.findall(line):
            if name.startswith("vllm:"):
                self.logged[name] = self.logged.get(name, 0.0) + float(value)

    @property
    def dumps(self) -> int:
        """How many dumps of the same server stand one after the other."""
        return max((times for _, _, times in self.series.values()), default=0)

    def count(self, names: Iterable[str]) -> float:
        """Over the dumps, or of the only one since the server's start; where the log's lines say more, theirs."""
        names = tuple(names)
        dumped = sum(
            last if times == 1 or last < first else last - first
            for (name, _), (first, last, times) in self.series.items()
            if name in names
        )
        return max(dumped, sum(self.logged.get(name, 0.0) for name in names))

    @property
    def written(self) -> tuple[float, str]:
        """The most that one counter says went down, and its unit."""
        found = [(self.count([name]), unit) for name, unit in _WRITTEN.items()]
        return max([*found, (self._direction("GPU_to_CPU"), "bytes")])

    @property
    def read(self) -> float:
        """What came back, in whatever unit: it matters whether it is 0."""
        return self.count([*_READ, _HIT]) + self._direction("CPU_to_GPU")

    @property
    def asked_tokens(self) -> float:
        return self.count([_ASKED])

    @property
    def hit_tokens(self) -> float:
        return self.count([_HIT])

    @property
    def failures(self) -> dict[str, float]:
        """Counters of failures that are not 0."""
        return {name: self.count([name]) for name in _FAILURES if self.count([name])}

    def _direction(self, way: str) -> float:
        return sum(last for (name, labels), (_, last, _) in self.series.items() if name == _BOTH and way in labels)
