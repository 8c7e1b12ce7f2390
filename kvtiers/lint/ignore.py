"""``# kvtiers: ignore[rule] reason``: at the end of a line, or above the command or value that it is about."""

import re
from collections.abc import Iterator, Sequence

from kvtiers.lint.findings import RULES, Finding
from kvtiers.lint.given import Source, file_of

_COMMENT = re.compile(r"#\s*kvtiers:\s*ignore(?:\[([^\]]*)\])?[ \t]*(.*)")


def apply_ignores(findings: Sequence[Finding], sources: Sequence[Source]) -> tuple[list[Finding], int]:
    """What is left, with a note for every comment that ignores nothing for want of a rule or reason; how many went."""
    covered: dict[tuple[str, int], set[str]] = {}
    notes: list[Finding] = []
    for source in sources:
        for number, rules, reason, last in _comments(source.text):
            names = {name.strip() for name in rules.split(",") if name.strip()}
            if not names or names - set(RULES) or not reason:
                notes.append(Finding("ignore_unread", source.name, number, {"rules": rules or "-"}))
                continue
            for line in range(number, last + 1):
                covered.setdefault((source.name, line), set()).update(names)
    kept = [one for one in findings if one.id not in covered.get((file_of(one.source), one.line), ())]
    return [*kept, *notes], len(findings) - len(kept)


def _comments(text: str) -> Iterator[tuple[int, str, str, int]]:
    """Line, rules, reason, and the last line it is about: of a comment alone the end of the command below it."""
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        match = _COMMENT.search(line)
        if not match:
            continue
        last = number
        if line.lstrip().startswith("#"):
            last = min(number + 1, len(lines))
            while last < len(lines) and (
                lines[last - 1].rstrip().endswith("\\") or lines[last - 1].lstrip()[:1] == "#"
            ):
                last += 1
        yield number, match[1] or "", match[2].strip(), last
