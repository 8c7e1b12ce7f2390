"""A document's chunk files by their place in it, which their names hide."""

from pathlib import Path

from lab.errors import LabError
from lab.trials.case import Case
from lab.trials.stage import Stage


def in_order(stage: Stage, case: Case) -> list[Path]:
    """Store its chunks anew, one by one, until they lie nowhere but in these files."""
    for file in case.files:
        file.unlink()
    stage.only_files_are_left()
    chunk, found = stage.wanted.knobs.chunk_tokens, list[Path]()
    known = stage.files()
    for end in range(chunk, len(case.prompt), chunk):
        stage.first.ask(case.prompt[: end + 1])
        stage.settle()
        new = stage.files() - known
        if len(new) != 1:
            raise LabError(f"a chunk of {chunk} tokens was stored in {len(new)} files, where one was expected")
        found += new
        known |= new
    stage.only_files_are_left()
    return found
