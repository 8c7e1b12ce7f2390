"""Recompute or load? The ceiling first, then the fitted curve.

Sources: the ceiling is arithmetic (bandwidth against prefill rate times KV size). The curve's form, a fixed cost plus
a linear and a quadratic term, follows from attention being quadratic in the prompt; its coefficients are measured.
"""

from dataclasses import dataclass

from kvtiers.units import GB, positive


def recompute_s(tokens: float, prefill_tokens_per_s: float) -> float:
    """Seconds to prefill ``tokens`` at a constant rate."""
    return tokens / positive("prefill_tokens_per_s", prefill_tokens_per_s)


def load_s(tokens: float, kv_bytes_per_token: float, bandwidth_gb_per_s: float) -> float:
    """Seconds to bring the KV of ``tokens`` back from a tier at ``bandwidth_gb_per_s`` (decimal GB)."""
    kv_bytes = tokens * positive("kv_bytes_per_token", kv_bytes_per_token)
    return kv_bytes / (positive("bandwidth_gb_per_s", bandwidth_gb_per_s) * GB)


def ceiling_speedup(prefill_tokens_per_s: float, kv_bytes_per_token: float, bandwidth_gb_per_s: float) -> float:
    """Recompute time over load time. The prefix length cancels; nothing real reaches it."""
    rate_bytes_per_s = positive("prefill_tokens_per_s", prefill_tokens_per_s) * positive(
        "kv_bytes_per_token", kv_bytes_per_token
    )
    return positive("bandwidth_gb_per_s", bandwidth_gb_per_s) * GB / rate_bytes_per_s


def break_even_tokens_per_s(kv_bytes_per_token: float, bandwidth_gb_per_s: float) -> float:
    """The prefill rate above which loading is slower than recomputing: 6 GB/s and 128 KiB give 45,776 tokens/s."""
    return positive("bandwidth_gb_per_s", bandwidth_gb_per_s) * GB / positive("kv_bytes_per_token", kv_bytes_per_token)


def effective_bandwidth_discount(measured_speedup: float, ceiling: float) -> float:
    """Which part of the ceiling was reached, 0 to 1. At 0.05 a faster drive is money wasted."""
    return positive("measured_speedup", measured_speedup) / positive("ceiling", ceiling)


@dataclass(frozen=True)
class TtftCurve:
    """TTFT in seconds over prompt tokens n: ``fixed_s + linear_s * n + quadratic_s * n**2``."""

    fixed_s: float
    linear_s: float
    quadratic_s: float = 0.0

    def ttft_s(self, tokens: float) -> float:
        """Seconds to the first token for a prompt of ``tokens``."""
        return self.fixed_s + self.linear_s * tokens + self.quadratic_s * tokens * tokens
