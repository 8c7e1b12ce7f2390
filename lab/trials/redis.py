"""Redis in place of the drive: a redis-server of the trial's own on a loopback port, which keeps nothing on disk."""

import contextlib
import shutil
import socket
import subprocess
from collections.abc import Iterator

from kvtiers.result.survival import Finding, Reason, Reply
from kvtiers.settings import mp
from lab.engines.launch import HOST
from lab.engines.process import guard
from lab.errors import LabError
from lab.paths import LOGS
from lab.trials.case import Again, CannotTryError, Case
from lab.trials.engine import Answer, Change, Engine, Prompt, variable
from lab.trials.stage import Stage
from lab.waiting import tries

_PASSWORD = "LMCACHE_RESP_PASSWORD"
_START_S, _POLL_S = 20.0, 0.05
_PATIENCE_S = 60.0  # twice what any call of the engine's waits for LMCache's server
_MIB = 1024**2


def killed(stage: Stage, case: Case) -> Again:
    """As a crash would; then it is back, and empty. LMCache's server does not connect anew: until it is restarted, only
    its RAM answers."""
    with contextlib.ExitStack() as first, contextlib.ExitStack() as second:
        first.enter_context(redis_server(stage.redis_port))
        _beside_redis(stage)
        prompt = stage.new_document("in Redis")
        cold = stage.first.ask(prompt)
        stage.only_files_are_left()
        first.close()
        answer = stage.first.attempt(prompt)
        second.enter_context(redis_server(stage.redis_port))
        later = stage.new_document("in Redis again")
        stage.first.ask(later)
        stage.only_files_are_left()
        recovers = stage.first.ask(later).loaded_tokens == stage.in_chunks(later)
        expected = Finding(0, Reply.SAME, recovers=False)
    return Again(expected, prompt, stage.first, answer, cold=cold, recovers=recovers)


def full(stage: Stage, case: Case) -> Again:
    """Room for two chunks and a half beside what Redis itself takes, and nothing may be thrown out. What is under way
    counts as well: how many chunks get in is a matter of chance."""
    chunk_bytes = stage.wanted.knobs.chunk_tokens * stage.pool.kv_bytes_per_token
    room = str(2 * _MIB + round(2.5 * chunk_bytes))
    with redis_server(stage.redis_port, "--maxmemory", room, "--maxmemory-policy", "noeviction"):
        _beside_redis(stage)
        prompt, cold = _stored(stage)
        stage.only_files_are_left()
        return Again(Finding(None, Reply.SAME), prompt, stage.first, stage.first.ask(prompt), cold=cold)


def refused(stage: Stage, case: Case) -> Again:
    """Nothing listens there when LMCache's server starts: it starts all the same."""
    _require_redis()
    return _waits_for_ever(stage)


def password(stage: Stage, case: Case) -> Again:
    """Redis wants another one."""
    with redis_server(stage.redis_port, "--requirepass", "right"):
        return _waits_for_ever(stage, variable(_PASSWORD, "wrong"))


def _waits_for_ever(stage: Stage, *changes: Change) -> Again:
    """Lookups in such a Redis never end, so no request does that is long enough to be looked up."""
    stage.stop_server()
    stage.await_degraded()
    stage.start_server(mp.Redis(HOST, stage.redis_port), *changes)
    stage.await_degraded()
    prompt = stage.new_document("looked up in vain")
    answer = stage.first.attempt(prompt, _PATIENCE_S)
    return Again(Finding(0, Reply.FAILED), prompt, stage.first, answer, lives=stage.first.lives())


def both_restart(stage: Stage, case: Case) -> Again:
    """Engine and server; Redis goes on."""
    with redis_server(stage.redis_port):
        _beside_redis(stage)
        prompt, cold = _stored(stage)
        stage.first.stop()
        stage.start_server(mp.Redis(HOST, stage.redis_port))
        stage.first.start()
        return _asked_again(stage, stage.first, prompt, cold)


def second_engine(stage: Stage, case: Case) -> Again:
    """It finds in Redis what the first computed."""
    with redis_server(stage.redis_port):
        _beside_redis(stage)
        prompt, cold = _stored(stage)
        stage.second.start()
        stage.cache.clear_ram()
        return _asked_again(stage, stage.second, prompt, cold)


@contextlib.contextmanager
def redis_server(port: int, *options: str) -> Iterator[None]:
    """Up on entry, killed on exit.

    Raises:
        CannotTryError: there is none on this machine.
        LabError: it does not come up.
    """
    program = _require_redis()
    command = [program, "--port", str(port), "--bind", HOST, "--save", "", "--appendonly", "no", *options]
    (LOGS / "trials").mkdir(parents=True, exist_ok=True)
    with (LOGS / "trials" / "redis.log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    watch = guard(process.pid)
    try:
        for is_last in tries(_START_S, _POLL_S):
            if _listens(port):
                break
            if is_last or process.poll() is not None:
                raise LabError(f"redis-server did not come up: {LOGS / 'trials' / 'redis.log'}")
        yield
    finally:
        process.kill()
        process.wait()
        watch.kill()
        watch.communicate()


def _require_redis() -> str:
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        raise CannotTryError(Reason.NO_REDIS)
    return program


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def _beside_redis(stage: Stage, *changes: Change) -> None:
    stage.replace_server(mp.Redis(HOST, stage.redis_port), *changes)


def _stored(stage: Stage) -> tuple[Prompt, Answer]:
    prompt = stage.new_document("in Redis")
    cold = stage.first.ask(prompt)
    stage.settle()
    return prompt, cold


def _asked_again(stage: Stage, engine: Engine, prompt: Prompt, cold: Answer) -> Again:
    return Again(Finding(stage.in_chunks(prompt), Reply.SAME), prompt, engine, engine.ask(prompt), cold=cold)
