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


def prefill(prompt_tokens: int, same_leading_tokens: int, block_tokens: int) -> Prefill:
    """The prefill of a prompt whose first tokens were computed before: full blocks are found, never all of it.

    Args:
        prompt_tokens: of the whole prompt.
        same_leading_tokens: how many of them were computed before.
        block_tokens: tokens a block, 0 without a prefix cache.
    """
    if prompt_tokens < 1:
        raise KvtiersError(f"prompt_tokens must be 1 or more, got {prompt_tokens!r}")
    usable_tokens = max(0, min(same_leading_tokens, prompt_tokens - 1))
    reused = usable_tokens // block_tokens * block_tokens if block_tokens else 0
    return Prefill(reused, prompt_tokens - reused)
