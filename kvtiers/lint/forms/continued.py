"""Files of an entry a line, which a backslash continues: a Dockerfile, a systemd unit."""

import re
from collections.abc import Iterator

from kvtiers.lint.given import Source


def entries(
    source: Source, form: re.Pattern[str], continues: re.Pattern[str], comments: tuple[str, ...]
) -> Iterator[tuple[str, str, int]]:
    """The two groups of ``form``, name and what it says with its continued lines; and the line where it begins."""
    pending, begins = "", 0
    for number, line in enumerate(source.text.splitlines(), start=source.first_line):
        if line.lstrip().startswith(comments) or not (line.strip() or pending):
            continue
        begins = begins if pending else number
        pending += line + "\n"
        if continues.search(line):
            continue
        match = form.fullmatch(pending.rstrip())
        if match:
            yield match[1], match[2], begins
        pending = ""
