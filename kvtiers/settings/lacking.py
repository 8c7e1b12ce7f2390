"""Which release of vLLM and LMCache a plan's settings need."""

from collections.abc import Iterator
from itertools import pairwise

from kvtiers.settings.mp import server_command
from kvtiers.settings.since import Lack, Name, of_adapter, of_connector, of_tier
from kvtiers.settings.wiring import Plan, connector, mp_mode, settings


def lacking(plan: Plan, vllm: str, lmcache: str) -> list[tuple[str, Lack]]:
    """What is written for the plan, as it is written, that these releases surely lack; an untold one lacks nothing."""
    versions = {"vllm": vllm, "lmcache": lmcache}
    lacks = ((written, name.lack(versions[name.package])) for name, written in _names(plan))
    return [(written, lack) for written, lack in lacks if lack and lack.certain]


def _names(plan: Plan) -> Iterator[tuple[Name, str]]:
    mode, wired = mp_mode(plan), connector(plan)
    for word, value in pairwise([*server_command(mode), ""] if mode else ()):
        if word.startswith("--"):
            yield Name("lmcache", "server_options", word[2:]), word
            yield Name("lmcache", "option_values", f"{word[2:]} {value}"), f"{word} {value}"
    if mode and mode.l2:
        yield from of_adapter(mode.l2.adapter())
    for setting in settings(plan):
        yield Name("lmcache", "settings", setting), setting
    yield Name("vllm", "connectors", str(wired["kv_connector"])), str(wired["kv_connector"])
    extra = wired.get("kv_connector_extra_config", {})
    for key in extra:
        yield of_connector(key), key
    for tier in extra.get("secondary_tiers", ()):
        yield from of_tier(tier)
