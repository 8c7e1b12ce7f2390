"""``kvtiers diagnose LOG``: what a server's log says about its KV tiers, and what to do."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from kvtiers.commands.arguments import language_argument, stdin_once
from kvtiers.errors import KvtiersError
from kvtiers.logs.diagnosis import Diagnosis, conclude, with_their_servers
from kvtiers.logs.read import read_log, read_log_file
from kvtiers.logs.requests import Request
from kvtiers.logs.state import Log
from kvtiers.logs.warnings import WARNINGS
from kvtiers.words import labelled, text

_COUNTS = ("total", "computed", "hit", "load", "stored", "retrieved")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "logs",
        nargs="+",
        metavar="LOG",
        help="a server's log or a dump of /metrics, gzip or not; - reads standard input",
    )
    parser.add_argument("--requests", type=int, default=20, metavar="N", help="how many of the last requests to show")
    language_argument(parser)
    parser.add_argument("--json", action="store_true", help="print it as JSON, one object a log")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """The output, and 1 where a log shows a problem, 2 where one is another system's or cannot be read."""
    if options.requests < 0:
        raise KvtiersError(f"--requests must be 0 or more, got {options.requests}")
    stdin_once(options.logs)
    diagnoses, refusals = [], []
    for name in options.logs:
        try:
            diagnoses.append(conclude(_read(name, options.requests)))
        except KvtiersError as error:
            refusals.append(str(error))
    if not diagnoses:
        raise KvtiersError("; ".join(refusals))
    for refusal in refusals:
        print(f"kvtiers diagnose: {refusal}", file=sys.stderr)
    outputs = []
    for diagnosis in with_their_servers(diagnoses):
        said = to_json(diagnosis, options.language)
        outputs.append(
            json.dumps(said, ensure_ascii=False) if options.json else _text(diagnosis, said, options.language)
        )
    status = max(diagnosis.exit_status for diagnosis in diagnoses)
    return ("\n" if options.json else "\n\n").join(outputs), 2 if refusals else status


def _read(name: str, keep: int) -> Log:
    return read_log(sys.stdin.buffer, "standard input", keep) if name == "-" else read_log_file(Path(name), keep)


def to_json(diagnosis: Diagnosis, language: str = "en") -> dict[str, Any]:
    log, start = diagnosis.log, diagnosis.log.start
    return {
        "conclusion": diagnosis.conclusion.to_json(language),
        "problems": [problem.to_json(language) for problem in diagnosis.problems],
        "starts": log.start_count,
        "requests_judged": start.requests,
        "tier_hits_judged": start.tier_hits,
        "server_tokens_judged": {name: start.tokens[f"mp_{name}"] for name in ("stored", "loaded")}
        if start.mp
        else None,
        "unseen": list(diagnosis.unseen),
        "not_read": log.not_read,
        "vllm": start.vllm or None,
        "lmcache": start.lmcache or None,
        "connector": start.connector or None,
        "settings": start.settings,
        "backends": sorted(start.backends),
        "pool_tokens": start.pool_tokens or None,
        "requests": {kind.value: count for kind, count in sorted(log.kinds.items())},
        "tokens": dict(sorted(log.tokens.items())),
        "stored_gib": log.stored_gib,
        "retrieved_gib": log.retrieved_gib,
        "retrieve_gib_per_s": log.retrieved_gib / log.retrieve_s if log.retrieve_s else None,
        "prefill_tokens_per_s": log.prefill_tokens_per_s,
        "load_tokens_per_s": log.load_tokens_per_s,
        "ceiling": log.ceiling,
        "own_hit_rate_percent": start.own_hit_rate,
        "external_hit_rate_percent": start.external_hit_rate,
        "warnings": [_warning(log, name, language) for name, _ in log.warnings.most_common()],
        "last_requests": [_request(request) for request in log.finished],
        "cut_off": log.cut_off,
    }


def _warning(log: Log, name: str, language: str) -> dict[str, Any]:
    meaning = text(f"warning.{name}.meaning", language, {}) if name in WARNINGS else None
    return {"id": name, "times": log.warnings[name], "first": log.samples[name].line[:400], "meaning": meaning}


def _request(request: Request) -> dict[str, Any]:
    numbers = (*_COUNTS, "retrieve_s", "retrieve_tokens_per_s")
    return {"id": request.id, "kind": request.kind.value, **{name: getattr(request, name) for name in numbers}}


def _text(diagnosis: Diagnosis, said: dict[str, Any], language: str) -> str:
    lines = [*_what_was_read(said, language), *_what_happened(said, language), *[""] * bool(said["warnings"])]
    lines += [f"{each['times']} x {each['meaning'] or each['first']}" for each in said["warnings"][:20]]
    for conclusion in diagnosis.problems or (diagnosis.conclusion,):
        lines += [
            "",
            f"{conclusion.what(language)} [{conclusion.id}]",
            f"  {labelled(text('log.head.next', language, {}), conclusion.next_step(language), language)}",
        ]
    if said["not_read"]:
        lines += ["", text("log.head.skipped", language, {"count": said["not_read"]})]
    if diagnosis.log.cut_off:
        lines += ["", text("log.head.cut_off", language, {})]
    return "\n".join(lines)


def _what_was_read(said: dict[str, Any], language: str) -> list[str]:
    def head(key: str, **values: Any) -> str:
        return text(f"log.head.{key}", language, values)

    settings = ", ".join(f"{name} {value}" for name, value in said["settings"].items())
    values = {name: said[name] for name in ("vllm", "lmcache", "connector")}
    values |= {"settings": settings, "backends": ", ".join(said["backends"]), "starts": str(said["starts"])}
    lines = [labelled(head(name), value or None, language) for name, value in values.items()]
    if said["server_tokens_judged"]:  # an LMCache server names no requests
        lines += [head("judged_server", **said["server_tokens_judged"])]
    else:
        lines += [head("judged", requests=said["requests_judged"], hits=said["tier_hits_judged"])]
    if said["unseen"]:
        unseen = [text(f"log.unseen.{name}", language, {}) for name in said["unseen"]]
        lines.append(labelled(head("unseen"), " · ".join(unseen), language))
    return lines


def _what_happened(said: dict[str, Any], language: str) -> list[str]:
    lines = ["", *_table(said["last_requests"], language)] if said["last_requests"] else []
    if said["requests"]:
        kinds = (f"{text('log.kind.' + kind, language, {})} {count}" for kind, count in said["requests"].items())
        lines += ["", " · ".join(kinds)]
    own, external = said["own_hit_rate_percent"], said["external_hit_rate_percent"]
    if own is not None:
        lines.append(text("log.head.rates", language, {"own": own, "external": "-" if external is None else external}))
    if said["ceiling"]:
        values = {"prefill": said["prefill_tokens_per_s"], "load": said["load_tokens_per_s"]}
        lines.append(text("log.head.speeds", language, values | {"ceiling": said["ceiling"]}))
    return lines


def _table(requests: list[dict[str, Any]], language: str) -> list[str]:
    width = max(len(request["id"]) for request in requests)
    head = " ".join(f"{name:>9}" for name in _COUNTS)
    rows = [f"{'':<{width}} {head}  {'tokens/s':>9}"]
    for request in requests:
        counts = " ".join(f"{request[name]:>9,}" for name in _COUNTS)
        speed = f"{request['retrieve_tokens_per_s']:>9,.0f}" if request["retrieve_tokens_per_s"] else " " * 9
        rows.append(f"{request['id']:<{width}} {counts}  {speed}  {text('log.kind.' + request['kind'], language, {})}")
    return rows
