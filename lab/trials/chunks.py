"""A document's chunk files by their place in it, which their names hide."""

from pathlib import Path

from lab.errors import LabError
from lab.trials.case import Case
from lab.trials.stage import Stage


def in_order(stage: Stage) -> tuple[Case, list[Path]]:
    """A new document that is stored chunk by chunk, and the files of its chunks."""
    prompt, chunk, found = stage.new_document("in order"), stage.wanted.knobs.chunk_tokens, list[Path]()
    known = stage.files()
    for end in range(chunk, len(prompt), chunk):
        stage.first.ask(prompt[: end + 1])
        stage.settle()
        new = stage.files() - known
        if len(new) != 1:
            raise LabError(f"a chunk of {chunk} tokens was stored in {len(new)} files, where one was expected")
        found += new
        known |= new
    return Case(prompt, stage.first.ask(prompt), set(found)), found
