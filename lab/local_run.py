"""A run on processes that the lab starts itself: measure, start anew where wanted, measure again, stop."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kvtiers.ledger.tiers import Tier
from kvtiers.model import kv_spec
from kvtiers.result.schema import Mode, Model, ProcessRun, Program, Result, Settings
from kvtiers.result.steps import Arm
from lab.engines.install import engine_versions, refuse_known_bad
from lab.engines.launch import Launch, Storage, engine_threads
from lab.engines.models import bring, preset_config
from lab.engines.process import Process
from lab.engines.shared_memory import require_shared
from lab.engines.tokenizer import tokenize
from lab.judge.engine_log import EngineLog
from lab.judge.server_log import CacheServerLog
from lab.knobs import FLOODS, Pool, pool_for
from lab.launches import LocalRun, Staged, launches, process_groups, running, staged
from lab.machine import describe
from lab.measure.cache_server import CacheServer
from lab.measure.chunks import ChunkFiles
from lab.measure.client import Client
from lab.measure.documents import Document, TokenSource, ordinary_ids, read_documents
from lab.measure.scenarios import Experiment, Target
from lab.paths import LOGS, portable
from lab.report.outcome import Collected, asked_for, assemble, collect


@dataclass(frozen=True)
class RunPlan:
    """What a run needs while it lasts: chunks of its own on the drive, and the processes to start."""

    chunk_files: ChunkFiles
    storage: Storage
    planned: list[Launch]


def run_local(wanted: LocalRun) -> Result:
    """Bring the model, start, measure, stop.

    Raises:
        LabError: when it could not even begin. What breaks later is told by the result, which is then not valid.
    """
    preset = wanted.preset
    installed = engine_versions(preset.engine)
    if not wanted.known_bad:
        refuse_known_bad(installed, wanted.lmcache_mode, preset.engine)
    directory = bring(preset)
    wanted, config = replace(wanted, model_directory=directory), preset_config(preset, directory)
    spec = kv_spec(config)
    seeded = not wanted.document_paths
    pool = pool_for(wanted.knobs, preset.block_tokens, spec.bytes_per_token, seeded=seeded)
    experiment = _experiment(wanted, pool, config)
    collected = Collected()
    with staged(wanted, pool, wanted.ports) as place:
        plan = _plan(wanted, pool, place)
        groups = process_groups(wanted, pool, plan.storage, plan.planned)
        processes = _run_lives(wanted, groups, plan, experiment, collected)
    return assemble(
        collected,
        mode=Mode(preset.engine),
        lmcache_mode=wanted.lmcache_mode,
        versions=installed,
        host=describe(wanted.cache_root, wanted.card),
        model=Model(preset.name, spec.kv_dtype, spec.bytes_per_token),
        settings=Settings(
            **asked_for(experiment),
            pool_tokens=pool.tokens,
            block_tokens=pool.block_tokens,
            chunk_tokens=wanted.knobs.chunk_tokens,
            threads=engine_threads() if preset.engine == "cpu" else None,
            direct_io=plan.storage.direct_io,
            l1_gib=plan.storage.l1_gib if wanted.is_mp else None,
            side_by_side=len(groups) == 1 if wanted.knobs.control else None,
        ),
        processes=processes,
    )


def _plan(wanted: LocalRun, pool: Pool, place: Staged) -> RunPlan:
    storage = place.storage
    files = ChunkFiles(storage.directory, wanted.knobs.chunk_tokens * pool.kv_bytes_per_token, storage.direct_io)
    planned = launches(wanted, pool, place.directories, place.ports, direct_io=storage.direct_io)
    return RunPlan(files, storage, planned)


def _run_lives(
    wanted: LocalRun, groups: Sequence[list[Launch]], plan: RunPlan, experiment: Experiment, collected: Collected
) -> list[ProcessRun]:
    """Each group of processes from start to stop, the tier's once more after a restart; a fault ends it."""
    lives = [(group, False) for group in groups]
    if wanted.knobs.restart:
        lives.append(([launch for launch in plan.planned if launch.arm is Arm.LMCACHE], True))
    processes = list[ProcessRun]()
    for group, again in lives:
        with (
            running(
                group,
                LOGS / "restarted" if again else LOGS,
                wanted.start_timeout_s,
                in_turn=wanted.preset.engine == "cuda",
            ) as started,
            contextlib.ExitStack() as clients,
        ):
            processes += map(_process_run, started)
            collect(experiment, _targets(started, wanted, plan, clients), collected, again=again)
        if collected.problems:
            break
    return processes


def _process_run(process: Process) -> ProcessRun:
    launch = process.launch
    environment = {name: portable(value) for name, value in launch.environment.items()}
    command = tuple(map(portable, launch.command))
    return ProcessRun(
        launch.arm, launch.program, command, environment, process.start_s, portable(str(process.log_path))
    )


def _targets(
    started: Sequence[Process], wanted: LocalRun, plan: RunPlan, clients: contextlib.ExitStack
) -> list[Target]:
    """One an engine. LMCache's server, where there is one, is watched beside its engine."""
    server = next((process for process in started if process.launch.program is Program.SERVER), None)
    targets = []
    for process in started:
        if process is server:
            continue
        client = Client(process.url, wanted.preset.name)
        clients.callback(client.close)
        target = Target(process.launch.arm, client, process.check)
        if target.arm is Arm.LMCACHE:
            target.chunk_files = plan.chunk_files
            if server is None:
                target.tiers, target.log = (Tier.SSD,), EngineLog(process.log_path, wanted.knobs.chunk_tokens)
            else:
                require_shared(server.log_path)
                target.tiers = (Tier.CPU, Tier.SSD)
                target.cache_server = CacheServer(
                    server.url, CacheServerLog(server.log_path), engine_versions(wanted.preset.engine).lmcache
                )
                clients.callback(target.cache_server.close)
                target.check = _both(server, process)
        targets.append(target)
    return targets


def _both(server: Process, engine: Process) -> Callable[[], None]:
    """An engine whose server died dies of that, later."""

    def check() -> None:
        server.check()
        engine.check()

    return check


def _experiment(wanted: LocalRun, pool: Pool, config: dict[str, Any]) -> Experiment:
    knobs = wanted.knobs
    source = TokenSource(ordinary_ids(int(config["vocab_size"])), knobs.seed)
    documents: Sequence[Document] = [source.document("seeded", knobs.document_tokens)]
    if wanted.document_paths:
        room = pool.tokens - knobs.max_tokens
        documents = read_documents(
            wanted.document_paths, lambda text: tokenize(wanted.preset, text), knobs.chunk_tokens, room
        )
    longest = max(len(document.token_ids) for document in documents)
    return Experiment(tuple(documents), source, pool.flood_tokens(longest), FLOODS, knobs)
