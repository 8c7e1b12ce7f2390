"""A run against a server that somebody else started: no control, no change of its pool, evidence from what it shows."""

import platform
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import kvtiers
from kvtiers.ledger.tiers import Tier
from kvtiers.result.schema import Mode, Model, Result, Settings, Versions
from kvtiers.result.steps import Arm
from kvtiers.settings.version_pairs import LMCacheMode
from lab.errors import LabError
from lab.judge.engine_log import EngineLog
from lab.judge.server_log import CacheServerLog
from lab.knobs import Knobs, check_document
from lab.machine import describe
from lab.measure.cache_server import CacheServer
from lab.measure.client import Client, served_model
from lab.measure.counters import pool_size
from lab.measure.documents import TokenSource, ids_of_words, read_documents
from lab.measure.scenarios import Experiment, Target
from lab.report.outcome import Collected, asked_for, assemble, collect
from machine.gpu import choose

# Bounded on purpose: pushing a document out of a large pool costs its whole size in prefill, every repeat.
MAX_FLOOD_TOKENS = 400_000
_UNTOLD: dict[str, Any] = dict.fromkeys(("chunk_tokens", "threads", "direct_io", "l1_gib"))


def run_url(url: str, knobs: Knobs, server: str | None, log: Path | None, texts: Sequence[Path]) -> Result:
    """Measure a foreign engine, with its LMCache server (the HTTP address, in MP mode), the log of LMCache where we may
    read it, the server's or that of an engine with LMCache inside, and text files as documents.

    Raises:
        LabError: no vLLM server there, no such log, or a pool too large to flood.
    """
    if log and not log.is_file():
        raise LabError(f"no log file {log}")
    collected = Collected()
    with ExitStack() as stack:
        client = stack.enter_context(closing(Client(url, served_model(url))))
        cache = None
        if server:
            cache = stack.enter_context(closing(CacheServer(server, CacheServerLog(log) if log else None)))
            knobs = replace(knobs, chunk_tokens=cache.chunk_tokens)
        pool_tokens, block_tokens = pool_size(client)
        source = TokenSource(ids_of_words(client), knobs.seed)
        if texts:
            documents = read_documents(texts, client.tokenize, knobs.chunk_tokens, pool_tokens - knobs.max_tokens)
        else:
            check_document(knobs.document_tokens, knobs.chunk_tokens)
            documents = [source.document("seeded", knobs.document_tokens)]
        longest = max(len(document.token_ids) for document in documents)
        experiment = Experiment(tuple(documents), source, longest, _floods(pool_tokens, longest), knobs)
        target = Target(Arm.LMCACHE, client, lambda: None, (None,))  # without LMCache's server no tier can be told
        if cache:
            target.tiers, target.cache_server = (Tier.CPU, Tier.SSD), cache
        elif log:
            target.log = EngineLog(log, knobs.chunk_tokens)
        collect(experiment, [target], collected)
    return assemble(
        collected,
        mode=Mode.URL,
        lmcache_mode=LMCacheMode.MP if server else LMCacheMode.IN_PROCESS if log else None,
        versions=Versions("", "", "", platform.python_version(), kvtiers.__version__),
        host=describe(Path.cwd(), choose("auto").card),
        model=Model(client.model, None, None),
        settings=Settings(pool_tokens, block_tokens, **_UNTOLD, **asked_for(experiment)),
    )


def _floods(pool_tokens: int, flood_tokens: int) -> int:
    """How many other documents it takes to push one out of the pool."""
    if pool_tokens > MAX_FLOOD_TOKENS:
        raise LabError(
            f"the server's KV pool holds {pool_tokens:,} tokens; pushing a document out of it would cost more than "
            f"{MAX_FLOOD_TOKENS:,} tokens of prefill a repeat. Start it with a smaller --num-gpu-blocks-override"
        )
    return max(2, -(-pool_tokens // flood_tokens) + 1)
