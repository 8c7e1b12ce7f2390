"""One directory of chunks, and an engine that would compute other KV: keys name tokens and the model's path only."""

from kvtiers.result.survival import Finding, Reply
from lab.engines.launch import Launch
from lab.engines.models import make
from lab.trials.case import Again, Case
from lab.trials.engine import Change, option, variable
from lab.trials.stage import Stage

_OTHER_SEED = 7


def kv_type(stage: Stage, case: Case) -> Again:
    """Of one size, so that nothing is refused."""
    return _changed(stage, [option("--dtype", "bfloat16")], [option("--dtype", "float16")], Reply.WRONG)


def block_size(stage: Stage, case: Case) -> Again:
    """Half of what it was: vLLM's CPU backend packs a block's keys and values by its size."""
    half = option("--block-size", str(stage.wanted.preset.block_tokens // 2))
    twice = option("--num-gpu-blocks-override", str(2 * stage.pool.blocks - 1))
    return _changed(stage, [], [half, twice], Reply.WRONG)


def hash_seed(stage: Stage, case: Case) -> Again:
    """LMCache's server hashes tokens itself, by blake3."""
    return _changed(stage, [], [variable("PYTHONHASHSEED", "1")], Reply.SAME)


def weights(stage: Stage, case: Case) -> Again:
    """Others under the same path, as a fine-tuned model that replaces its base."""
    path = stage.scratch / "model"
    path.symlink_to(stage.wanted.preset.model)
    here = option("--model", str(path))
    other = stage.scratch / "other"
    make(other, _OTHER_SEED)

    def swapped(launch: Launch) -> Launch:
        path.unlink()
        path.symlink_to(other)
        return here(launch)

    return _changed(stage, [here], [swapped], Reply.WRONG)


def _changed(stage: Stage, before: list[Change], after: list[Change], reply: Reply) -> Again:
    """Stored by an engine as it was before, asked for by one as it is after, and computed by that one too."""
    prompt = stage.new_document("changed")
    stage.first.restart(*before)
    stage.first.ask(prompt)
    stage.settle()
    stage.cache.clear_ram()
    stage.first.restart(*after)
    answer = stage.first.ask(prompt)
    stage.forget()
    cold = stage.first.ask(prompt)
    return Again(Finding(stage.in_chunks(prompt), reply), prompt, stage.first, answer, cold=cold)
