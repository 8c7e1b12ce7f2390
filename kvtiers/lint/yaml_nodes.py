"""YAML as PyYAML's safe loader reads it, which is what LMCache uses, with the line of every value.

Bounded: aliases and merges may not make much out of little, nor nest what is not nested.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
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
_TAG = "tag:yaml.org,2002:"
_NUMBERS = (f"{_TAG}int", f"{_TAG}float")


@dataclass(frozen=True)
class Node:
    """A value and its line, counted from 1. ``value`` is a scalar, a list of Nodes, or a dict of Nodes.

    ``line``: of a block scalar, where its text begins; ``keys``: of a dict, the line of each key.
    """

    value: Any
    line: int
    keys: dict[Any, int] = field(default_factory=dict, compare=False)

    def plain(self) -> Any:
        """The value without lines, as a YAML loader gives it."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value


def documents(text: str, first_line: int = 1) -> list[Node]:
    """Every document of ``text``, whose first line is number ``first_line`` of what it was taken from.

    Raises:
        KvtiersError: ``line N: …`` for what is not YAML, not safe, or too large once aliases are written out.
    """
    text = "\n" * (first_line - 1) + text
    try:
        return list(_documents(text))
    except yaml.reader.ReaderError as error:
        line = 1 + text.count("\n", 0, error.position)
        raise KvtiersError(f"line {line}: the character U+{error.character:04X} cannot stand in YAML") from None
    except yaml.MarkedYAMLError as error:
        line = next((number for number, line in enumerate(text.split("\n"), 1) if _is_template(line)), 0)
        if line:
            why = "a template ({{ … }}) is no YAML yet: give what it is rendered to, as by helm template"
            raise KvtiersError(f"line {line}: {why}") from None
        raise KvtiersError(_reason(error)) from None


def _is_template(line: str) -> bool:
    before, braces, _ = line.partition("{{")
    return bool(braces) and not set(before) & set("#\"'") and before.rstrip()[-1:] in ("", ":", "-")


def _reason(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    problem = str(error.problem)[:_LONGEST_PROBLEM]
    if "'\\t'" in problem:
        problem = "YAML takes no tab here: write blanks"
    elif problem.startswith("expected <block end>"):
        problem = "this does not continue what stands above it"
    began = error.context_mark
    if error.context and began and mark and began.line < mark.line:
        problem += f" ({error.context}, which begins in line {began.line + 1})"
    return f"line {mark.line + 1 if mark else 1}: {problem}"


def _documents(text: str) -> Iterator[Node]:
    loader = _Loader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            assert node is not None
            yield loader.node(node, 0)
    finally:
        loader.dispose()


class _Loader(yaml.SafeLoader):
    """PyYAML's, with bounds: on nesting as it is written, and on what comes of it."""

    _depth = 0
    _composed = 0
    _values = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """PyYAML's own step, which calls itself for what is inside."""
        self._composed += 1
        if self._composed > MOST_VALUES:
            _refuse(self.peek_event(), f"more than {MOST_VALUES:,} values")  # type: ignore[no-untyped-call]
        if self._depth > DEEPEST:
            _refuse(self.peek_event(), f"nested more than {DEEPEST} deep")  # type: ignore[no-untyped-call]
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def node(self, node: yaml.Node, depth: int) -> Node:
        """With values in place of tags, aliases and merges written out."""
        self._values += 1
        if self._values > MOST_VALUES:
            _refuse(node, f"more than {MOST_VALUES:,} values once aliases are written out")
        if depth > DEEPEST:
            _refuse(node, f"nested more than {DEEPEST} deep once aliases are written out")
        line = node.start_mark.line + 1
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map":
            return self._mapping(node, depth)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
            return Node([self.node(item, depth + 1) for item in node.value], line)
        if isinstance(node, yaml.ScalarNode):
            return Node(self._scalar(node), line + (node.style in ("|", ">")))
        _refuse(node, f"{node.tag} is not known here")

    def _mapping(self, node: yaml.MappingNode, depth: int) -> Node:
        """What is merged goes first, so that what is written wins."""
        merged: dict[Any, tuple[Node, int]] = {}
        written: dict[Any, tuple[Node, int]] = {}
        for key_node, value_node in node.value:
            if key_node.tag == f"{_TAG}merge":
                merged |= self._merged(value_node, depth)
                continue
            key = self.node(key_node, depth + 1)
            if isinstance(key.value, (list, dict)):
                _refuse(key_node, "a list or mapping cannot be a key")
            written[key.value] = self.node(value_node, depth + 1), key.line
        values = merged | written
        return Node(
            {key: value for key, (value, _) in values.items()},
            node.start_mark.line + 1,
            {key: line for key, (_, line) in values.items()},
        )

    def _merged(self, node: yaml.Node, depth: int) -> dict[Any, tuple[Node, int]]:
        """Of several mappings the first wins, as YAML has it; in PyYAML 6.0.4 it may be another."""
        merged: dict[Any, tuple[Node, int]] = {}
        for one in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            if not isinstance(one, yaml.MappingNode):
                _refuse(one, "<< takes a mapping or a list of mappings")
            other = self.node(one, depth + 1)
            for key, value in other.value.items():
                merged.setdefault(key, (value, other.keys[key]))
        return merged

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        if node.tag in _NUMBERS and len(node.value) > _LONGEST_NUMBER:
            _refuse(node, f"a number of more than {_LONGEST_NUMBER} characters")
        try:
            value = self.construct_object(node)
            if not isinstance(value, (dict, list, set)):
                return value
        except (ArithmeticError, AttributeError, LookupError, ValueError):
            pass  # what PyYAML lets out of int("") and the like
        _refuse(node, f"this is no {node.tag.removeprefix(_TAG)}")


def _refuse(at: Any, problem: str) -> NoReturn:
    """``at``: a node or event."""
    raise yaml.MarkedYAMLError(problem=problem, problem_mark=at.start_mark)
