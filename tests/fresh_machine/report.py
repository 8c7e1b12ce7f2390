"""What a run found: a record to keep, a table to read."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.table import Table

from kvtiers.units import format_bytes

# A person who has seen nothing for so long believes that it hangs. A test may take longer.
SILENCE_LIMIT_S = 60.0
MAY_BE_SILENT = ("test",)


@dataclass(frozen=True)
class CommandResult:
    """One make target in one bare system. ``asked_for``: the packages that it asked the system for; ``installed``:
    those and what they brought along.
    """

    target: str
    exit_code: int
    seconds: float
    silence_s: float
    disk_bytes: int
    asked_for: tuple[str, ...]
    installed: tuple[str, ...]
    last_lines: tuple[str, ...]

    @property
    def fault(self) -> str:
        """What is wrong, or empty text."""
        if self.exit_code:
            return f"exit code {self.exit_code}"
        if self.silence_s > SILENCE_LIMIT_S and self.target not in MAY_BE_SILENT:
            return f"silent for {self.silence_s:.0f} s"
        return ""


@dataclass(frozen=True)
class SystemResult:
    """One bare system: ``bare_bytes`` on disk before the first command; ``left_out``: places of packages that only the
    host has.
    """

    debian: str
    python: str
    bootstrap_s: float
    bare_bytes: int
    left_out: tuple[str, ...]
    commands: tuple[CommandResult, ...]


@dataclass(frozen=True)
class Report:
    """A whole run, on ``date``, of what is committed as ``commit``."""

    date: str
    commit: str
    cores: int
    systems: tuple[SystemResult, ...]

    @property
    def passed(self) -> bool:
        """Whether every command did what the README says."""
        return not any(command.fault for system in self.systems for command in system.commands)

    def write(self, path: Path) -> None:
        """As JSON."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")

    def tables(self) -> Iterator[Table]:
        """A table a system, a line a command."""
        for system in self.systems:
            bare = f"bare {format_bytes(system.bare_bytes)}, {_minutes(system.bootstrap_s)}"
            table = Table("command", "result", title=f"Debian {system.debian}, Python {system.python} ({bare})")
            for name in ("time", "silence", "disk"):
                table.add_column(name, justify="right", no_wrap=True)
            table.add_column("asked of the system", overflow="fold")
            for each in system.commands:
                cells = (_minutes(each.seconds), _minutes(each.silence_s), format_bytes(each.disk_bytes))
                table.add_row(f"make {each.target}", each.fault or "passed", *cells, _packages(each))
            yield table


def _minutes(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def _packages(command: CommandResult) -> str:
    along = len(command.installed) - len(command.asked_for)
    return ", ".join(command.asked_for) + (f" (and {along} more that these need)" if along else "")
