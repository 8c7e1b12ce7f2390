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


def shared_prefix_prefills(
    requests: int, prefix_tokens: int, question_tokens: int, block_tokens: int, same_leading_tokens: int | None = None
) -> list[Prefill]:
    """The prefill of each of ``requests`` that share a prefix and ask different questions, one after another.

    Args:
        requests: how many arrive.
        prefix_tokens: length of what they share.
        question_tokens: length of what each adds.
        block_tokens: the cache's granularity; 0 switches the cache off.
        same_leading_tokens: how far the prefixes agree, when something changes inside; all of it when None.
    """
    prompt_tokens = prefix_tokens + question_tokens
    agreeing_tokens = prefix_tokens if same_leading_tokens is None else min(same_leading_tokens, prefix_tokens)
    reused = reused_tokens(agreeing_tokens, prompt_tokens, block_tokens) if block_tokens else 0
    first, later = Prefill(0, prompt_tokens), Prefill(reused, prompt_tokens - reused)
    return [first if index == 0 else later for index in range(requests)]
