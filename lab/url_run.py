"""A run against a server that somebody else started: no control, no change of its pool, evidence from what it shows."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from kvtiers.ledger.tiers import Tier
from kvtiers.result.schema import Mode, Model, Result
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
from lab.report.outcome import Outcome, assemble, collect, settings, versions
from machine.gpu import choose

# Bounded on purpose: pushing a document out of a large pool costs its whole size in prefill, every repeat.
MAX_FLOOD_TOKENS = 400_000


@dataclass(frozen=True)
class UrlRun:
    """Which engine, its LMCache server (the HTTP address, in MP mode), and the log of LMCache where we may read it: the
    server's, or that of an engine with LMCache inside."""

    url: str
    knobs: Knobs
    server: str | None = None
    log: Path | None = None
    document_paths: tuple[Path, ...] = ()


def run_url(wanted: UrlRun) -> Result:
    """Measure a foreign server.

    Raises:
        LabError: no vLLM server there, no such log, or a pool too large to flood.
    """
    knobs = wanted.knobs
    check_document(knobs.document_tokens, knobs.chunk_tokens)
    if wanted.log and not wanted.log.is_file():
        raise LabError(f"no log file {wanted.log}")
    model = served_model(wanted.url)
    outcome = Outcome()
    with ExitStack() as stack:
        client = Client(wanted.url, model)
        stack.callback(client.close)
        pool_tokens, block_tokens = pool_size(client)
        source = TokenSource(ids_of_words(client), knobs.seed)
        documents = [source.document("seeded", knobs.document_tokens)]
        if wanted.document_paths:
            room = pool_tokens - knobs.max_tokens
            documents = read_documents(wanted.document_paths, client.tokenize, knobs.chunk_tokens, room)
        longest = max(len(document.token_ids) for document in documents)
        experiment = Experiment(tuple(documents), source, longest, _floods(pool_tokens, longest), knobs)
        collect(experiment, [_target(wanted, client, stack)], outcome)
    return assemble(
        outcome,
        mode=Mode.URL,
        lmcache_mode=LMCacheMode.MP if wanted.server else LMCacheMode.IN_PROCESS if wanted.log else None,
        versions=versions(),
        host=describe(Path.cwd(), choose("auto").card),
        model=Model(model, None, None),
        settings=settings(experiment, pool_tokens=pool_tokens, block_tokens=block_tokens),
    )


def _target(wanted: UrlRun, client: Client, stack: ExitStack) -> Target:
    """Without LMCache's server nobody says which tier answers."""
    target = Target(Arm.LMCACHE, client, lambda: None, (None,))
    if wanted.server:
        target.tiers = (Tier.CPU, Tier.SSD)
        target.cache_server = CacheServer(wanted.server, CacheServerLog(wanted.log) if wanted.log else None)
        stack.callback(target.cache_server.close)
    elif wanted.log:
        target.log = EngineLog(wanted.log, wanted.knobs.chunk_tokens)
    return target


def _floods(pool_tokens: int, flood_tokens: int) -> int:
    """How many other documents it takes to push one out of the pool."""
    if pool_tokens > MAX_FLOOD_TOKENS:
        raise LabError(
            f"the server's KV pool holds {pool_tokens:,} tokens; pushing a document out of it would cost more than "
            f"{MAX_FLOOD_TOKENS:,} tokens of prefill a repeat. Start it with a smaller --num-gpu-blocks-override"
        )
    return max(2, -(-pool_tokens // flood_tokens) + 1)
