"""YAML as PyYAML's safe loader reads it, which is what LMCache uses, with the line of every value.

Bounded: aliases and merges may not make much out of little, nor nest what is not nested.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from kvtiers.errors import KvtiersError

try:
    import yaml
except ModuleNotFoundError:
    raise KvtiersError("YAML is read with PyYAML, which this Python does not have: pip install pyyaml") from None

DEEPEST = 100
MOST_VALUES = 100_000
_LONGEST_NUMBER = 400
_LONGEST_PROBLEM = 200
_TEMPLATE = re.compile(r"^(?:(?:(?!\{\{)[^\n#\"'])*[:-])?[^\S\n]*\{\{", re.MULTILINE)
_RENDER_IT = "a template ({{ … }}) is no YAML yet: give what it is rendered to, as by helm template"
_TAG = "tag:yaml.org,2002:"


@dataclass(frozen=True)
class Node:
    """A value and its line, counted from 1. ``value`` is a scalar, a list of Nodes, or a dict of Nodes.

    ``line``: of a block scalar, where its text begins; ``key_line``: of the key that it stands behind.
    """

    value: Any
    line: int
    key_line: int = field(default=0, compare=False)

    @property
    def fields(self) -> Mapping[Any, "Node"]:
        """What a mapping holds; nothing where it is none."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> Sequence["Node"]:
        """What a list holds; nothing where it is none."""
        return self.value if isinstance(self.value, list) else ()

    def at(self, *keys: str) -> "Node":
        """What stands there in nested mappings; a null where nothing does."""
        node = self
        for key in keys:
            node = node.fields.get(key, NOTHING)
        return node

    def plain(self) -> Any:
        """The value without lines, as a YAML loader gives it."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        return [node.plain() for node in self.value] if isinstance(self.value, list) else self.value

    @property
    def text(self) -> str:
        """As compose, Kubernetes and charts hand a scalar on: true in small letters, null as nothing."""
        text = "" if self.value is None else str(self.value)
        return text.lower() if isinstance(self.value, bool) else text

    @property
    def json(self) -> str:
        return json.dumps(self.plain(), default=str, skipkeys=True)


NOTHING = Node(None, 0)


def documents(text: str, first_line: int = 1) -> list[Node]:
    """Every document of ``text``, whose first line is number ``first_line`` of what it was taken from.

    Raises:
        KvtiersError: ``line N: …`` for what is not YAML, not safe, or too large once aliases are written out.
    """
    text = "\n" * (first_line - 1) + text
    try:
        loader, found = _Loader(text), []
        while loader.check_node():
            found.append(loader.node(loader.get_node(), 0))
        return found
    except yaml.reader.ReaderError as error:
        line = 1 + text.count("\n", 0, error.position)
        raise KvtiersError(f"line {line}: the character U+{error.character:04X} cannot stand in YAML") from None
    except yaml.MarkedYAMLError as error:
        template = _TEMPLATE.search(text)
        line = 1 + text.count("\n", 0, template.end()) if template else 0
        raise KvtiersError(f"line {line}: {_RENDER_IT}" if template else _reason(error)) from None


def _reason(error: yaml.MarkedYAMLError) -> str:
    mark, began = error.problem_mark or error.context_mark, error.context_mark
    problem = str(error.problem)[:_LONGEST_PROBLEM]
    if "'\\t'" in problem:
        problem = "YAML takes no tab here: write blanks"
    elif problem.startswith("expected <block end>"):
        problem = "this does not continue what stands above it"
    if error.context and began and mark and began.line < mark.line:
        problem += f" ({error.context}, which begins in line {began.line + 1})"
    return f"line {mark.line + 1 if mark else 1}: {problem}"


class _Loader(yaml.SafeLoader):
    """PyYAML's, with bounds: on nesting as it is written, and on what comes of it."""

    _depth = _composed = _values = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """PyYAML's own step, which calls itself for what is inside."""
        self._composed += 1
        _bound(self.peek_event(), self._composed, self._depth)  # type: ignore[no-untyped-call]
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def node(self, node: Any, depth: int) -> Node:
        """With values in place of tags, aliases and merges written out."""
        self._values += 1
        _bound(node, self._values, depth, " once aliases are written out")
        line = node.start_mark.line + 1
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map":
            return Node(self._mapping(node, depth), line)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
            return Node([self.node(item, depth + 1) for item in node.value], line)
        if isinstance(node, yaml.ScalarNode):
            return Node(self._scalar(node), line + (node.style in ("|", ">")))
        _refuse(node, f"{node.tag} is not known here")

    def _mapping(self, node: yaml.MappingNode, depth: int) -> dict[Any, Node]:
        """What is merged goes first, so that what is written wins; of what is merged, the first."""
        merged: dict[Any, Node] = {}
        written: dict[Any, Node] = {}
        for key_node, value_node in node.value:
            if key_node.tag == f"{_TAG}merge":
                for one in value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]:
                    if not isinstance(one, yaml.MappingNode):
                        _refuse(one, "<< takes a mapping or a list of mappings")
                    merged = {**merged, **self.node(one, depth + 1).fields, **merged}
                continue
            key = self.node(key_node, depth + 1)
            if isinstance(key.value, (list, dict)):
                _refuse(key_node, "a list or mapping cannot be a key")
            written[key.value] = replace(self.node(value_node, depth + 1), key_line=key.line)
        return merged | written

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        if node.tag in (f"{_TAG}int", f"{_TAG}float") and len(node.value) > _LONGEST_NUMBER:
            _refuse(node, f"a number of more than {_LONGEST_NUMBER} characters")
        try:
            value = self.construct_object(node)
            if not isinstance(value, (dict, list, set)):
                return value
        except (ArithmeticError, AttributeError, LookupError, ValueError):
            pass  # what PyYAML lets out of int("") and the like
        _refuse(node, f"this is no {node.tag.removeprefix(_TAG)}")


def _bound(at: Any, values: int, depth: int, how: str = "") -> None:
    if values > MOST_VALUES:
        _refuse(at, f"more than {MOST_VALUES:,} values{how}")
    if depth > DEEPEST:
        _refuse(at, f"nested more than {DEEPEST} deep{how}")


def _refuse(at: Any, problem: str) -> NoReturn:
    """``at``: a node or event."""
    raise yaml.MarkedYAMLError(problem=problem, problem_mark=at.start_mark)
