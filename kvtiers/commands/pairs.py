"""``kvtiers pairs``: which vLLM and LMCache go together, as measured by the lab and reported by others."""

import argparse
import json
from dataclasses import asdict

from kvtiers.commands.arguments import language_argument
from kvtiers.result.pairs import ENGINE, PairRun, measured_pairs, newest_working
from kvtiers.settings.known_pairs import measured_text
from kvtiers.settings.version_pairs import LMCacheMode, Pair, reported_pairs
from kvtiers.words import LANGUAGES, text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--vllm", default="", metavar="VERSION", help="only of this one")
    parser.add_argument("--lmcache", default="", metavar="VERSION", help="only of this one")
    parser.add_argument("--mode", choices=[mode.value for mode in LMCacheMode], help="only so wired")
    language_argument(parser)
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """The command's output, and 1 where nothing is known of what was asked for."""
    modes = [LMCacheMode(options.mode)] if options.mode else list(LMCacheMode)
    measured = [
        run
        for run in measured_pairs()
        if options.vllm in ("", run.vllm) and options.lmcache in ("", run.lmcache) and run.mode in modes
    ]
    reported = [
        pair for pair in reported_pairs() if any(pair.holds(mode, "", options.vllm, options.lmcache) for mode in modes)
    ]
    status = int(not measured and not reported)
    if options.json:
        return json.dumps(_to_json(measured, reported), indent=2, ensure_ascii=False), status
    if status:
        wanted = {"vllm": options.vllm or "VLLM", "lmcache": options.lmcache or "LMCACHE"}
        return text("pairs.none", options.language, wanted), status
    lines = [*_head(measured, options.language), *(_measured(run, options.language) for run in measured)]
    return "\n".join([*lines, *(_reported(pair, options.language) for pair in reported)]), status


def _to_json(measured: list[PairRun], reported: list[Pair]) -> dict[str, object]:
    said = [{**asdict(run), "text": {name: measured_text(run, name) for name in LANGUAGES}} for run in measured]
    return {"engine": ENGINE, "platform": "cpu", "measured": said, "reported": [asdict(pair) for pair in reported]}


def _head(measured: list[PairRun], language: str) -> list[str]:
    lines = []
    if newest := newest_working():
        lines.append(text("pairs.newest", language, newest.facts))
    if measured:
        facts = {**measured[0].facts, "engine": ENGINE, "measured": len(measured)}
        lines.append(text("pairs.head", language, facts))
    return lines


def _measured(run: PairRun, language: str) -> str:
    mode, said = text(f"pairs.mode.{run.mode}", language, {}), measured_text(run, language)
    return text("pairs.line", language, {**run.facts, "mode": mode, "what": said})


def _reported(pair: Pair, language: str) -> str:
    mode = text(f"pairs.mode.{pair.mode}", language, {})
    versions = {"vllm": pair.vllm_span, "lmcache": pair.lmcache_span}
    return text("pairs.reported", language, {**vars(pair), **versions, "mode": mode})
