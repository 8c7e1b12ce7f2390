"""One directory of chunks, and an engine that would compute other KV: keys name tokens and the model's path only."""

from kvtiers.result.survival import Finding, Reply
from lab.engines.models import make
from lab.trials.case import Again, Case
from lab.trials.engine import Change, option, variable
from lab.trials.stage import Stage

_OTHER_SEED = 7


def bf16(stage: Stage) -> list[Change]:
    """An engine that computes and keeps KV in this type."""
    return [option("--dtype", "bfloat16")]


def kv_type(stage: Stage, case: Case) -> Again:
    """Another of one size, so that nothing is refused."""
    return _asked_by(stage, case, Reply.WRONG, option("--dtype", "float16"))


def behind_a_link(stage: Stage) -> list[Change]:
    """An engine whose model lies behind a link, which may lead elsewhere later."""
    link = stage.scratch / "model"
    link.symlink_to(stage.wanted.preset.model)
    return [option("--model", str(link))]


def weights(stage: Stage, case: Case) -> Again:
    """Others under the same path, as where a fine-tuned model replaces its base."""
    link, other = stage.scratch / "model", stage.scratch / "other"
    make(other, _OTHER_SEED)
    link.unlink()
    link.symlink_to(other)
    return _asked_by(stage, case, Reply.WRONG, option("--model", str(link)))


def block_size(stage: Stage, case: Case) -> Again:
    """Half of what it was: vLLM's CPU backend packs a block's keys and values by its size."""
    half = option("--block-size", str(stage.wanted.preset.block_tokens // 2))
    return _asked_by(
        stage, case, Reply.WRONG, half, option("--num-gpu-blocks-override", str(2 * stage.pool.blocks - 1))
    )


def hash_seed(stage: Stage, case: Case) -> Again:
    """LMCache's server hashes tokens itself, by blake3."""
    return _asked_by(stage, case, Reply.SAME, variable("PYTHONHASHSEED", "1"))


def _asked_by(stage: Stage, case: Case, reply: Reply, *changes: Change) -> Again:
    """The next engine asks for what the one before has stored, and then computes it itself."""
    stage.cache.clear_ram()
    stage.first.restart(*changes)
    answer = stage.first.ask(case.prompt)
    stage.forget()
    cold = stage.first.ask(case.prompt)
    return Again(Finding(stage.in_chunks(case.prompt), reply), case.prompt, stage.first, answer, cold=cold)
