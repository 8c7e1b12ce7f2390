"""``kvtiers plan``: the judge's verdict for a machine and its traffic, and the settings that follow from it."""

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kvtiers.commands.arguments import language_argument, model_arguments, spec_of
from kvtiers.deployment import Form, files_of
from kvtiers.errors import KvtiersError
from kvtiers.ledger.tiers import Traffic
from kvtiers.settings.advise import VERSION_REFUSALS, Advice, Hardware, Served, advise, files
from kvtiers.settings.wiring import Plan, Platform, Wiring
from kvtiers.units import format_bytes
from kvtiers.words import text, values_in


def add_arguments(parser: argparse.ArgumentParser) -> None:
    model_arguments(parser)
    parser.add_argument("--model", metavar="NAME", help="as vllm serve takes it")
    parser.add_argument("--context", type=int, required=True, metavar="N", help="tokens of the longest prompt")
    parser.add_argument("--prefixes", type=int, default=1, metavar="N", help="to keep; 500 users of one prompt are 1")
    parser.add_argument("--reuse", action=argparse.BooleanOptionalAction, default=True, help="do prefixes come back?")
    parser.add_argument("--shared", action="store_true", help="several hosts must find what one computed")
    parser.add_argument("--prefill-tokens-per-s", type=float, metavar="N", help="measured: long prompt / its TTFT")
    parser.add_argument("--free-vram-gib", type=float, required=True, metavar="GIB", help="left to KV by the weights")
    parser.add_argument("--cpu-ram-gib", type=float, required=True, metavar="GIB", help="that the host can spare")
    parser.add_argument(
        "--tier-kv-bytes-per-token", type=float, metavar="N", help="KV in a tier, where it differs from the GPU's"
    )
    parser.add_argument("--drive", default=Hardware.drive, metavar="DIR", help="a directory on the drive for KV")
    parser.add_argument("--drive-free-gib", type=float, metavar="GIB", help="free space there")
    parser.add_argument("--redis-url", default=Hardware.redis_url, metavar="URL", help="of mp_redis: redis://HOST:PORT")
    parser.add_argument("--s3-url", default=Hardware.s3_url, metavar="URL", help="of mp_s3: s3://BUCKET.HOST")
    parser.add_argument("--s3-region", default=Hardware.s3_region, metavar="NAME", help="of that bucket")
    parser.add_argument("--tp", type=int, default=1, metavar="N", help="tensor-parallel ranks")
    parser.add_argument("--platform", choices=[name.value for name in Platform], default="cuda", help="of the engine")
    parser.add_argument("--vllm", metavar="VERSION", help="of the engine you run")
    parser.add_argument("--lmcache", metavar="VERSION", help="of the LMCache you run")
    parser.add_argument("--wiring", choices=[wiring.value for wiring in Wiring], help="instead of the judge's choice")
    parser.add_argument(
        "--as",
        dest="form",
        choices=["shell", *Form],
        default="shell",
        help="commands, or files that run and watch them",
    )
    parser.add_argument("--into", metavar="DIR", help="write those files there")
    language_argument(parser)
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """The command's output, and 1 where the versions, told or not, rule the wiring out."""
    traffic = Traffic(options.context, options.prefixes, options.reuse, options.shared)
    host = Hardware(
        free_vram_gib=options.free_vram_gib,
        cpu_ram_gib=options.cpu_ram_gib,
        drive=options.drive,
        drive_free_gib=options.drive_free_gib,
        tensor_parallel=options.tp,
        platform=Platform(options.platform),
        redis_url=options.redis_url,
        s3_url=options.s3_url,
        s3_region=options.s3_region,
    )
    served = _served(options)
    advice = advise(served, traffic, host, wiring=Wiring(options.wiring) if options.wiring else None)
    status = int(any(name in VERSION_REFUSALS for name, _ in advice.notes))
    if options.into and options.form == "shell":
        raise KvtiersError("--into goes with --as systemd, compose or k8s")
    if options.json:
        return json.dumps(to_json(advice, options.language), indent=2, ensure_ascii=False), status
    said = _said(advice, traffic, served, options.language)
    if advice.plan is None:
        return "\n".join(said), status
    if options.form == "shell":
        return "\n".join([*said, *_commands(advice.plan, advice.proof, options.language)]), status
    written = {
        name: "".join(f"# {line}\n" for line in said) + f"\n{content}"
        for name, content in files_of(advice.plan, Form(options.form), served.lmcache).items()
    }
    if options.into:
        return _write(written, Path(options.into)), status
    # One file as it is; of several, each under its name.
    shown = written.values() if len(written) == 1 else [f"# {name}\n{content}" for name, content in written.items()]
    return "\n".join(shown).rstrip(), status


def _served(options: argparse.Namespace) -> Served:
    spec = spec_of(options)
    return Served(
        model=options.model or (options.config if os.path.isdir(options.config or "") else "MODEL"),
        kv_bytes_per_token=spec.bytes_per_token if spec else options.kv_bytes_per_token,
        tier_bytes_per_token=options.tier_kv_bytes_per_token,
        kv_dtype=spec.kv_dtype if spec else options.kv_dtype or "",
        hybrid=spec.has_states if spec else None,
        prefill_tokens_per_s=options.prefill_tokens_per_s,
        vllm=options.vllm or "",
        lmcache=options.lmcache or "",
    )


def to_json(advice: Advice, language: str) -> dict[str, Any]:
    """The advice as the command's ``--json`` prints it."""
    verdict = advice.verdict
    return {
        "tier": verdict.tier.value,
        "reason": verdict.reason.value,
        "needed_bytes": verdict.needed_bytes,
        "free_vram_bytes": verdict.free_vram_bytes,
        "cpu_ram_bytes": verdict.cpu_ram_bytes,
        "wiring": advice.plan.wiring.value if advice.plan else None,
        "files": files(advice.plan) if advice.plan else {},
        "notes": [
            {"id": name, **values_in(language, values), "text": text(f"plan.note.{name}", language, values)}
            for name, values in advice.notes
        ],
        "proof": [{"id": name, "text": text(f"plan.proof.{name}", language, {})} for name in advice.proof],
    }


def _said(advice: Advice, traffic: Traffic, served: Served, language: str) -> list[str]:
    """The verdict and what follows from it, a sentence a line."""
    verdict = advice.verdict

    def words(key: str, **values: Any) -> str:
        return text(f"plan.{key}", language, values)

    on_gpu = traffic.prefixes * traffic.context_tokens * served.kv_bytes_per_token
    sizes = {"per_token": served.kv_bytes_per_token, "needed": on_gpu}
    sizes |= {"vram": verdict.free_vram_bytes, "ram": verdict.cpu_ram_bytes}
    shown = {name: format_bytes(size) for name, size in sizes.items()}
    parts = [words("arithmetic", prefixes=traffic.prefixes, context=traffic.context_tokens, **shown)]
    if verdict.needed_bytes != on_gpu:
        needed = format_bytes(verdict.needed_bytes)
        parts.append(words("tier_arithmetic", per_token=format_bytes(served.tier_bytes), needed=needed))
    parts.append(words(f"reason.{verdict.reason}"))
    return parts + [words(f"note.{name}", **values) for name, values in advice.notes]


def _commands(plan: Plan, proof: Sequence[str], language: str) -> list[str]:
    """What to paste, and how to see that it works."""

    def words(key: str) -> str:
        return text(f"plan.{key}", language, {})

    parts = []
    for kind, content in files(plan).items():
        parts += ["", f"# {words(f'file.{kind}')}", content.rstrip()]
    parts += ["", f"# {words('prove')}"]
    return parts + [f"{number}. {words(f'proof.{name}')}" for number, name in enumerate(proof, 1)]


def _write(contents: Mapping[str, str], directory: Path) -> str:
    """Nothing that stands there already is lost."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            path = directory / name
            if path.exists() and path.read_text(encoding="utf-8") != content:
                raise KvtiersError(f"{path} is there already and says something else: move it away first")
        for name, content in contents.items():
            (directory / name).write_text(content, encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise KvtiersError(f"cannot write to {directory}: {error}") from error
    return "\n".join(str(directory / name) for name in contents)
