"""All texts of one deployment, so that one can refer to another: --config FILE, env_file, ConfigMaps."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from kvtiers.errors import KvtiersError
from kvtiers.lint.given import Source, Value, last_part

_ENV_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*)")


@dataclass
class Inputs:
    """``texts``: by the last part of their name; ``maps``: ConfigMaps by theirs; ``used``: named by another.

    ``of_maps``: the texts that ConfigMaps hold.
    """

    texts: dict[str, Source] = field(default_factory=dict)
    maps: dict[str, dict[str, Value]] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    of_maps: set[str] = field(default_factory=set)

    def add(self, source: Source) -> None:
        self.texts[last_part(source.name)] = source

    def find(self, path: str) -> Source | None:
        """The text that a path names, by its last part; it is then read as what the path makes of it."""
        found = self.texts.get(last_part(path))
        if found:
            self.used.add(found.name)
        return found

    @property
    def dotenv(self) -> dict[str, str | None]:
        """What compose fills in: the variables of the file named .env."""
        found = self.texts.get(".env")
        return values_of(env_file(found)) if found else {}


def values_of(variables: Mapping[str, Value]) -> dict[str, str | None]:
    """Their texts; None for what can't be seen."""
    return {name: str(value.value) if value.literal else None for name, value in variables.items()}


def env_file(source: Source) -> dict[str, Value]:
    """NAME=value a line.

    Raises:
        KvtiersError: ``line N: …`` for another line.
    """
    variables = {}
    for number, line in enumerate(source.text.splitlines(), start=source.first_line):
        match = _ENV_LINE.match(line)
        if match:
            value = match[2].strip()
            if value[:1] in "\"'" and value[-1:] == value[:1] and len(value) > 1:
                value = value[1:-1]
            elif value[:1] not in "\"'{[":
                value = re.split(r"\s#", value, maxsplit=1)[0].strip()
            variables[match[1]] = Value(value, source.name, number, "$" not in value)
        elif line.strip() and not line.lstrip().startswith("#"):
            raise KvtiersError(f"line {number}: not NAME=value")
    return variables
