"""The NVIDIA card that a run would use, as nvidia-smi and CUDA_VISIBLE_DEVICES name it, and why none can be used."""

import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from machine import MachineError
from machine.limits import available_memory_bytes, memory_limit_bytes

# CUDA 13, which vLLM 0.32.0's torch is built for, wants this driver (NVIDIA's release notes of CUDA 13.0).
LEAST_DRIVER = 580
# vLLM 0.32.0's wheel holds code for these; each also runs on later cards of the same major number.
CAPABILITIES = ((7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0))
# What an engine takes of a card beside weights and KV: a CUDA context, activations and logits of 2,048 tokens, CUDA
# graphs. Estimated, not measured.
LEAST_FREE_BYTES = 2 * 1024**3
_FIELDS = "index,uuid,name,driver_version,compute_cap,memory.total,memory.free"
_NOT_TOLD = "[Insufficient Permissions]"
# In WSL2 the program lies outside PATH.
_PLACES = ("nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi")
_PATIENCE_S = 30.0
_MIB = 1024**2
# What nvidia-smi says when it can't answer, and what helps.
_CURES = {
    "version mismatch": "the driver was updated under a running kernel module: reboot",
    "couldn't communicate": "no kernel module of the driver is loaded: install it, or reboot",
    "not a valid field": f"the driver is too old to be asked; CUDA 13 needs {LEAST_DRIVER} or newer",
    "no devices were found": "the driver runs and finds no card: see dmesg, or give the container one (--gpus all)",
    "nvml: unknown error": "the container has lost its card: start it anew",
}


@dataclass(frozen=True)
class Card:
    """``index`` counts as nvidia-smi does, in the order of the bus. ``unified``: it has no memory but the system's."""

    index: int
    uuid: str
    name: str
    driver: str
    capability: tuple[int, int]
    total_bytes: int
    free_bytes: int
    unified: bool = False

    def __str__(self) -> str:
        memory = "the system's memory" if self.unified else f"{self.total_bytes // _MIB} MiB"
        return f"{self.name}, {memory}"

    def unfit(self) -> str:
        """Why vLLM can't run on it; empty text where it can."""
        if not self.driver.split(".")[0].isdigit() or int(self.driver.split(".")[0]) < LEAST_DRIVER:
            return f"driver {self.driver} is too old for CUDA 13: install {LEAST_DRIVER} or newer"
        major, minor = self.capability
        if not any(major == with_code and minor >= least for with_code, least in CAPABILITIES):
            known = ", ".join(f"{major}.{minor}" for major, minor in CAPABILITIES)
            return f"its compute capability is {major}.{minor}, and vLLM's wheel has code for {known}"
        if self.free_bytes < LEAST_FREE_BYTES:
            free, least = self.free_bytes // _MIB, LEAST_FREE_BYTES // _MIB
            return f"{free} MiB of it are free, and an engine takes {least} beside its model: end other programs on it"
        return ""


@dataclass(frozen=True)
class Choice:
    """The engine to use: ``cuda`` with its card, or ``cpu``; ``why``: what speaks against a GPU, where one was looked
    for."""

    engine: str
    card: Card | None = None
    why: str = ""


def choose(wanted: str) -> Choice:
    """``cpu``, ``cuda``, or for ``auto`` the one that fits this machine.

    Raises:
        MachineError: ``cuda`` is wanted, and no card can be used; the message says why.
    """
    if wanted == "cpu":
        return Choice("cpu")
    try:
        return Choice("cuda", find_card())
    except MachineError as reason:
        if wanted == "cuda":
            raise
        return Choice("cpu", why=str(reason))


def find_card() -> Card:
    """Of the cards that CUDA_VISIBLE_DEVICES leaves and vLLM can run on, the one with the most memory free.

    Raises:
        MachineError: there is none; the message says why.
    """
    seen = visible(parse(_answer()), os.environ.get("CUDA_VISIBLE_DEVICES"))
    fit = [card for card in seen if not card.unfit()]
    if not fit:
        raise MachineError("; ".join(f"{card.name}: {card.unfit()}" for card in seen))
    return max(fit, key=lambda card: card.free_bytes)


def parse(answer: str) -> list[Card]:
    """Cards of nvidia-smi's lines.

    Raises:
        MachineError: a line that is none of a card.
    """
    return [_card(line) for line in answer.splitlines() if line.strip()]


def visible(cards: Sequence[Card], wanted: str | None) -> list[Card]:
    """Those that CUDA_VISIBLE_DEVICES, ``wanted``, leaves: all where it is None. As CUDA does, stops at a wrong name.

    Raises:
        MachineError: none is left.
    """
    if wanted is None:
        return list(cards)
    left: list[Card] = []
    for name in wanted.replace(" ", "").split(","):
        if name.startswith("MIG-"):
            raise MachineError(f"CUDA_VISIBLE_DEVICES names a part of a card ({name}): name a whole one")
        named = [card for card in cards if name == str(card.index) or (name and card.uuid.startswith(name))]
        if len(named) != 1:
            break
        left += named
    if not left:
        there = ", ".join(f"{card.index} ({card.name})" for card in cards)
        raise MachineError(f"CUDA_VISIBLE_DEVICES={wanted!r} leaves no card; there are {there}")
    return left


def in_wsl() -> bool:
    """Is this Linux inside Windows? As vLLM asks."""
    return "microsoft" in platform.release().lower()


def _answer() -> str:
    program = next((path for place in _PLACES if (path := shutil.which(place))), None)
    if program is None:
        raise MachineError("no nvidia-smi: no NVIDIA driver is installed, or this container was given no card")
    command = [program, f"--query-gpu={_FIELDS}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_PATIENCE_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise MachineError(f"nvidia-smi did not answer in {_PATIENCE_S:.0f} s: the driver hangs, see dmesg") from None
    except OSError as error:
        raise MachineError(f"{program} does not run: {error.strerror}") from error
    said = " ".join((done.stdout + done.stderr).split())
    if done.returncode or not done.stdout.strip() or "No devices" in said:
        cure = next((cure for words, cure in _CURES.items() if words in said.lower()), "")
        message = f"nvidia-smi ended with {done.returncode}: {said[:200] or 'nothing said'}"
        raise MachineError(f"{message} ({cure})" if cure else message)
    return done.stdout


def _card(line: str) -> Card:
    fields = [field.strip() for field in line.split(",")]
    name = fields[2] if len(fields) > 2 else line.strip()
    try:
        index, uuid, name, driver, capability, total, free = fields
        major, minor = capability.split(".")
        unified = total.startswith("[")  # "[N/A]" or "[Not Supported]": a GB10 has no memory of its own
        total_bytes = (memory_limit_bytes() or 0) if unified else int(total) * _MIB
        free_bytes = (available_memory_bytes() or 0) if unified else int(free) * _MIB
        return Card(int(index), uuid, name, driver, (int(major), int(minor)), total_bytes, free_bytes, unified)
    except ValueError:
        if _NOT_TOLD in line:  # as of a card that is split, while a program uses a part of it
            raise MachineError(
                f"nvidia-smi does not tell the free memory of {name}: is MIG on? The lab takes whole cards: name "
                "another with CUDA_VISIBLE_DEVICES, or let who may switch MIG off"
            ) from None
        raise MachineError(f"nvidia-smi gave a line that can't be read: {line.strip()[:200]!r}") from None
