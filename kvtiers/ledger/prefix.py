"""How much of a prompt is computed when its leading tokens were computed before.

Source: vLLM 0.32.0's prefix cache reuses full blocks of identical leading tokens, and at most all tokens but the last,
because the last one has to be run to get the first output token.
"""

from dataclasses import dataclass

from kvtiers.errors import KvtiersError


@dataclass(frozen=True)
class Prefill:
    """What one request reuses and what it computes, in tokens."""

    reused_tokens: int
    computed_tokens: int


def reused_tokens(same_leading_tokens: int, prompt_tokens: int, block_tokens: int) -> int:
    """Tokens found in the prefix cache: full blocks only, and never the whole prompt.

    Raises:
        KvtiersError: for a prompt or block without tokens.
    """
    for name, value in (("prompt_tokens", prompt_tokens), ("block_tokens", block_tokens)):
        if value < 1:
            raise KvtiersError(f"{name} must be 1 or more, got {value!r}")
    usable_tokens = max(0, min(same_leading_tokens, prompt_tokens - 1))
    return usable_tokens // block_tokens * block_tokens


def prefill(prompt_tokens: int, same_leading_tokens: int, block_tokens: int) -> Prefill:
    """The prefill of a prompt whose first tokens were computed before; without a cache ``block_tokens`` is 0."""
    reused = reused_tokens(same_leading_tokens, prompt_tokens, block_tokens) if block_tokens else 0
    return Prefill(reused, prompt_tokens - reused)
