"""Findings for those who read them: people, programs (JSON), code scanning (SARIF 2.1.0), GitHub's annotations."""

import json
from collections.abc import Sequence
from enum import StrEnum
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
    findings, covered = report.findings, coverage(report.given)
    match how:
        case Format.JSON:
            found = [finding.to_json(language) for finding in findings]
            rest = {part: [message.text(language) for message in messages] for part, messages in covered.items()}
            return json.dumps(
                {"findings": found, "coverage": rest, "ignored": report.ignored}, indent=2, ensure_ascii=False
            )
        case Format.SARIF:
            return json.dumps(_sarif(findings, language), indent=2, ensure_ascii=False)
        case Format.GITHUB:
            return "\n".join(_annotation(finding, language) for finding in findings)
        case Format.TEXT:
            shown = [show(finding, language) for finding in findings]
            return "\n\n".join([*([verdict(language)] if report.clean else []), *shown, basis(report, language)])


def verdict(language: str) -> str:
    """That nothing is to be put right."""
    return text("lint.clean", language, {})


def show(finding: Finding, language: str) -> str:
    """One finding: where, what, why, and what to do."""
    at = {"source": finding.source, "line": finding.line}
    where = text("lint.at", language, at) if finding.line else finding.source
    label = text(f"severity.{finding.label}", language, {})
    head = labelled(where, labelled(label, f"{finding.what(language)} [{finding.id}]", language), language)
    parts = {"why": finding.why(language), "fix": finding.fix(language), "lesson": finding.lesson}
    rows = [labelled(text(f"lint.{name}", language, {}), part, language) for name, part in parts.items()]
    return "\n  ".join([head, *rows])


def basis(report: Report, language: str) -> str:
    """What the verdict rests on: a line for each part that has something to say."""
    covered = coverage(report.given)
    labels = {part: text(f"lint.part.{part}", language, {}) for part in PARTS if covered[part]}
    said = {part: " · ".join(message.text(language) for message in covered[part]) for part in labels}
    left_out = [text("lint.ignored", language, {"count": report.ignored})] if report.ignored else []
    return "\n".join([*(labelled(label, said[part], language) for part, label in labels.items()), *left_out])


def explain(rule: str, language: str) -> str:
    """What a rule looks for, before any case of it."""
    entry = RULES[rule]
    label = text(f"severity.{entry['severity']}", language, {})
    parts = {part: entry[part][language] for part in ("why", "fix")} | {"lesson": entry["lesson"]}
    lines = [labelled(rule, labelled(label, entry["what"][language], language), language)]
    lines += [f"  {labelled(text(f'lint.{part}', language, {}), said, language)}" for part, said in parts.items()]
    return "\n".join(lines).replace("{{", "{").replace("}}", "}")


def _sarif(findings: Sequence[Finding], language: str) -> dict[str, Any]:
    used = sorted({finding.id for finding in findings})
    driver = {
        "name": "kvtiers",
        "version": __version__,
        "rules": [_sarif_rule(rule, language) for rule in used],
    }
    run = {
        "tool": {"driver": driver},
        "results": [_sarif_result(one, used.index(one.id), language) for one in findings],
    }
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}


def _sarif_rule(rule: str, language: str) -> dict[str, Any]:
    entry = RULES[rule]
    return {
        "id": rule,
        "shortDescription": {"text": entry["why"][language]},
        "help": {"text": entry["fix"][language].replace("{{", "{").replace("}}", "}")},
        "defaultConfiguration": {"level": entry["severity"]},
    }


def _sarif_result(finding: Finding, index: int, language: str) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(file_of(finding.source).replace("\\", "/"))}}
    if finding.line:
        place["region"] = {"startLine": finding.line}
    return {
        "ruleId": finding.id,
        "ruleIndex": index,
        "level": finding.severity.value if finding.certain else "note",
        "message": {"text": _sentence(finding, language)},
        "locations": [{"physicalLocation": place}],
        "properties": {"certain": finding.certain},
    }


def _annotation(finding: Finding, language: str) -> str:
    """One workflow command: ``::error file=…,line=…,title=…::message``."""
    kind = finding.severity.value if finding.certain and finding.severity != "note" else "notice"
    line = f",line={finding.line}" if finding.line else ""
    title = _escaped(f"kvtiers {finding.id}", ":,")
    file, message = _escaped(file_of(finding.source), ":,"), _escaped(_sentence(finding, language))
    return f"::{kind} file={file}{line},title={title}::{message}"


def _escaped(value: str, more: str = "") -> str:
    for character in "%\r\n" + more:
        value = value.replace(character, f"%{ord(character):02X}")
    return value


def _sentence(finding: Finding, language: str) -> str:
    unseen = "" if finding.certain else f"{text('severity.unseen', language, {})}: "
    return f"{unseen}{finding.what(language)} {finding.why(language)} {finding.fix(language)}"
