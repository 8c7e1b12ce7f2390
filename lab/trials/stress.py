"""``lab stress``: faults on purpose, each with what is expected of it."""

from kvtiers.result.survival import Reply, Scenario
from lab.trials import changes, kills, redis, volumes
from lab.trials.aborts import aborts
from lab.trials.case import Again, Case, Scenarios, asked
from lab.trials.stage import Stage


def _chunk_damaged(stage: Stage, case: Case) -> Again:
    """Bytes changed in one file: the length is right, and nothing else is looked at."""
    stage.only_files_are_left()
    victim = max(case.files)
    whole = victim.read_bytes()
    victim.write_bytes(bytes(len(whole) // 2) + whole[len(whole) // 2 :])
    return asked(stage.first, case.prompt, stage.in_chunks(case.prompt), Reply.WRONG)


# In this order: what needs no start comes first.
STRESS: Scenarios = {
    Scenario.CHUNK_DAMAGED: _chunk_damaged,
    Scenario.ABORTS: aborts,
    Scenario.DIRECTORY_READ_ONLY: volumes.read_only,
    Scenario.DRIVE_FULL: volumes.full,
    Scenario.NO_INODES: volumes.no_inodes,
    Scenario.REDIS_KILLED: redis.killed,
    Scenario.REDIS_FULL: redis.full,
    Scenario.REDIS_REFUSED: redis.refused,
    Scenario.REDIS_PASSWORD: redis.password,
    Scenario.ENGINE_KILLED_STORING: kills.engine_killed_storing,
    Scenario.SERVER_KILLED: kills.server_killed,
    Scenario.SERVER_KILLED_STORING: kills.server_killed_storing,
    Scenario.SERVER_BACK_AT_ONCE: kills.server_back_at_once,
    Scenario.SERVER_KILLED_DEFAULTS: kills.by_default(kills.server_killed),
    Scenario.SERVER_KILLED_STORING_DEFAULTS: kills.by_default(kills.server_killed_storing),
    Scenario.KV_TYPE_CHANGED: changes.kv_type,
    Scenario.WEIGHTS_CHANGED: changes.weights,
    Scenario.BLOCK_SIZE_CHANGED: changes.block_size,
    Scenario.HASH_SEED_CHANGED: changes.hash_seed,
}
