"""Drives that refuse: each is a small one in memory that only LMCache's server sees, so it is gone when that is."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace

from kvtiers.result.survival import Finding, Reason, Reply
from kvtiers.settings.mp import Drive
from lab.engines.launch import Launch
from lab.errors import LabError
from lab.trials.case import Again, CannotTryError, Case
from lab.trials.engine import Change
from lab.trials.stage import Stage

_MIB = 1024**2
_ROOM = "size=256m,nr_inodes=1000"
_MOUNT = 'mount -t tmpfs -o "$1" tmpfs "$2" && shift 2 && exec "$@"'


def read_only(stage: Stage, case: Case) -> Again:
    """Nothing new is kept below RAM, and nobody is told."""
    return _trial(stage, case, lambda chunk_mib: "ro", chunks=0)


def full(stage: Stage, case: Case) -> Again:
    """Room for two chunks and a half."""
    return _trial(stage, case, lambda chunk_mib: f"size={5 * chunk_mib // 2}m", chunks=2)


def no_inodes(stage: Stage, case: Case) -> Again:
    """Names for two files beside the directory's own."""
    return _trial(stage, case, lambda chunk_mib: "nr_inodes=3", chunks=2)


def _trial(stage: Stage, case: Case, options: Callable[[int], str], chunks: int) -> Again:
    """A document is stored on such a drive, and asked for again when it lies nowhere else; then the drive is mended."""
    if not _can_mount():
        raise CannotTryError(Reason.NO_MOUNT)
    chunk_mib = round(stage.wanted.knobs.chunk_tokens * stage.pool.kv_bytes_per_token / _MIB)
    place = str(stage.directory)
    stage.replace_server(Drive(place, direct_io=False), _on_small_drive(_ROOM, place))
    _remount(stage, options(chunk_mib))
    prompt = stage.new_document("on a small drive")
    cold = stage.first.ask(prompt)
    stage.only_files_are_left()
    answer = stage.first.ask(prompt)
    _remount(stage, f"rw,{_ROOM}")
    later = stage.new_document("on a mended drive")
    stage.first.ask(later)
    stage.only_files_are_left()
    recovers = stage.first.ask(later).loaded_tokens == stage.in_chunks(later)
    expected = Finding(chunks * stage.wanted.knobs.chunk_tokens, Reply.SAME, recovers=True)
    return Again(expected, prompt, stage.first, answer, cold=cold, recovers=recovers)


def _can_mount() -> bool:
    probe = [*_unshare(), "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    try:
        return not subprocess.run(probe, capture_output=True, check=False).returncode
    except OSError:
        return False


def _unshare() -> list[str]:
    """A view of the file systems of its own; for who isn't root, as root of its own."""
    return ["unshare", "--mount", *(() if os.geteuid() == 0 else ("--user", "--map-root-user"))]


def _on_small_drive(options: str, place: str) -> Change:
    def change(launch: Launch) -> Launch:
        return replace(launch, command=(*_unshare(), "sh", "-c", _MOUNT, "sh", options, place, *launch.command))

    return change


def _remount(stage: Stage, options: str) -> None:
    """What lies there goes, once nothing is still on its way there: a document begins with all the room that there is.

    Raises:
        LabError: with mount's own words.
    """
    stage.settle()
    enter = ["nsenter", "--target", str(stage.server.pid), "--mount"]
    if os.geteuid():
        enter += ["--user", "--preserve-credentials"]
    place = str(stage.directory)
    script = f'rm -f "$1"/*.data; mount -o remount,{options} "$1"'
    done = subprocess.run([*enter, "sh", "-c", script, "sh", place], capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"the small drive could not be changed: {done.stderr.strip()}")
