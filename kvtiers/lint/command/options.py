"""A server's options, of its command as argparse takes them or of the file that ``vllm serve --config`` reads."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kvtiers.json_text import read_json
from kvtiers.lint.command.caller import Inputs, placed
from kvtiers.lint.command.shell import Word
from kvtiers.lint.given import Invocation, Unseen, Value
from kvtiers.lint.yaml_nodes import Node, documents
from kvtiers.tables import read_table

_NAMES = read_table("lint/names.toml")
_SHORT: dict[str, str] = _NAMES["short_options"]
_SWITCH = re.compile(r"(?:enable|disable|no|trust|enforce|skip|use|async|headless)-|headless$|enable$")
_CONNECTOR = "kv-transfer-config"
_REPEATED = "l2-adapter"


def read_options(words: Sequence[Word], process: Invocation) -> None:
    """Add the options of ``words`` to ``process``, and what may hold more of them."""
    dotted: dict[str, Any] = {}
    options = process.options
    pending = iter(enumerate(words, start=1))
    for after, word in pending:
        name, equals, text = _option(word.text)
        if not name:
            if word.open and (after > 1 or "@" in word.text or "*" in word.text):
                process.unseen.append(Unseen("arguments", word.text, process.source, word.line))
            elif after == 1 and not word.text.startswith("-"):
                options.setdefault("model", Value(word.text, process.source, word.line, word.literal))
            continue
        value = Value(text if equals else True, process.source, word.line, word.literal)
        if not equals and after < len(words) and _takes(name, words[after]):
            _, following = next(pending)
            value = Value(following.text, process.source, following.line, following.literal)
        option, dot, key = name.partition(".")
        if dot and option == _CONNECTOR:
            dotted[key] = _json_or_text(value.value)
        if option == _REPEATED and option in options:
            before = options[option].value
            listed = [*(before if isinstance(before, list) else [before]), value.value]
            value = Value(listed, value.source, value.line, value.literal)
        if not dot or option not in options:
            options[option] = value
    if dotted:
        first = options[_CONNECTOR]
        options[_CONNECTOR] = Value(_joined(_json_or_text(first.value), dotted), first.source, first.line)


def spell_out(process: Invocation, names: Iterable[str]) -> None:
    """Options that are the beginning of one name alone, as argparse completes them."""
    for option in list(process.options):
        whole = [name for name in names if name.startswith(option)]
        if len(whole) == 1 and option != whole[0]:
            process.options[whole[0]] = process.options.pop(option)


def _option(text: str) -> tuple[str, str, str]:
    """Name, ``=``, value; no name where it is no option."""
    name, equals, value = text.partition("=")
    if name.startswith("--"):
        head, dot, tail = name[2:].partition(".")
        return head.replace("_", "-") + dot + tail, equals, value
    joined = re.fullmatch(r"(-[tpd]p)(\d+)", text)
    return (_SHORT[joined[1]], "=", joined[2]) if joined else (_SHORT.get(name, ""), equals, value)


def _takes(name: str, following: Word) -> bool:
    """Is the next word the option's value?"""
    if _option(following.text)[0]:
        return False
    return not following.open or not (_SWITCH.match(name) or "@" in following.text or "*" in following.text)


def _joined(whole: Any, dotted: Mapping[str, Any]) -> str:
    """``--kv-transfer-config.kv_role X`` adds to what ``--kv-transfer-config`` says."""
    config = dict(whole) if isinstance(whole, dict) else {}
    for key, value in dotted.items():
        outer, dot, inner = key.partition(".")
        inside = config.get(outer)
        config[outer] = {**(inside if isinstance(inside, dict) else {}), inner: value} if dot else value
    return json.dumps(config)


def _json_or_text(value: Any) -> Any:
    try:
        return read_json(value)
    except ValueError:
        return value


def is_vllm_config(node: Node) -> bool:
    """Is a mapping a server's options?"""
    names, keys = _NAMES["vllm_config"], {str(key).replace("_", "-") for key in node.fields}
    return bool({*names["marks"]} & keys) or ("model" in keys and len({*names["beside_model"]} & keys) > 1)


def options_in(node: Node, source: str) -> dict[str, Value]:
    """Each key as the option it stands for; what is nested is JSON, what is false is not given."""
    options = {}
    for key, inner in node.fields.items():
        plain = inner.value
        if plain is not False and plain is not None:
            text = inner.json if isinstance(plain, (dict, list)) else plain if plain is True else str(plain)
            options[str(key).replace("_", "-")] = Value(text, source, inner.key_line)
    return options


def merge_config(process: Invocation, inputs: Inputs) -> None:
    """Add what the file of ``--config`` says; the command line wins. A file that was not given is noted."""
    named = process.options.get("config")
    if named is None:
        return
    found = inputs.find(str(named.value)) if named.literal else None
    if found is None:
        process.unseen.append(Unseen("config_file", str(named.value), named.source, named.line))
        return
    with placed(found):
        for node in documents(found.text, found.first_line):
            process.options = {**options_in(node, found.name), **process.options}
