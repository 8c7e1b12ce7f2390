"""One look at the machine before a command: everything that is missing, told at once, before anything is downloaded."""

from machine import MachineError, gpu, kinds, memory, needs, packages, space
from machine.commands import WITH_ENGINE


def look(command: str, wanted_engine: str) -> None:
    """Returns when ``make command`` can run here; what root may bring with apt has been brought then.

    Raises:
        MachineError: it can't; the message lists why, and what to do.
    """
    engine = gpu.choose(wanted_engine).engine if command in WITH_ENGINE else ""
    for remark in (kinds.remark(kinds.this_kind(), command, engine), space.remark(command, engine)):
        if remark:
            print(remark, flush=True)
    lacking = needs.missing(command, engine)
    complaints = (
        space.complaint(command, engine),
        space.unwritable(command),
        space.unshared(command, engine),
        memory.complaint(command, engine),
    )
    short = [text for text in complaints if text]
    if short:
        raise MachineError("\n".join([*short, *([packages.listed(lacking, command)] if lacking else [])]))
    if lacking:
        packages.bring(lacking, command)
        if still := needs.missing(command, engine):
            raise MachineError(f"installed, and not found all the same: {', '.join(need.what for need in still)}")
