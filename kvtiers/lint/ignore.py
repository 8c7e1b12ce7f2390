"""``# kvtiers: ignore[rule] reason``: at the end of a line, or above the command or value that it is about."""

import re
from collections.abc import Sequence

from kvtiers.lint.findings import RULES, Finding
from kvtiers.lint.given import Source, file_of

_COMMENT = re.compile(r"#\s*kvtiers:\s*ignore(?:\[([^\]]*)\])?[ \t]*(.*)")


def apply_ignores(findings: Sequence[Finding], sources: Sequence[Source]) -> tuple[list[Finding], int]:
    """What is left, with a note for every comment that ignores nothing for want of a rule or reason; how many went."""
    covered: set[tuple[str, str, int]] = set()
    notes: list[Finding] = []
    for source in sources:
        lines = source.text.splitlines()
        for number, line in enumerate(lines, start=1):
            match = _COMMENT.search(line)
            if not match:
                continue
            rules = {name.strip() for name in (match[1] or "").split(",")} - {""}
            if rules and rules <= set(RULES) and match[2].strip():
                last = _last(lines, number)
                covered |= {(rule, source.name, line) for rule in rules for line in range(number, last + 1)}
            else:
                notes.append(Finding("ignore_unread", source.name, number, {"rules": match[1] or "-"}))
    kept = [one for one in findings if (one.id, file_of(one.source), one.line) not in covered]
    return [*kept, *notes], len(findings) - len(kept)


def _last(lines: Sequence[str], number: int) -> int:
    """The last line that a comment is about: where it stands alone, the end of the command below it."""
    if not lines[number - 1].lstrip().startswith("#"):
        return number
    last = min(number + 1, len(lines))
    while last < len(lines) and (lines[last - 1].rstrip().endswith("\\") or lines[last - 1].lstrip()[:1] == "#"):
        last += 1
    return last
