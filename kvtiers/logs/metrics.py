"""Counters of ``/metrics`` dumps, and of the "KV Transfer metrics" lines in which vLLM logs the same names.

Source: vLLM 0.32.0 (kv_offload, tiering, prefix cache) and LMCache 0.5.6, in-process and server.
"""

import re
from dataclasses import dataclass, field

# What went down a tier, by counter, label and unit, and what came back; of each pair either side may be missing.
_WRITTEN = (
    ("vllm:kv_offload_store_bytes", "", "bytes"),
    ("vllm:kv_offload_tiering_write_bytes", "", "bytes"),
    ("vllm:kv_offload_total_bytes", "GPU_to_CPU", "bytes"),  # before 0.32: one name for both ways
    ("vllm:simple_kv_offload_save_outcomes", '"stored"', "blocks"),
    ("lmcache:num_stored_tokens", "", "tokens"),
    ("lmcache_mp_l1_write_chunks", "", "chunks"),
)
_ASKED, _HIT = "vllm:external_prefix_cache_queries", "vllm:external_prefix_cache_hits"
_READ = (
    (_HIT, ""),
    ("vllm:kv_offload_load_bytes", ""),
    ("vllm:kv_offload_tiering_read_bytes", ""),
    ("vllm:kv_offload_total_bytes", "CPU_to_GPU"),
    ("vllm:simple_kv_offload_load_blocks", ""),
    ("lmcache:num_hit_tokens", ""),
    ("lmcache_mp_lookup_hit_tokens", ""),
)
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
_PAIR = re.compile(r"([\w:]+)(?::\([^)]*\))?=(\d+(?:\.\d+)?)")
# As log lines of versions before 0.32 called them.
_OLD_NAMES = {
    "GPU_to_CPU_total_bytes": "vllm:kv_offload_store_bytes",
    "CPU_to_GPU_total_bytes": "vllm:kv_offload_load_bytes",
}
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
        for said, value in _PAIR.findall(line):
            name = _OLD_NAMES.get(said, said)
            if name.startswith("vllm:"):
                self.logged[name] = self.logged.get(name, 0.0) + float(value)

    @property
    def dumps(self) -> int:
        """How many dumps of the same server stand one after the other."""
        return max((times for _, _, times in self.series.values()), default=0)

    def count(self, name: str, label: str = "", ever: bool = False) -> float:
        """Between the dumps, or of the only one, or ``ever``, since the server's start; or what the log's lines say."""
        dumped = sum(
            last if ever or times == 1 or last < first else last - first
            for (one, labels), (first, last, times) in self.series.items()
            if one == name and label in labels
        )
        return max(dumped, 0.0 if label else self.logged.get(name, 0.0))

    @property
    def written(self) -> tuple[float, str]:
        """The most that one counter says went down, and its unit."""
        return max((self.count(name, label), unit) for name, label, unit in _WRITTEN)

    @property
    def ever_read(self) -> bool:
        """Has anything come back since the server's start?"""
        return any(self.count(name, label, ever=True) for name, label in _READ)

    @property
    def asked_tokens(self) -> float:
        return self.count(_ASKED)

    @property
    def hit_tokens(self) -> float:
        return self.count(_HIT)

    @property
    def failures(self) -> dict[str, float]:
        """Counters of failures that are not 0."""
        counts = {name: self.count(name) for name in _FAILURES}
        return {name: count for name, count in counts.items() if count}
