"""What the user may turn, and the KV pool that follows from it."""

import math
from dataclasses import dataclass
from typing import Annotated

from typer import Option

from lab.errors import LabError

# Documents that push one out of the pool: together at least as long as it.
FLOODS = 2


@dataclass(frozen=True)
class Knobs:
    """In tokens. Each is an option of ``lab run``, which tells what it does."""

    pool_tokens: Annotated[int, Option(help="Size of the KV pool; rounded down to blocks.")] = 2700
    document_tokens: Annotated[int, Option(help="Length of the seeded document.")] = 1330
    chunk_tokens: Annotated[int, Option("--chunk-size", min=1, help="LMCache's chunk, in tokens.")] = 256
    repeats: Annotated[int, Option(min=1, help="Times each step is measured.")] = 3
    max_tokens: Annotated[int, Option(min=1, help="Tokens generated a request.")] = 32
    seed: Annotated[int, Option(help="Seed of the documents.")] = 0
    control: Annotated[bool, Option(help="Also measure the same engine without LMCache.")] = True
    page_cache: Annotated[
        bool, Option("--page-cache", help="Also reuse with the chunk files in the page cache; no direct IO then.")
    ] = False
    restart: Annotated[bool, Option("--restart", help="Also reuse after server and engine were started anew.")] = False


@dataclass(frozen=True)
class Pool:
    """vLLM's KV pool. One block is reserved, so ``blocks`` blocks hold the tokens of one less."""

    blocks: int
    block_tokens: int
    kv_bytes_per_token: float

    @property
    def tokens(self) -> int:
        """Tokens that fit."""
        return (self.blocks - 1) * self.block_tokens

    @property
    def total_bytes(self) -> float:
        """Memory of all blocks."""
        return self.blocks * self.block_tokens * self.kv_bytes_per_token

    def flood_tokens(self, document_tokens: int) -> int:
        """Length of each of the FLOODS that push a document out."""
        return max(document_tokens, math.ceil(self.tokens / FLOODS) + 1)


def pool_for(knobs: Knobs, block_tokens: int, kv_bytes_per_token: float, *, seeded: bool = True) -> Pool:
    """The pool nearest below the wish, checked against the ``seeded`` document, or where there is none, since texts are
    asked for, against the shortest that could be measured.

    Raises:
        LabError: naming the limit that a knob breaks.
    """
    pool = Pool(knobs.pool_tokens // block_tokens + 1, block_tokens, kv_bytes_per_token)
    chunk = knobs.chunk_tokens
    if chunk % block_tokens:
        raise LabError(f"--chunk-size {chunk} is not a multiple of the engine's block of {block_tokens} tokens")
    least = -(-(chunk + 1 + knobs.max_tokens) // block_tokens) * block_tokens
    if pool.tokens < least:
        raise LabError(
            f"a document longer than a chunk of {chunk} tokens and {knobs.max_tokens} generated ones do not fit the "
            f"pool of {max(0, pool.tokens)} tokens: raise --pool-tokens to at least {least}"
        )
    if seeded:
        _check_seeded(knobs, pool)
    return pool


def _check_seeded(knobs: Knobs, pool: Pool) -> None:
    document, room = knobs.document_tokens, pool.tokens - knobs.max_tokens
    check_document(document, knobs.chunk_tokens)
    if document > room:
        raise LabError(
            f"a document of {document} tokens and {knobs.max_tokens} generated ones do not fit the pool of "
            f"{pool.tokens} tokens: at most {room}, or raise --pool-tokens"
        )


def check_document(tokens: int, chunk_tokens: int) -> None:
    """Refuse lengths at which the steps cannot be told apart.

    Raises:
        LabError: shorter than one chunk, or a multiple of it.
    """
    if tokens <= chunk_tokens:
        raise LabError(
            f"a document of {tokens} tokens fills no chunk of {chunk_tokens}: LMCache stores full chunks only, so it "
            f"could never come back. Use at least {chunk_tokens + 1} tokens or a smaller --chunk-size"
        )
    if tokens % chunk_tokens == 0:
        raise LabError(
            f"a document of {tokens} tokens is a multiple of the chunk of {chunk_tokens}: then a GPU hit also logs "
            f"tokens to load, and looks like a reuse. Use {tokens + chunk_tokens // 5}"
        )
