"""From host and traffic to settings: the judge's verdict, sized, wired, with what must hold for it to work.

MP mode first, vLLM's own tiering second, LMCache inside the engine only where the versions allow it.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from kvtiers.errors import KvtiersError
from kvtiers.ledger.tiers import Tier, Traffic, Verdict, judge
from kvtiers.settings.known_pairs import known_pair
from kvtiers.settings.lacking import lacking
from kvtiers.settings.mp import server_command
from kvtiers.settings.version_pairs import LMCacheMode, numbers
from kvtiers.settings.wiring import (
    STAGING_GIB,
    Plan,
    Platform,
    Wiring,
    engine_command,
    engine_environment,
    exports,
    has_own_redis,
    lmcache_yaml,
    mp_mode,
    settings,
    shell,
)
from kvtiers.units import GIB, positive

# Room beside the prefixes themselves; LMCache's server begins to evict at 80 % of a tier.
_SLACK = 1.25
_DRIVE_SHARE = 0.9
_TIERING_SINCE = (0, 22)
# LMCache inside the engine is kept working on a GPU up to vLLM 0.25.
_IN_PROCESS_BEFORE = (0, 26)
# Notes beside which there is no plan: the versions, told or not, rule it out.
VERSION_REFUSALS = ("pair_fails", "pair_may_fail", "pair_unkept", "release_lacks")
_WIRING_OF = {Tier.CPU: Wiring.MP_RAM, Tier.SSD: Wiring.MP_DRIVE, Tier.REMOTE: Wiring.MP_REDIS}
Note = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Hardware:
    """What there is, all workers together. ``drive``: a directory on the drive for KV, absolute; ``redis_url`` and
    ``s3_url``: the store that a remote tier uses."""

    free_vram_gib: float
    cpu_ram_gib: float
    drive: str = "/mnt/nvme/lmcache"
    drive_free_gib: float | None = None
    tensor_parallel: int = 1
    platform: Platform = Platform.CUDA
    redis_url: str = Plan.redis_url
    s3_url: str = Plan.s3_url
    s3_region: str = Plan.s3_region


@dataclass(frozen=True)
class Served:
    """What is served: ``model`` as ``vllm serve`` takes it, KV bytes per token of all layers and ranks.

    ``tier_bytes_per_token``: below the GPU, where KV is not always kept as the GPU keeps it. ``kv_dtype``, ``hybrid``
    (layers with states besides attention), the prefill rate and the versions: empty or None where not said.
    """

    model: str
    kv_bytes_per_token: float
    tier_bytes_per_token: float | None = None
    kv_dtype: str = ""
    hybrid: bool | None = None
    prefill_tokens_per_s: float | None = None
    vllm: str = ""
    lmcache: str = ""

    @property
    def tier_bytes(self) -> float:
        """KV bytes per token in a tier: the GPU's unless said otherwise."""
        if self.tier_bytes_per_token is None:
            return self.kv_bytes_per_token
        return positive("tier_bytes_per_token", self.tier_bytes_per_token)


@dataclass(frozen=True)
class Advice:
    """The verdict and what follows from it. ``plan`` is None where no tier is needed, or none may be recommended.

    ``notes`` and ``proof`` are ids of the doctor's texts, with their values.
    """

    verdict: Verdict
    plan: Plan | None
    notes: tuple[Note, ...]
    proof: tuple[str, ...]


def advise(served: Served, traffic: Traffic, host: Hardware, *, wiring: Wiring | None = None) -> Advice:
    """What to run; ``wiring`` instead of the one that follows from the verdict.

    Numbers that make no sense are refused, and versions that can't have what is asked for.
    """
    verdict = _judge(served, traffic, host)
    chosen = wiring or _WIRING_OF.get(verdict.tier)
    if chosen is None:
        return Advice(verdict, None, (), ())
    if host.tensor_parallel < 1:
        raise KvtiersError(f"tensor_parallel must be at least 1, got {host.tensor_parallel}")
    if chosen.mode is LMCacheMode.MP and served.hybrid and not wiring:
        return Advice(verdict, None, (("hybrid", {}),), ())
    versions = _version_notes(served, host, chosen)
    if any(name in VERSION_REFUSALS for name, _ in versions):
        return Advice(verdict, None, versions, ())
    plan = _sized(served, traffic, host, chosen, verdict)
    if lacks := lacking(plan, served.vllm, served.lmcache):
        needed = ", ".join(f"{written} ({lack.since or '≤ ' + lack.until})" for written, lack in lacks)
        values = {"vllm": served.vllm or "?", "lmcache": served.lmcache or "?", "names": needed}
        return Advice(verdict, None, (*versions, ("release_lacks", values)), ())
    notes = (*versions, *_size_notes(verdict, host, plan), *place_notes(plan), *_risk_notes(served, host, chosen))
    return Advice(verdict, plan, notes, proof(chosen))


def _judge(served: Served, traffic: Traffic, host: Hardware) -> Verdict:
    """VRAM holds what the GPU keeps, RAM what the tier keeps."""
    rate = served.prefill_tokens_per_s
    on_gpu = judge(traffic, served.kv_bytes_per_token, host.free_vram_gib, host.cpu_ram_gib, rate)
    if on_gpu.tier in (Tier.NONE, Tier.VRAM):
        return on_gpu
    below = judge(traffic, served.tier_bytes, 0, host.cpu_ram_gib, rate)
    return replace(below, free_vram_bytes=on_gpu.free_vram_bytes)


def _sized(served: Served, traffic: Traffic, host: Hardware, wiring: Wiring, verdict: Verdict) -> Plan:
    workers = host.tensor_parallel
    wanted_gib = _SLACK * verdict.needed_bytes / GIB
    # A load needs the whole prefix in host memory at once; two at a time must fit.
    longest_gib = traffic.context_tokens * served.tier_bytes / GIB
    staging_gib = _tenths(max(STAGING_GIB, 2 * longest_gib / workers))
    least_gib = staging_gib * workers if wiring.mode is LMCacheMode.IN_PROCESS else 2 * _SLACK * longest_gib
    cpu_gib = max(min(wanted_gib, host.cpu_ram_gib), least_gib)
    disk_gib, bounded = wanted_gib, wiring.on_drive and host.drive_free_gib is not None
    if bounded:
        disk_gib = min(wanted_gib, _DRIVE_SHARE * positive("drive_free_gib", host.drive_free_gib or 0))
    return Plan(
        wiring,
        served.model,
        cpu_gib=_tenths(cpu_gib),
        disk_gib=_tenths(disk_gib, down=bounded),
        disk_path=own_directory(host.drive, served),
        redis_url=host.redis_url,
        s3_url=host.s3_url,
        s3_region=host.s3_region,
        max_model_len=math.ceil(traffic.context_tokens),
        tensor_parallel=workers,
        staging_gib=staging_gib,
        platform=host.platform,
    )


def own_directory(drive: str, served: Served) -> str:
    """A directory for these only: keys leave the KV dtype and vLLM's version out, and wrong KV would be a full hit."""
    model = served.model.rstrip("/").rsplit("/", 1)[-1]
    parts = filter(None, (model, served.kv_dtype, f"vllm-{served.vllm}" if served.vllm else ""))
    return f"{drive.rstrip('/')}/" + re.sub(r"[^\w.]+", "-", "-".join(parts)).strip("-")


def _tenths(gib: float, down: bool = False) -> float:
    """To a tenth, up unless a limit stands above."""
    return max(0.1, (math.floor if down else math.ceil)(round(gib * 10, 6)) / 10)


def _size_notes(verdict: Verdict, host: Hardware, plan: Plan) -> Iterator[Note]:
    needed_gib, ram_gib = verdict.needed_bytes / GIB, host.cpu_ram_gib
    if plan.wiring.on_drive and host.drive_free_gib is not None and needed_gib > _DRIVE_SHARE * host.drive_free_gib:
        yield "drive_too_small", {"needed_gib": needed_gib, "free_gib": host.drive_free_gib}
    if plan.wiring in (Wiring.MP_RAM, Wiring.IN_PROCESS_RAM) and needed_gib > ram_gib:
        yield "ram_too_small", {"needed_gib": needed_gib, "ram_gib": ram_gib}
    if plan.cpu_gib > ram_gib and plan.wiring is not Wiring.IN_PROCESS_DISK_ONLY:
        yield "staging_over_ram", {"gib": plan.cpu_gib, "ram_gib": ram_gib}


def place_notes(plan: Plan) -> Iterator[Note]:
    """Where KV is kept: how that is bounded, whether it is found again."""
    match plan.wiring:
        case Wiring.MP_DRIVE | Wiring.IN_PROCESS_DIRECTORY | Wiring.VLLM_TIERING:
            yield "unbounded_directory", {"path": plan.disk_path}
        case Wiring.MP_REDIS:
            if has_own_redis(plan):
                yield "redis_here", {"url": plan.redis_url}
            yield "redis_bound", {"gib": plan.disk_gib}
        case Wiring.MP_S3:
            if plan.s3_url == Plan.s3_url:
                yield "bucket_made_up", {"url": plan.s3_url}
            yield "bucket_bound", {"gib": plan.disk_gib}
    yield "survives" if plan.wiring.survives_restart else "lost_at_restart", {}
    if plan.wiring.mode is LMCacheMode.MP and plan.wiring.survives_restart:
        yield "own_directory", {}


def _risk_notes(served: Served, host: Hardware, wiring: Wiring) -> Iterator[Note]:
    if wiring.mode is LMCacheMode.IN_PROCESS:
        yield "legacy", {}
    mode = mp_mode(Plan(wiring, served.model))
    if mode is not None:
        yield "mp_server_dies", {"timeout_s": mode.mq_timeout_s, "heartbeat_s": mode.heartbeat_s}
        yield "mp_containers", {}
        yield "mp_risks", {}
        if served.hybrid is not False:
            yield "hybrid_all_the_same" if served.hybrid else "hybrid_unseen", {}
        if host.platform is not Platform.CUDA:
            yield f"platform_{host.platform}", {}
        if host.platform is Platform.CUDA and wiring in _WIRING_OF.values():
            yield "second_choice", {"wiring": Wiring.VLLM_TIERING.value}
    if served.tier_bytes_per_token is None:
        yield "tier_bytes", {}


def _version_notes(served: Served, host: Hardware, wiring: Wiring) -> tuple[Note, ...]:
    """What is known of the versions; refused where they are none, or lack the tier."""
    for version in filter(None, (served.vllm, served.lmcache)):
        if not all(part.isdecimal() for part in version.split(".")[:2]):
            raise KvtiersError(f"a version must look like 0.32.0, got {version!r}")
    if wiring.mode is None:
        if host.platform is Platform.CPU:
            raise KvtiersError("vLLM's own tiering needs a GPU")
        if served.vllm and numbers(served.vllm) < _TIERING_SINCE:
            raise KvtiersError(
                f"vLLM {served.vllm} has no TieringOffloadingSpec with a file-system tier: it came with 0.22"
            )
        return ()
    in_process = wiring.mode is LMCacheMode.IN_PROCESS
    if in_process and host.platform is Platform.CPU:
        raise KvtiersError(
            "LMCache has no connector for a CPU that runs inside vLLM: use MP mode; lab run --wiring in-process "
            "shows the other with a connector of the lab's own"
        )
    platform = "cpu" if host.platform is Platform.CPU else "cuda"
    # Of an engine that is not named no LMCache is known to suit it.
    lmcache = served.lmcache if served.vllm or not in_process else ""
    pair = known_pair(wiring.mode, served.vllm, lmcache, platform)
    values: dict[str, Any] = {"vllm": served.vllm or "?", "lmcache": served.lmcache or "?"}
    values |= {"mode": wiring.mode.value, "platform": platform.upper()}
    if pair is not None:
        values |= {"what": pair.what, "said_by": pair.source, "date": pair.date}
        values |= {"since": pair.vllm_from, "upto": pair.lmcache_to}
    if pair and not pair.works:
        return (("pair_fails" if served.vllm else "pair_may_fail", values),)
    if in_process and numbers(served.vllm) >= _IN_PROCESS_BEFORE:
        return (("pair_unkept", values),)
    if not (served.vllm and served.lmcache):
        return ()
    if pair is None and platform != "cpu" and (elsewhere := known_pair(wiring.mode, served.vllm, lmcache, "cpu")):
        values |= {"what": elsewhere.what, "said_by": elsewhere.source, "date": elsewhere.date}
        return (("pair_elsewhere", values),)
    return (("pair_works" if pair else "pair_unknown", values),)


def proof(wiring: Wiring) -> tuple[str, ...]:
    """How to see that it works, step by step: ids of the doctor's texts."""
    match wiring.mode:
        case LMCacheMode.MP:
            seen: tuple[str, ...] = ("mp_line", "mp_hit")
        case LMCacheMode.IN_PROCESS:
            on_disk = wiring in (Wiring.IN_PROCESS_DISK, Wiring.IN_PROCESS_DISK_ONLY)
            seen = ("disk_line" if on_disk else "connector_line", "hit_line")
        case _:
            seen = ("tiering_metric",)
    return (*seen, "same_answer", "check", "changed_token")


def files(plan: Plan) -> dict[str, str]:
    """What to paste, by kind: ``command``, and where they apply ``server``, ``environment``, ``yaml``.

    ``environment`` and ``yaml`` say the same; PYTHONHASHSEED goes into the environment in either case.
    """
    values, mode = settings(plan), mp_mode(plan)
    environment = engine_environment(plan)
    return {
        **({"server": shell(server_command(mode))} if mode else {}),
        **({"environment": exports(environment)} if environment else {}),
        **({"yaml": lmcache_yaml(values)} if values else {}),
        "command": shell(engine_command(plan)),
    }
