"""From machine and traffic to settings: the judge's verdict, sized, wired, with what must hold for it to work."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kvtiers.errors import KvtiersError
from kvtiers.ledger.tiers import Tier, Traffic, Verdict, judge
from kvtiers.settings.version_pairs import known_pairs, verdict
from kvtiers.settings.wiring import (
    STAGING_GIB,
    Plan,
    Wiring,
    exports,
    lmcache_environment,
    lmcache_yaml,
    server_command,
    settings,
    shared_environment,
    vllm_command,
)
from kvtiers.units import GIB, positive

# Room beside the prefixes themselves: tails, chunks of other prompts, what is being replaced.
_SLACK = 1.2
_DRIVE_SHARE = 0.9
_TIERING_SINCE = (0, 22)
_WIRING_OF = {Tier.CPU: Wiring.CPU, Tier.SSD: Wiring.CPU_SSD}


@dataclass(frozen=True)
class Machine:
    """What the server has, all workers together. ``drive``: a directory on the drive for KV, absolute."""

    free_vram_gib: float
    cpu_ram_gib: float
    drive: str = "/mnt/nvme/lmcache"
    drive_free_gib: float | None = None
    tensor_parallel: int = 1


@dataclass(frozen=True)
class Advice:
    """The verdict and what follows from it. ``plan`` is None where no tier below the GPU is needed.

    ``notes`` and ``proof`` are ids of the doctor's texts, with their values.
    """

    verdict: Verdict
    plan: Plan | None
    notes: tuple[tuple[str, dict[str, Any]], ...]
    proof: tuple[str, ...]


def advise(
    model: str,
    kv_bytes_per_token: float,
    traffic: Traffic,
    machine: Machine,
    *,
    wiring: Wiring | None = None,
    versions: Mapping[str, str] | None = None,
) -> Advice:
    """What to run.

    Args:
        model: as ``vllm serve`` takes it.
        kv_bytes_per_token: of all layers and ranks.
        traffic: prefixes to keep.
        machine: where.
        wiring: instead of the one that follows from the verdict.
        versions: ``vllm`` and ``lmcache``, where known.

    Raises:
        KvtiersError: for numbers that make no sense.
    """
    found = judge(traffic, kv_bytes_per_token, machine.free_vram_gib, machine.cpu_ram_gib)
    chosen = wiring or _WIRING_OF.get(found.tier)
    notes = _version_notes(versions or {}, chosen)
    if chosen is None:
        return Advice(found, None, tuple(notes), ())
    if machine.tensor_parallel < 1:
        raise KvtiersError(f"tensor_parallel must be at least 1, got {machine.tensor_parallel}")
    longest_gib = traffic.context_tokens * kv_bytes_per_token / GIB
    plan = _sized(Plan(chosen, model, max_model_len=math.ceil(traffic.context_tokens)), machine, found, longest_gib)
    notes += _size_notes(found, machine, chosen, plan)
    return Advice(found, plan, tuple(notes), proof(chosen))


def _sized(unsized: Plan, machine: Machine, found: Verdict, longest_gib: float) -> Plan:
    workers = machine.tensor_parallel
    wanted_gib = _SLACK * found.needed_bytes / GIB
    cpu_gib = min(wanted_gib, machine.cpu_ram_gib) if machine.cpu_ram_gib else STAGING_GIB
    drive_gib = machine.drive_free_gib
    disk_gib = (
        wanted_gib if drive_gib is None else min(wanted_gib, _DRIVE_SHARE * positive("drive_free_gib", drive_gib))
    )
    # A load needs the whole prefix in host memory at once; two at a time must fit.
    staging_gib = max(STAGING_GIB, 2 * longest_gib / workers)
    return replace(
        unsized,
        cpu_gib=_round(max(cpu_gib / workers, staging_gib)),
        disk_gib=_round(disk_gib / workers, down=drive_gib is not None),
        disk_path=machine.drive,
        tensor_parallel=workers,
        staging_gib=_round(staging_gib),
    )


def _round(gib: float, down: bool = False) -> float:
    """To a tenth, up unless a limit stands above."""
    return max(0.1, (math.floor if down else math.ceil)(round(gib * 10, 6)) / 10)


def _size_notes(found: Verdict, machine: Machine, wiring: Wiring, plan: Plan) -> list[tuple[str, dict[str, Any]]]:
    notes: list[tuple[str, dict[str, Any]]] = []
    needed_gib = found.needed_bytes / GIB
    on_disk = wiring not in (Wiring.CPU, Wiring.REDIS, Wiring.S3)
    if on_disk and machine.drive_free_gib is not None and needed_gib > _DRIVE_SHARE * machine.drive_free_gib:
        notes.append(("drive_too_small", {"needed_gib": needed_gib, "free_gib": machine.drive_free_gib}))
    if wiring is Wiring.CPU and needed_gib > machine.cpu_ram_gib:
        notes.append(("ram_too_small", {"needed_gib": needed_gib, "ram_gib": machine.cpu_ram_gib}))
    if plan.cpu_gib * machine.tensor_parallel > max(machine.cpu_ram_gib, 0) and wiring is not Wiring.SSD_DEMO:
        notes.append(
            ("staging_over_ram", {"gib": plan.cpu_gib * machine.tensor_parallel, "ram_gib": machine.cpu_ram_gib})
        )
    if wiring in (Wiring.DIRECTORY, Wiring.MP_SERVER, Wiring.VLLM_TIERING):
        notes.append(("unbounded_directory", {"path": machine.drive}))
    notes.append(("survives" if wiring.survives_restart else "lost_at_restart", {}))
    return notes


def _version_notes(versions: Mapping[str, str], wiring: Wiring | None) -> list[tuple[str, dict[str, Any]]]:
    notes: list[tuple[str, dict[str, Any]]] = []
    vllm, lmcache = versions.get("vllm"), versions.get("lmcache")
    numbers = {name: _numbers(version) for name, version in versions.items()}
    if vllm and wiring is Wiring.VLLM_TIERING and numbers["vllm"] < _TIERING_SINCE:
        raise KvtiersError(f"vLLM {vllm} has no TieringOffloadingSpec with a file-system tier: it came with 0.22")
    if vllm and lmcache and wiring is not Wiring.VLLM_TIERING:
        pair = verdict(vllm, lmcache, known_pairs())
        values = {"vllm": vllm, "lmcache": lmcache}
        if pair is None:
            notes.append(("pair_unknown", values))
        elif pair.works:
            notes.append(("pair_works", {**values, "said_by": pair.source, "date": pair.date}))
        else:
            notes.append(("pair_fails", {**values, "what": pair.what, "said_by": pair.source, "date": pair.date}))
    return notes


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")[:2]
    if not all(part.isdecimal() for part in parts):
        raise KvtiersError(f"a version must look like 0.32.0, got {version!r}")
    return tuple(int(part) for part in parts)


def proof(wiring: Wiring) -> tuple[str, ...]:
    """How to see that it works, step by step: ids of the doctor's texts."""
    started = {
        Wiring.CPU_SSD: ("disk_line",),
        Wiring.SSD_DEMO: ("disk_line",),
        Wiring.MP_SERVER: ("mp_line",),
        Wiring.VLLM_TIERING: ("tiering_metric",),
    }
    asked = {Wiring.MP_SERVER: ("mp_hit",), Wiring.VLLM_TIERING: ()}
    return (*started.get(wiring, ("connector_line",)), *asked.get(wiring, ("hit_line",)), "check", "changed_token")


def files(plan: Plan) -> dict[str, str]:
    """What to paste, by kind: ``command``, and where they apply ``server``, ``environment``, ``yaml``.

    ``environment`` and ``yaml`` say the same; PYTHONHASHSEED goes into the environment in either case.
    """
    values = settings(plan)
    server = server_command(plan)
    return {
        **({"server": server} if server else {}),
        "environment": exports(shared_environment() | lmcache_environment(values)),
        **({"yaml": lmcache_yaml(values)} if values else {}),
        "command": vllm_command(plan),
    }
