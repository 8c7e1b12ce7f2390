"""What a run found: a record to keep, a table to read."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.table import Table

from kvtiers.units import format_bytes

# A person who has seen nothing for so long believes that it hangs.
SILENCE_LIMIT_S = 60.0


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
        return f"silent for {self.silence_s:.0f} s" if self.silence_s > SILENCE_LIMIT_S else ""


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

    def table(self) -> Table:
        """A line a command."""
        title = f"commit {self.commit[:10]}, {self.cores} cores, {self.date}"
        table = Table("system", "command", "result", title=title)
        for name in ("time", "longest silence", "disk"):
            table.add_column(name, justify="right")
        table.add_column("asked of the system")
        for system in self.systems:
            label = f"Debian {system.debian}, Python {system.python}"
            for each in system.commands:
                cells = (_minutes(each.seconds), _minutes(each.silence_s), format_bytes(each.disk_bytes))
                table.add_row(label, f"make {each.target}", each.fault or "passed", *cells, _packages(each))
        return table


def _minutes(seconds: float) -> str:
    return f"{seconds // 60:.0f} min {seconds % 60:.0f} s" if seconds >= 60 else f"{seconds:.0f} s"


def _packages(command: CommandResult) -> str:
    along = len(command.installed) - len(command.asked_for)
    return ", ".join(command.asked_for) + (f" (and {along} more that these need)" if along else "")
