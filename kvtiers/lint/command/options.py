"""The options of a command, as argparse takes them: long, short, joined by =, dotted into JSON."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kvtiers.json_text import read_json
from kvtiers.lint.command.shell import Word
from kvtiers.lint.given import Process, Unseen, Value

_SHORT = {
    "tp": "tensor-parallel-size",
    "pp": "pipeline-parallel-size",
    "dp": "data-parallel-size",
    "n": "nnodes",
    "q": "quantization",
    "ep": "enable-expert-parallel",
    "sc": "speculative-config",
    "cc": "compilation-config",
}
_SWITCH = re.compile(r"(?:enable|disable|no|trust|enforce|skip|use|async|headless)-|headless$|enable$")
_REPEATED = ("l2-adapter",)


def read_options(words: Sequence[Word], process: Process) -> None:
    """Add the options of ``words`` to ``process``, and what may hold more of them."""
    dotted: dict[str, Any] = {}
    previous = ""
    for index, word in enumerate(words):
        name, equals, text = _option(word.text)
        if not name:
            _argument(word, previous, index, process)
            previous = ""
            continue
        value = Value(text if equals else True, process.source, word.line, word.literal)
        following = words[index + 1] if index + 1 < len(words) else None
        takes_next = following and not equals and not _option(following.text)[0]
        if following and takes_next and not (following.open and _takes_none(name, following)):
            value = Value(following.text, process.source, following.line, following.literal)
            previous = name
        option, dot, key = name.partition(".")
        if dot and option == "kv-transfer-config":
            dotted[key] = _json_or_text(value.value)
        if option in _REPEATED and option in process.options:
            value = Value(
                [*_listed(process.options[option].value), value.value], value.source, value.line, value.literal
            )
        process.options.setdefault(option, value) if dot else process.options.__setitem__(option, value)
    if dotted:
        _join(process, dotted)


def spell_out(process: Process, names: Iterable[str]) -> None:
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
    short = _SHORT.get(name[1:], "") if name.startswith("-") else ""
    joined = re.fullmatch(r"-(tp|pp|dp)(\d+)", text)
    return (_SHORT[joined[1]], "=", joined[2]) if joined else (short, equals, value)


def _takes_none(name: str, following: Word) -> bool:
    return bool(_SWITCH.match(name)) or "@" in following.text or "*" in following.text


def _argument(word: Word, previous: str, index: int, process: Process) -> None:
    """What is no option: the model, a value, or any number of words that are not known."""
    if word.open and not previous and (index or "@" in word.text or "*" in word.text):
        process.unseen.append(Unseen("arguments", word.text, process.source, word.line))
    elif not index and not word.text.startswith("-"):
        process.options.setdefault("model", Value(word.text, process.source, word.line, word.literal))


def _join(process: Process, dotted: Mapping[str, Any]) -> None:
    """``--kv-transfer-config.kv_role X`` adds to what ``--kv-transfer-config`` says."""
    first = process.options["kv-transfer-config"]
    whole = _json_or_text(first.value)
    config = {**(whole if isinstance(whole, dict) else {}), **_nest(dotted)}
    process.options["kv-transfer-config"] = Value(json.dumps(config), first.source, first.line)


def _nest(flat: Mapping[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for key, value in flat.items():
        outer, dot, inner = key.partition(".")
        if dot:
            inside = nested.get(outer)
            nested[outer] = {**(inside if isinstance(inside, dict) else {}), inner: value}
        else:
            nested[outer] = value
    return nested


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _json_or_text(value: Any) -> Any:
    try:
        return read_json(value)
    except ValueError:
        return value
