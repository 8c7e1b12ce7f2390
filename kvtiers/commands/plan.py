"""``kvtiers plan``: the judge's verdict for a machine and its traffic, and the settings that follow from it."""

import argparse
import json
from typing import Any

from kvtiers.commands.arguments import kv_bytes_per_token, language_argument, model_arguments
from kvtiers.ledger.tiers import Traffic
from kvtiers.settings.advise import Advice, Machine, advise, files
from kvtiers.settings.wiring import Wiring
from kvtiers.units import format_bytes
from kvtiers.words import text, values_in


def add_arguments(parser: argparse.ArgumentParser) -> None:
    model_arguments(parser)
    parser.add_argument("--model", metavar="NAME", help="as vllm serve takes it")
    parser.add_argument("--context", type=int, required=True, metavar="N", help="tokens of the longest prompt")
    parser.add_argument("--users", type=int, default=1, metavar="N", help="distinct prefixes to keep")
    parser.add_argument("--reuse", action=argparse.BooleanOptionalAction, default=True, help="do prefixes come back?")
    parser.add_argument("--free-vram-gib", type=float, required=True, metavar="GIB", help="left to KV by the weights")
    parser.add_argument("--cpu-ram-gib", type=float, required=True, metavar="GIB", help="that the host can spare")
    parser.add_argument("--drive", default=Machine.drive, metavar="DIR", help="a directory on the drive for KV")
    parser.add_argument("--drive-free-gib", type=float, metavar="GIB", help="free space there")
    parser.add_argument("--tp", type=int, default=1, metavar="N", help="tensor-parallel ranks")
    parser.add_argument("--vllm", metavar="VERSION", help="of the engine you run")
    parser.add_argument("--lmcache", metavar="VERSION", help="of the LMCache you run")
    parser.add_argument("--wiring", choices=[wiring.value for wiring in Wiring], help="instead of the judge's choice")
    language_argument(parser)
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """The command's output, and 1 where the versions are known not to work together.

    Raises:
        KvtiersError: for arguments that cannot be used.
    """
    traffic = Traffic(options.context, options.users, options.reuse)
    machine = Machine(options.free_vram_gib, options.cpu_ram_gib, options.drive, options.drive_free_gib, options.tp)
    versions = {name: value for name in ("vllm", "lmcache") if (value := getattr(options, name))}
    per_token = kv_bytes_per_token(options)
    model = options.model or options.config or "MODEL"
    wiring = Wiring(options.wiring) if options.wiring else None
    advice = advise(model, per_token, traffic, machine, wiring=wiring, versions=versions)
    status = int(any(name == "pair_fails" for name, _ in advice.notes))
    if options.json:
        return json.dumps(to_json(advice, options.language), indent=2, ensure_ascii=False), status
    return _text(advice, traffic, per_token, options.language), status


def to_json(advice: Advice, language: str) -> dict[str, Any]:
    """The advice as the command's ``--json`` prints it."""
    found = advice.verdict
    return {
        "tier": found.tier.value,
        "reason": found.reason.value,
        "needed_bytes": found.needed_bytes,
        "free_vram_bytes": found.free_vram_bytes,
        "cpu_ram_bytes": found.cpu_ram_bytes,
        "wiring": advice.plan.wiring.value if advice.plan else None,
        "files": files(advice.plan) if advice.plan else {},
        "notes": [
            {"id": name, **values_in(language, values), "text": text(f"plan.note.{name}", language, values)}
            for name, values in advice.notes
        ],
        "proof": [{"id": name, "text": text(f"plan.proof.{name}", language, {})} for name in advice.proof],
    }


def _text(advice: Advice, traffic: Traffic, per_token: float, language: str) -> str:
    found = advice.verdict
    values = {
        "users": traffic.users,
        "context": traffic.context_tokens,
        "per_token": format_bytes(per_token),
        "needed": format_bytes(found.needed_bytes),
        "vram": format_bytes(found.free_vram_bytes),
        "ram": format_bytes(found.cpu_ram_bytes),
    }
    parts = [text("plan.arithmetic", language, values), text(f"plan.reason.{found.reason}", language, values)]
    parts += [text(f"plan.note.{name}", language, given) for name, given in advice.notes]
    if advice.plan:
        for kind, content in files(advice.plan).items():
            parts += ["", f"# {text(f'plan.file.{kind}', language, {})}", content.rstrip()]
        parts += ["", f"# {text('plan.prove', language, {})}"]
        parts += [
            f"{number}. {text(f'plan.proof.{name}', language, {})}" for number, name in enumerate(advice.proof, 1)
        ]
    return "\n".join(parts)
