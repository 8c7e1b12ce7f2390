"""``lab stress``: faults on purpose, each with what is expected of it."""

from kvtiers.result.survival import Reply, Scenario
from lab.trials import changes, kills, redis, volumes
from lab.trials.aborts import aborts
from lab.trials.case import Again, Case, Scenarios, Trial, asked
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
    Scenario.CHUNK_DAMAGED: Trial(_chunk_damaged),
    Scenario.ABORTS: Trial(aborts),
    Scenario.DIRECTORY_READ_ONLY: Trial(volumes.read_only),
    Scenario.DRIVE_FULL: Trial(volumes.full),
    Scenario.NO_INODES: Trial(volumes.no_inodes),
    Scenario.REDIS_KILLED: Trial(redis.killed),
    Scenario.REDIS_FULL: Trial(redis.full),
    Scenario.REDIS_REFUSED: Trial(redis.refused),
    Scenario.REDIS_PASSWORD: Trial(redis.password),
    Scenario.ENGINE_KILLED_STORING: Trial(kills.engine_killed_storing),
    Scenario.SERVER_KILLED: Trial(kills.server_killed),
    Scenario.SERVER_KILLED_STORING: Trial(kills.server_killed_storing),
    Scenario.SERVER_BACK_AT_ONCE: Trial(kills.server_back_at_once, kills.seldom_looking),
    Scenario.SERVER_KILLED_DEFAULTS: Trial(kills.server_killed, kills.by_default),
    Scenario.SERVER_KILLED_STORING_DEFAULTS: Trial(kills.server_killed_storing, kills.by_default),
    Scenario.WEIGHTS_CHANGED: Trial(changes.weights, changes.behind_a_link),
    Scenario.BLOCK_SIZE_CHANGED: Trial(changes.block_size),
    Scenario.HASH_SEED_CHANGED: Trial(changes.hash_seed),
    Scenario.KV_TYPE_CHANGED: Trial(changes.kv_type, changes.bf16),
}
