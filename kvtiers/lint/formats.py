"""Findings for those who read them: people, programs (JSON), code scanning (SARIF 2.1.0), GitHub's annotations."""

import json
from collections.abc import Sequence
from enum import StrEnum
from string import Formatter
from typing import Any
from urllib.parse import quote

from kvtiers import __version__
from kvtiers.lint import Report
from kvtiers.lint.coverage import PARTS, coverage
from kvtiers.lint.findings import RULES, Finding
from kvtiers.lint.given import file_of
from kvtiers.words import labelled, text


class Format(StrEnum):
    """How findings are written."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


def write(report: Report, how: Format, language: str) -> str:
    """All findings, and what they rest on where the format has a place for it."""
    findings, value = report.findings, {}
    match how:
        case Format.TEXT:
            shown = [show(finding, language) for finding in findings]
            return "\n\n".join([*([verdict(language)] if report.clean else []), *shown, basis(report, language)])
        case Format.GITHUB:
            return "\n".join(_annotation(finding, language) for finding in findings)
        case Format.SARIF:
            value = _sarif(findings, language)
        case Format.JSON:
            rest = coverage(report.given).items()
            value["findings"] = [finding.to_json(language) for finding in findings]
            value["coverage"] = {part: [one.text(language) for one in messages] for part, messages in rest}
            value["ignored"] = report.ignored
    return json.dumps(value, indent=2, ensure_ascii=False)


def verdict(language: str) -> str:
    """That nothing is to be put right."""
    return text("lint.clean", language, {})


def show(finding: Finding, language: str) -> str:
    """One finding: where, what, why, and what to do."""
    at = {"source": finding.source, "line": finding.line}
    where = text("lint.at", language, at) if finding.line else finding.source
    label = text(f"severity.{finding.label}", language, {})
    head = labelled(where, labelled(label, f"{finding.what(language)} [{finding.id}]", language), language)
    return _with_rows(head, finding.why(language), finding.fix(language), finding.lesson, language)


def explain(rule: str, language: str) -> str:
    """What a rule looks for, before any case of it."""
    entry = RULES[rule]
    label = text(f"severity.{entry['severity']}", language, {})
    head = labelled(rule, labelled(label, entry["what"][language], language), language)
    return _bare(_with_rows(head, entry["why"][language], entry["fix"][language], entry["lesson"], language))


def _with_rows(head: str, why: str, fix: str, lesson: str, language: str) -> str:
    parts = {"why": why, "fix": fix, "lesson": lesson}
    rows = [labelled(text(f"lint.{name}", language, {}), part, language) for name, part in parts.items()]
    return "\n  ".join([head, *rows])


def _bare(words: str) -> str:
    """Words before any case, which values are left out of."""
    return "".join(said + ("" if name is None else "…") for said, name, _, _ in Formatter().parse(words))


def basis(report: Report, language: str) -> str:
    """What the verdict rests on: a line for each part that has something to say."""
    covered = coverage(report.given)
    said = {part: " · ".join(message.text(language) for message in covered[part]) for part in PARTS if covered[part]}
    rows = [labelled(text(f"lint.part.{part}", language, {}), what, language) for part, what in said.items()]
    left_out = [text("lint.ignored", language, {"count": report.ignored})] if report.ignored else []
    return "\n".join([*rows, *left_out])


def _sarif(findings: Sequence[Finding], language: str) -> dict[str, Any]:
    used = sorted({finding.id for finding in findings})
    rules = [
        {
            "id": rule,
            "shortDescription": {"text": RULES[rule]["why"][language]},
            "help": {"text": _bare(RULES[rule]["fix"][language])},
            "defaultConfiguration": {"level": RULES[rule]["severity"]},
        }
        for rule in used
    ]
    results = [
        {
            "ruleId": finding.id,
            "ruleIndex": used.index(finding.id),
            "level": finding.severity.value if finding.certain else "note",
            "message": {"text": _sentence(finding, language)},
            "locations": [{"physicalLocation": _location(finding)}],
            "properties": {"certain": finding.certain},
        }
        for finding in findings
    ]
    run = {"tool": {"driver": {"name": "kvtiers", "version": __version__, "rules": rules}}, "results": results}
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}


def _location(finding: Finding) -> dict[str, Any]:
    file = {"artifactLocation": {"uri": quote(file_of(finding.source).replace("\\", "/"))}}
    return file | ({"region": {"startLine": finding.line}} if finding.line else {})


def _annotation(finding: Finding, language: str) -> str:
    """One workflow command: ``::error file=…,line=…,title=…::message``."""
    kind = finding.severity.value if finding.certain and finding.severity != "note" else "notice"
    line = f",line={finding.line}" if finding.line else ""
    title = _escaped(f"kvtiers {finding.id}", ":,")
    file, message = _escaped(file_of(finding.source), ":,"), _escaped(_sentence(finding, language))
    return f"::{kind} file={file}{line},title={title}::{message}"


def _escaped(value: str, more: str = "") -> str:
    return "".join(f"%{ord(character):02X}" if character in "%\r\n" + more else character for character in value)


def _sentence(finding: Finding, language: str) -> str:
    unseen = "" if finding.certain else f"{text('severity.unseen', language, {})}: "
    return f"{unseen}{finding.what(language)} {finding.why(language)} {finding.fix(language)}"
