"""vLLM's /metrics: the prefix-cache counters before and after a request, and the pool's size."""

from kvtiers.result.evidence import Counters
from lab.errors import LabError
from lab.measure.client import Client
from lab.waiting import tries

SETTLE_TIMEOUT_S = 10.0
_POLL_S = 0.005
_NAMES = (
    "vllm:prefix_cache_queries_total",
    "vllm:prefix_cache_hits_total",
    "vllm:external_prefix_cache_queries_total",
    "vllm:external_prefix_cache_hits_total",
)
_PREFILL_S = "vllm:request_prefill_time_seconds_sum"
_FINISHED = "vllm:request_success_total"


def read_totals(client: Client) -> dict[str, float]:
    """Every sample of a vLLM server's /metrics.

    Raises:
        LabError: when they are not vLLM's.
    """
    totals = client.totals()
    if _FINISHED not in totals:
        raise LabError(f"{client.url}/metrics has no {_FINISHED}: is this a vLLM server with metrics on?")
    return totals


def await_deltas(client: Client, before: dict[str, float], requests: int = 1) -> tuple[Counters, dict[str, float]]:
    """The counters' movement over the one request since ``before``, or so many, once the server has counted each as
    finished.

    Returns:
        the deltas, and the totals read, which serve as the next ``before``.

    Raises:
        LabError: when one is never counted.
    """
    for is_last in tries(SETTLE_TIMEOUT_S, _POLL_S):
        now = read_totals(client)
        if now[_FINISHED] >= before[_FINISHED] + requests:
            break
        if is_last:
            raise LabError(f"{_FINISHED} did not count a finished request within {SETTLE_TIMEOUT_S:.0f} s")
    own_queries, own_hits, queries, hits = (int(now[name] - before[name]) for name in _NAMES)
    return Counters(own_queries, own_hits, queries, hits, now[_PREFILL_S] - before[_PREFILL_S]), now


def pool_size(client: Client) -> tuple[int, int]:
    """Tokens that a running server's KV pool holds, and tokens a block. One block is reserved.

    Raises:
        LabError: when it does not tell.
    """
    for sample in client.samples():
        if sample.name.startswith("vllm:cache_config_info"):
            size, blocks = (sample.labels.get(name, "") for name in ("block_size", "num_gpu_blocks"))
            if size.isdecimal() and blocks.isdecimal():
                return (int(blocks) - 1) * int(size), int(size)
    raise LabError(f"{client.url}/metrics does not tell the size of the KV pool")
