"""Recompute or load? The ceiling first, then the fitted curve.

Sources: the ceiling is arithmetic (bandwidth against prefill rate times KV size). The curve's form, a fixed cost plus
a linear and a quadratic term, follows from attention being quadratic in the prompt; its coefficients are measured.
"""

import math
from dataclasses import dataclass

from kvtiers.units import GB, positive

# What an 8B-class model on one GPU is taken to prefill, as long as nobody has measured it. Claim `assumed-prefill`.
ASSUMED_PREFILL_TOKENS_PER_S = 4000.0
# LMCache's default chunk: only whole ones are stored. Claim `chunk-size`.
CHUNK_TOKENS = 256


def recompute_s(tokens: float, prefill_tokens_per_s: float) -> float:
    """Seconds to prefill ``tokens`` at a constant rate."""
    return tokens / positive("prefill_tokens_per_s", prefill_tokens_per_s)


def load_s(tokens: float, kv_bytes_per_token: float, bandwidth_gb_per_s: float) -> float:
    """Seconds to bring the KV of ``tokens`` back from a tier at ``bandwidth_gb_per_s`` (decimal GB)."""
    kv_bytes = tokens * positive("kv_bytes_per_token", kv_bytes_per_token)
    return kv_bytes / (positive("bandwidth_gb_per_s", bandwidth_gb_per_s) * GB)


def ceiling_speedup(prefill_tokens_per_s: float, kv_bytes_per_token: float, bandwidth_gb_per_s: float) -> float:
    """Recompute time over load time. The prefix length cancels; nothing real reaches it."""
    break_even = break_even_tokens_per_s(kv_bytes_per_token, bandwidth_gb_per_s)
    return break_even / positive("prefill_tokens_per_s", prefill_tokens_per_s)


def break_even_tokens_per_s(kv_bytes_per_token: float, bandwidth_gb_per_s: float) -> float:
    """The prefill rate above which loading is slower than recomputing: 6 GB/s and 128 KiB give 45,776 tokens/s."""
    return positive("bandwidth_gb_per_s", bandwidth_gb_per_s) * GB / positive("kv_bytes_per_token", kv_bytes_per_token)


@dataclass(frozen=True)
class TtftCurve:
    """TTFT in seconds over prompt tokens n: ``fixed_s + linear_s * n + quadratic_s * n**2``."""

    fixed_s: float
    linear_s: float
    quadratic_s: float = 0.0

    def ttft_s(self, tokens: float) -> float:
        """Seconds to the first token for a prompt of ``tokens``."""
        return self.fixed_s + self.linear_s * tokens + self.quadratic_s * tokens * tokens


def reuse_ttft_s(cold: TtftCurve, load: TtftCurve, tokens: float, tail_tokens: float) -> float:
    """Seconds to the first token when all but the last ``tail_tokens`` are loaded.

    The tail is prefilled over the whole context before it, which is most of the time once loading is fast.
    """
    loaded_tokens = max(0.0, tokens - tail_tokens)
    return load.ttft_s(loaded_tokens) + cold.ttft_s(tokens) - cold.ttft_s(loaded_tokens)


def worthwhile_from_tokens(cold: TtftCurve, load: TtftCurve, chunk_tokens: int = CHUNK_TOKENS) -> int | None:
    """The fewest tokens, in whole chunks, that are loaded faster than recomputed; None if there are none.

    Less than a chunk is never stored, so nothing shorter can be loaded, however the curves lie. ``load`` must be a
    straight line: what is loaded grows with the tokens, not with their square.
    """
    if cold.ttft_s(chunk_tokens) > load.ttft_s(chunk_tokens):
        return chunk_tokens
    head_start_s = load.fixed_s - cold.fixed_s
    gain_per_token_s = cold.linear_s - load.linear_s
    root = math.sqrt(max(0.0, gain_per_token_s**2 + 4 * cold.quadratic_s * head_start_s))
    if gain_per_token_s > 0:
        even_tokens = 2 * head_start_s / (root + gain_per_token_s)
    elif cold.quadratic_s > 0:
        even_tokens = (root - gain_per_token_s) / (2 * cold.quadratic_s)
    else:
        return None
    return math.ceil(even_tokens / chunk_tokens) * chunk_tokens
