"""YAML comes out as from PyYAML's safe loader, with lines; what is refused is refused in one line; bombs do no harm."""

import math
import re
import sys
from typing import Any

import pytest
import yaml

from kvtiers.errors import KvtiersError
from kvtiers.lint.yaml_nodes import DEEPEST, MOST_VALUES, Node, documents

# one line each, unless it is the lines that matter
TEXTS = [
    "",
    "# nothing but a comment\n",
    "---\n",
    "a: 1",
    "a: yes\nb: Off\nc: oFF\nd: TRUE\ne: 'no'\n",
    "a: ~\nb: null\nc:\nd: ''\n",
    "a: 010\nb: 0x1F\nc: 0b11\nd: 1_000\ne: -7\nf: +3\ng: 0o7\nh: 08\n",
    "a: 1e3\nb: 1.5\nc: 12.0e+2\nd: 1.\ne: .5\nf: 6.02E23\ng: -.inf\nh: 1_0.5\n",
    "a: 190:20:30\nb: 1:30.5\n",
    "a: 2026-11-29\nb: 2026-11-29T14:06:56Z\nc: 2026-11-29 14:06:56.5 +01:00\n",
    "a: !!str 12\nb: !!float 3\nc: !!int '4'\nd: !!binary aGk=\n",
    "a: b # a comment\nc: d#e\nf: '#' # g\n",
    "a: http://host:80/path\nb: C:\\dir\nc: 12:x\n",
    "a: \"\\u00e9\\n\\x41\\e\"\nb: 'it''s'\nc: \"a\\\n  b\"\n",
    "a: 'one\n  two\n\n  three'\n",
    "a: one\n  two\n  three\nb: c\n",
    "a: one\n\n  two\n  # not part of it\nb: c\n",
    "a: one:two\n",
    "- a\n- b\n-\n- - c\n  - d\n",
    "- a: 1\n  b: 2\n-   c: 3\n    d: 4\n",
    "a:\n- 1\n- 2\nb:\n  - 3\n",
    "a:\n  b:\n    c:\n      - d: [e, {f: g}]\n",
    "[a, b, [c], {d: e}]\n",
    "{a: 1, 'b': \"2\", c, d: }\n",
    "a: [1, # one\n    2, # two\n    ]  # done\n",
    "a: {b: 1, # one\n  c: 2}\n",
    "a: [x y, 'p, q', r: s]\n",
    "a: []\nb: {}\nc: [[], {}]\n",
    'a: {"b":1,"c":[true,null]}\n',
    "a: [http://x:1/y, b:c]\n",
    "a: |\n  one\n    two\n\n  three\nb: c\n",
    "a: |-\n  one\nb: |+\n  two\n\nc: d\n",
    "a: |2\n   one\n  two\n",
    "a: >\n  one\n  two\n\n  three\n    kept\n  four\nb: >-\n  x\n  y\n",
    "a: | # a comment\n  # text\nb: c\n",
    "a: &x 1\nb: *x\nc: [*x, *x]\n",
    "a: &x {b: 1}\nc: *x\nd: &y [1, *x]\ne: *y\n",
    "base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  y: 3\n",
    "use:\n  y: 3\n  <<: {x: 1, y: 2}\n",
    "a: &a {k: 1}\nb: &b {l: 2}\nc:\n  <<: [*a, *b]\n  m: 3\n",
    "a: &a {k: 1}\nb:\n  <<: [*a]\n",
    "a: &a {k: 1}\nb: &b\n  <<: *a\n  l: 2\nc:\n  <<: *b\n",
    "a: {'<<': 1, \"<<\": 2}\n",
    "a: 1\nb: 2\na: 3\n",
    "1: a\ntrue: b\n~: c\n1.5: d\n2026-11-29: e\n",
    "? a\n: b\n? 'c d'\n: - e\n",
    "'a b': 1\n\"c: d\": 2\ne f: 3\n-g: 4\n",
    "a: -x\nb: '- c'\n",
    "a:    b   \nc: d  # e\n",
    "a: b\r\nc:\r\n  - d\r\n",
    "\ufeffa: b\n",
    "%YAML 1.1\n---\na: yes\n...\n",
    "--- {a: b}\n",
    "--- |\n text\n",
    "command: >\n  --a 1\n  --b 2\n\nother: x\n",
    "d:\n- e\n- f: g\n-\n  h: [1, {k: v, 'l': \"m\"}, []]\n",
    "名: 值\nclé: é\n",
]


@pytest.mark.parametrize("text", TEXTS)
def test_values_are_those_of_pyyaml(text: str) -> None:
    theirs = yaml.safe_load(text)
    ours = [node.plain() for node in documents(text)]
    assert repr(ours) == repr([theirs] if ours else [])
    assert ours or theirs is None


@pytest.mark.parametrize("text", ["a: 1\n---\nb: 2\n--- c\n", "a: 1\n...\n---\n", "---\n---\na: [\n1]\n"])
def test_documents_are_those_of_pyyaml(text: str) -> None:
    assert [node.plain() for node in documents(text)] == list(yaml.safe_load_all(text))


def test_no_number_is_no_number() -> None:
    assert math.isnan(documents("a: .nan")[0].plain()["a"])


def test_of_several_merged_mappings_the_first_wins_and_what_is_written_beside_them_wins_over_all() -> None:
    text = "one: &one {size: 1, name: a}\ntwo: &two {size: 2, name: b, more: c}\n"
    (node,) = documents(text + "use:\n  name: own\n  <<: [*one, *two]\n")
    assert node.plain()["use"] == {"size": 1, "name": "own", "more": "c"}


def lines_of(node: Node) -> Any:
    if isinstance(node.value, dict):
        return {key: (inner.key_line, lines_of(inner)) for key, inner in node.value.items()}
    return [lines_of(inner) for inner in node.value] if isinstance(node.value, list) else node.line


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a: 1\n\n# x\nb: 2\n", {"a": (1, 1), "b": (4, 4)}),
        ("a:\n  - x\n  - y: 1\n    z:\n      2\n", {"a": (1, [2, {"y": (3, 3), "z": (4, 5)}])}),
        ("a: [x,\n  y]\nb: {c: 1,\n  d: 2}\n", {"a": (1, [1, 2]), "b": (3, {"c": (3, 3), "d": (4, 4)})}),
        ("a: |\n  one\n  two\nb: >-\n\n  x\nc: y\n", {"a": (1, 2), "b": (4, 5), "c": (7, 7)}),
        ("a: &a {k: 1}\nb:\n  <<: *a\n  l: 2\n", {"a": (1, {"k": (1, 1)}), "b": (2, {"k": (1, 1), "l": (4, 4)})}),
        ("a: 1\nb: 2\na: 3\n", {"a": (3, 3), "b": (2, 2)}),
    ],
)
def test_every_value_has_its_line(text: str, lines: Any) -> None:
    assert lines_of(documents(text)[0]) == lines


def test_lines_are_counted_on_from_where_the_text_stood() -> None:
    (node,) = documents("\na: 1\n", first_line=10)
    assert node.at("a").key_line == 11
    with pytest.raises(KvtiersError, match=r"^line 12: "):
        documents("a: 1\nb: ok\nc: [\n", first_line=9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: b\n\tc: d\n", "line 2: YAML takes no tab here"),
        ("a:\n\t- b\n", "line 2: YAML takes no tab here"),
        ("a: 'never\nclosed\n", "line 3: found unexpected end of stream (while scanning a quoted scalar, which begins"),
        ("a: [1,\n  2\nb: 3\n", "line 3: "),
        ("a: 1\n  b: 2\n", "line 2: mapping values are not allowed here"),
        ("- a\nb: 1\n", "line 2: this does not continue what stands above it"),
        ("a: *nobody\n", "line 1: found undefined alias 'nobody'"),
        ("a: 1\nb: @x\n", "line 2: found character '@'"),
        ("a: b\nc: \x07\n", "line 2: the character U+0007 cannot stand in YAML"),
        ("a: \ud800\n", "line 1: the character U+D800"),
        ("a: 1\nb: !reset []\n", "line 2: !reset is not known here"),
        ("a: !!python/name:os.system x\n", "line 1: could not determine a constructor"),
        ("a: !!set {b}\n", "line 1: "),
        ("? !!set x\n: b\n", "line 1: this is no set"),
        ("[a]: b\n", "line 1: a list or mapping cannot be a key"),
        ("a: 1\n<<: 5\n", "line 2: << takes a mapping"),
        ("a: 1\n<<: [{}, 5]\n", "line 2: << takes a mapping"),
        ("a: 1\nb: 2026-02-31\n", "line 2: this is no timestamp"),
        ("a: !!int ''\n", "line 1: this is no int"),
        ("a: !!bool maybe\n", "line 1: this is no bool"),
        ("a: !!timestamp x\n", "line 1: this is no timestamp"),
        ("a: 0b_\n", "line 1: this is no int"),
        ("a: 1" + ":59" * 1000, "line 1: a number of more than 400 characters"),
        ("a: 9" + "9" * 5000, "line 1: a number of more than 400 characters"),
        ("image: x\ntag: {{ .Values.tag }}\n", "line 2: a template"),
        ("{{- if .Values.x }}\na: b\n{{- end }}\n", "line 1: a template"),
        ("a:\n  {{ toYaml . | indent 2 }}\n", "line 2: a template"),
    ],
)
def test_what_is_no_yaml_is_refused_in_one_message_with_its_line(text: str, message: str) -> None:
    with pytest.raises(KvtiersError, match=f"^{re.escape(message)}[^\n]*$"):
        documents(text)


def test_braces_in_a_text_make_no_template() -> None:
    assert documents("a: '{{ x }}'\nb: x{{ y }}\n")[0].plain() == {"a": "{{ x }}", "b": "x{{ y }}"}
    with pytest.raises(KvtiersError, match="line 2: found undefined alias"):
        documents("a: '{{ x }}'\nb: *c\n")


def doubling(times: int, first: str, again: str) -> str:
    lines = [f"a0: &a0 {first}"]
    lines += [f"a{number}: &a{number} {again.format(number - 1)}" for number in range(1, times)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "text",
    [
        doubling(40, "[x, x]", "[*a{0}, *a{0}]"),
        doubling(40, "{k: x}", "{{k: *a{0}, l: *a{0}}}"),
        doubling(40, "{k: x}", "{{<<: [*a{0}, *a{0}]}}"),
        doubling(40, "{k: x}", "{{<<: *a{0}, l: *a{0}}}"),
        "a: &a [" + "x, " * 1000 + "]\nb: [" + "*a, " * 1000 + "]\n",
        "- a\n" * (MOST_VALUES + 1),
        "a: &a {" + "".join(f"k{number}: x, " for number in range(1000)) + "}\nb: {<<: [" + "*a, " * 1000 + "]}\n",
    ],
)
def test_more_values_than_settings_have_are_refused_however_they_are_written(text: str) -> None:
    with pytest.raises(KvtiersError, match=f"^line \\d+: more than {MOST_VALUES:,} values"):
        documents(text)


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * 100_000,
        "a: " + "[" * 1000 + "]" * 1000,
        "- " * 5000 + "a",
        "? " * 5000 + "a",
        "\n".join(" " * depth + "a:" for depth in range(1000)),
        doubling(1000, "[x]", "[*a{0}]"),
        doubling(1000, "{k: x}", "{{<<: *a{0}}}"),
        "a: &a [*a]\n",
        "a: &a {b: *a}\n",
        "a: &a {<<: *a}\n",
    ],
    ids=lambda text: text[:12],
)
def test_what_is_nested_too_deeply_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(KvtiersError, match=f"^line \\d+: nested more than {DEEPEST} deep"):
        documents(text)


def test_depth_within_the_bound_is_read_by_a_deep_caller() -> None:
    def called_from(depth: int) -> list[Node]:
        return called_from(depth - 1) if depth else documents("a: " + "[" * (DEEPEST - 1) + "]" * (DEEPEST - 1))

    assert sys.getrecursionlimit() >= 1000
    assert len(called_from(100)) == 1
