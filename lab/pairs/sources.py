"""What a release's sources know by name, and its defaults: read from the text, nothing is imported.

Of each kind, as since.toml calls it: names, each with its default as JSON; None where it has none, or one that only
runs. A kind of what belongs to something else has names of two words: ``fs base_path`` is a key of the adapter ``fs``.
"""

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeGuard

Sources = Mapping[str, str]
"""By path in the wheel."""
Named = Iterator[tuple[str, str | None]]

_ADAPTERS = "lmcache/v1/distributed/l2_adapters/"
_TIERING = "vllm/v1/kv_offload/tiering/"
_VALUES_OF = ("eviction-policy", "supported-transfer-mode")
_FOR_EVERY_TIER = ("offloading_spec", "primary_kv_view", "tier_type", "backpressure_detector")  # the factory's own
_KEY = re.compile(r"[a-z]\w*")


def _server_options(sources: Sources) -> Named:
    """Of ``lmcache server``: what argparse is given, and the ``no-`` that it adds."""
    for option, said in _arguments(sources):
        yield option, _json(said.get("default", ast.Constant(None)))
        if "BooleanOptionalAction" in ast.unparse(said.get("action", ast.Constant(None))):
            yield f"no-{option}", None


def _option_values(sources: Sources) -> Named:
    """Of options that are written and checked here: what they may be."""
    for option, said in _arguments(sources):
        if option in _VALUES_OF:
            yield from ((f"{option} {value}", None) for value in ast.literal_eval(said["choices"]))


def _l2_adapters(sources: Sources) -> Named:
    yield from ((name, None) for name, _ in _registered(sources))


def _l2_keys(sources: Sources) -> Named:
    """What is looked up for every adapter, by its own name; what one alone takes, behind that one's."""
    common = dict(_looked_up(ast.parse(sources.get(f"{_ADAPTERS}config.py", ""))))
    yield from common.items()
    for adapter, text in _registered(sources):
        for read in (node for node in ast.walk(ast.parse(text)) if _is_function(node, "from_dict")):
            yield from ((f"{adapter} {key}", default) for key, default in _looked_up(read) if key not in common)


def _mp_keys(sources: Sources) -> Named:
    """Members of ExtraConfigDefault, and what is looked up by its whole name."""
    for name, text in sources.items():
        if not name.startswith("lmcache/integration/vllm/"):
            continue
        yield from ((key, None) for key in re.findall(r'"lmcache\.mp\.(\w+)"', text))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call):
                key = next(iter(_texts(node.args[:1])), "").removeprefix("lmcache.mp.")
                if _KEY.fullmatch(key) and len(node.args) > 1 and "lmcache.mp." in ast.unparse(node.args[0]):
                    yield key, _json(node.args[1])
            elif isinstance(node, ast.ClassDef) and node.name == "ExtraConfigDefault":
                for one in (each for each in node.body if isinstance(each, ast.Assign)):
                    yield from ((target.id, _json(one.value)) for target in one.targets if isinstance(target, ast.Name))


def _settings(sources: Sources) -> Named:
    """Keys of LMCache's table of in-process settings."""
    for node in ast.walk(ast.parse(sources.get("lmcache/v1/config.py", ""))):
        if not isinstance(node, ast.AnnAssign | ast.Assign) or not isinstance(node.value, ast.Dict):
            continue
        targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
        if any(isinstance(target, ast.Name) and target.id == "_CONFIG_DEFINITIONS" for target in targets):
            yield from ((name, _json(_entries(said).get("default"))) for name, said in _entries(node.value).items())


def _connectors(sources: Sources) -> Named:
    for call in _calls(sources.get("vllm/distributed/kv_transfer/kv_connector/factory.py", ""), "register_connector"):
        yield from ((name, None) for name in _texts(call.args[:1]))


def _tiers(sources: Sources) -> Named:
    for call in _calls(sources.get(f"{_TIERING}factory.py", ""), "register_tier"):
        yield from ((name, None) for name in _texts(call.args[:1]))


def _tier_keys(sources: Sources) -> Named:
    """What a tier's class is made with, and what the factory takes out before."""
    factory = sources.get(f"{_TIERING}factory.py", "")
    taken = [key for call in _calls(factory, "pop") for key in _texts(call.args[:1]) if key == "backpressure"]
    for call in _calls(factory, "register_tier"):
        tier, module, name = (_texts(call.args) + [""] * 3)[:3]
        for node in ast.walk(ast.parse(sources.get(f"{module.replace('.', '/')}.py", ""))):
            if isinstance(node, ast.ClassDef) and node.name == name:
                made = next(each for each in node.body if _is_function(each, "__init__"))
                keys = (each for each in _parameters(made) if each[0] not in _FOR_EVERY_TIER)
                yield from ((f"{tier} {key}", default) for key, default in [*keys, *((key, None) for key in taken)])


def _offloading_keys(sources: Sources) -> Named:
    for name, text in sources.items():
        if name.startswith("vllm/v1/kv_offload/") or "/kv_connector/v1/offloading" in name:
            yield from ((key, None) for key in re.findall(r'extra_config(?:\.get\(|\[)\s*"(\w+)"', text))
            yield from (
                (key, default)
                for call in _calls(text, "get")
                if ast.unparse(call.func).endswith("extra_config.get")
                for key, default in _looked_up(call)
            )


KINDS: dict[str, Callable[[Sources], Named]] = {
    "server_options": _server_options,
    "option_values": _option_values,
    "l2_adapters": _l2_adapters,
    "l2_keys": _l2_keys,
    "mp_keys": _mp_keys,
    "settings": _settings,
    "connectors": _connectors,
    "tiers": _tiers,
    "tier_keys": _tier_keys,
    "offloading_keys": _offloading_keys,
}
OWNERS = {"option_values": "server_options", "l2_keys": "l2_adapters", "tier_keys": "tiers"}
"""The kind of a two-word name's first word."""


def _arguments(sources: Sources) -> Iterator[tuple[str, dict[str, ast.expr]]]:
    """Each option of ``lmcache server``, without dashes, and what argparse is told of it."""
    folders = ("lmcache/v1/multiprocess/config.py", "lmcache/v1/distributed/", "lmcache/v1/mp_observability/config.py")
    for name, text in sources.items():
        for call in _calls(text, "add_argument") if name.startswith(folders) and name.endswith("config.py") else ():
            said = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
            yield from ((option[2:], said) for option in _texts(call.args) if option.startswith("--"))


def _registered(sources: Sources) -> Iterator[tuple[str, str]]:
    """Each L2 adapter and the text that it stands in."""
    for name, text in sources.items():
        if name.startswith(_ADAPTERS):
            for adapter in re.findall(r'(?m)^register_l2_adapter_type\(\s*"([\w-]+)"', text):
                yield adapter, text


def _looked_up(tree: ast.AST) -> Named:
    """Keys that are read with a call, as ``d.get("key", default)``, or as ``d["key"]``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for key in _texts(node.args[:1]):
                if _KEY.fullmatch(key):
                    yield key, _json(node.args[1]) if len(node.args) > 1 else None
        elif isinstance(node, ast.Subscript):
            yield from ((key, None) for key in _texts([node.slice]) if _KEY.fullmatch(key))


def _parameters(function: ast.FunctionDef) -> Named:
    named = function.args.args[1:]
    defaults = [None] * (len(named) - len(function.args.defaults)) + list(function.args.defaults)
    yield from ((each.arg, _json(default)) for each, default in zip(named, defaults, strict=False))


def _is_function(node: ast.AST, name: str) -> TypeGuard[ast.FunctionDef]:
    return isinstance(node, ast.FunctionDef) and node.name == name


def _calls(text: str, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name:
            yield node


def _entries(node: ast.expr) -> dict[str, ast.expr]:
    """Of a written-out dictionary."""
    if not isinstance(node, ast.Dict):
        return {}
    return {
        key.value: value
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }


def _texts(nodes: Sequence[ast.expr]) -> list[str]:
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def _json(node: ast.expr | None) -> str | None:
    try:
        return json.dumps(ast.literal_eval(node)) if node is not None else None
    except (TypeError, ValueError):
        return None
