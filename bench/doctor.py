"""How right is the doctor? Every case of tests/cases through lint or diagnose, against its right answer.

usage: python -m bench.doctor [--write]    (--write: the score into docs/doctor.md and its translation)
"""

import contextlib
import io
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from kvtiers.__main__ import main as kvtiers
from kvtiers.words import text
from lab.paths import REPOSITORY
from lab.report.documents import filled, markdown

CASES = REPOSITORY / "tests" / "cases"
DOCUMENTS = {"docs/doctor.md": "en", "docs/doctor.zh-TW.md": "zh-TW"}
WORKS = frozenset({"works", "works_unmeasured", "little_gain"})
ALARMS = frozenset({"error", "warning"})
UNCERTAIN = "can't tell"
REFUSED = 2


class Mark(StrEnum):
    RIGHT = "right"
    PARTLY = "partly"
    WRONG = "wrong"


class Origin(StrEnum):
    """Whose inputs they are, by the table they stand in."""

    OURS = "ours"
    SHARED = "shared"
    PUBLIC = "public"


@dataclass(frozen=True)
class Example:
    """An input and its right answer; tests/cases/README.md says what each key means."""

    origin: Origin
    command: str
    files: tuple[Path, ...]
    source: str
    right: str = ""
    want: tuple[str, ...] = ()
    cant_tell: tuple[str, ...] = ()
    never: frozenset[str] = frozenset()
    clean: bool = False
    exit: int | None = None
    says: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return " ".join(str(file.relative_to(REPOSITORY)) for file in self.files)


@dataclass(frozen=True)
class Said:
    """What the doctor said: its exit status, the ids it reported with their severity, and all of its words."""

    status: int
    reported: frozenset[tuple[str, str]]
    words: str

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.reported)

    @property
    def certain(self) -> frozenset[str]:
        return frozenset(name for name, severity in self.reported if severity != UNCERTAIN)

    @property
    def alarms(self) -> frozenset[str]:
        return frozenset(name for name, severity in self.reported if severity in ALARMS)


def cases() -> list[Example]:
    """Every case of every table."""
    return [case for table in sorted(CASES.glob("*.toml")) for case in _read(table)]


def _read(table: Path) -> Iterator[Example]:
    origin = next((each for each in Origin if table.stem.startswith(each)), Origin.SHARED)
    command = "lint" if "settings" in table.stem else "diagnose"
    for entry in tomllib.loads(table.read_text(encoding="utf-8"))["case"]:
        names = entry.pop("files", None) or [entry.pop("file")]
        for name in ("want", "cant_tell", "says"):
            entry[name] = tuple(entry.get(name, ()))
        entry["never"] = frozenset(entry.get("never", ()))
        yield Example(origin, command, tuple((CASES / name).resolve() for name in names), **entry)


def ask(case: Example) -> Said:
    """The command's answer, in this process: its JSON for the ids, its text for the words."""
    files = [str(file) for file in case.files]
    status, words = _run([case.command, *files])
    _, written = _run([case.command, "--json", *files])
    words += written
    for file in files:  # a file's name is no answer
        words = words.replace(file, "")
    return Said(status, frozenset(_ids(written)), words)


def _run(arguments: list[str]) -> tuple[int, str]:
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            status = kvtiers(arguments)
        except Exception as error:  # a crash is an answer too: a wrong one
            status = -1
            print(f"{type(error).__name__}: {error}")
    return status, output.getvalue()


def _ids(written: str) -> Iterator[tuple[str, str]]:
    """Of every finding and conclusion, wherever in the JSON it stands: id and severity."""
    nodes: list[dict[str, Any]] = []
    decoder, rest = json.JSONDecoder(object_hook=nodes.append), written.strip()
    with contextlib.suppress(ValueError):  # a refusal is a line of text
        while rest:
            rest = rest[decoder.raw_decode(rest)[1] :].lstrip()
    for node in nodes:
        if "id" in node and "what" in node:
            yield node["id"], node.get("severity", "") if node.get("certain", True) else UNCERTAIN


def missing(case: Example, answer: Said) -> list[str]:
    """What must be reported and said, and is not; ``a|b`` is met by either, words by the beginning of a word."""
    wanted = [want for want in (*case.want, *case.cant_tell) if not answer.ids & set(want.split("|"))]
    return wanted + [
        says
        for says in case.says
        if not any(re.search(rf"(?<!\w){re.escape(word)}", answer.words, re.IGNORECASE) for word in says.split("|"))
    ]


def judge(case: Example, answer: Said) -> Mark:
    """Wrong where something false was said, partly where something true is missing; a refusal says nothing false."""
    refused = answer.status == REFUSED and case.exit != REFUSED
    false = case.never & answer.certain or (case.clean and answer.alarms)
    if false or (case.exit is not None and answer.status != case.exit and not refused) or answer.status < 0:
        return Mark.WRONG
    return Mark.PARTLY if refused or missing(case, answer) else Mark.RIGHT


@dataclass(frozen=True)
class Score:
    """Every case with what was answered, and the two ways to do harm."""

    answers: dict[Example, Said]

    def count(self, verdict: Mark | None = None, origin: Origin | None = None) -> int:
        kept = [(case, answer) for case, answer in self.answers.items() if origin in (None, case.origin)]
        return sum(verdict in (None, judge(case, answer)) for case, answer in kept)

    @property
    def harm(self) -> dict[str, int]:
        """Of logs that fail, those said to work; of good settings, those with an alarm, and those not read."""
        good = [answer for case, answer in self.answers.items() if case.clean]
        failing = [answer for case, answer in self.answers.items() if case.never >= WORKS]
        return {
            "false_works": sum(bool(answer.ids & WORKS) for answer in failing),
            "failing": len(failing),
            "false_alarms": sum(bool(answer.alarms) for answer in good),
            "refused": sum(answer.status == REFUSED for answer in good),
            "good": len(good),
        }


def shown(result: Score, language: str) -> str:
    """The score as a table of Markdown, and a line about harm."""

    def words(key: str, **values: Any) -> str:
        return text(f"score.{key}", language, values)

    table = [["", words("inputs"), *map(words, Mark)]]
    for origin in (*Origin, None):
        if result.count(origin=origin):
            counts = [str(result.count(verdict, origin)) for verdict in (None, *Mark)]
            table.append([words(origin or "together"), *counts])
    return f"{markdown(table, '---:')}\n\n{words('harm', **result.harm)}"


def main() -> int:
    """Print what was not right, and the score; 1 where something false was said."""
    result = Score({case: ask(case) for case in cases()})
    for case, answer in result.answers.items():
        verdict = judge(case, answer)
        if verdict is not Mark.RIGHT:
            said = ", ".join(sorted(answer.ids)) or "-"
            print(f"{verdict}: {case.name}: exit {answer.status}, said {said}; missing: {missing(case, answer)}")
    print(shown(result, "en"))
    if "--write" in sys.argv[1:]:
        for name, language in DOCUMENTS.items():
            (REPOSITORY / name).write_text(filled(name, {"doctor": shown(result, language)}), encoding="utf-8")
    return int(bool(result.harm["false_works"] or result.harm["false_alarms"]))


if __name__ == "__main__":
    sys.exit(main())
