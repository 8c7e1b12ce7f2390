"""Gathers what proves a sample: the engine's log lines of that request, and the counters' movement."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from kvtiers.logs.lines import Moved, parse_lookup, parse_retrieved, parse_stored, strip_ansi
from kvtiers.logs.requests import Request
from kvtiers.result.evidence import RequestLog
from kvtiers.result.steps import Step
from lab.errors import LabError
from lab.waiting import tries

LOG_TIMEOUT_S = 10.0
POLL_S = 0.01
Line = TypeVar("Line")
# "(Worker_TP0 pid=9) ", "(VllmWorker rank=0 pid=9) ", "(EngineCore pid=9) "
_PROCESS = re.compile(r"\([^)]*pid=\d+\)")


class LogFile:
    """A log that grows: the lines that came since the last ``skip``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.skip()

    def new_lines(self) -> list[str]:
        with self.path.open("rb") as log:
            log.seek(self._offset)
            return log.read().decode(errors="replace").splitlines()

    def skip(self) -> None:
        self._offset = self.path.stat().st_size


class EngineLog:
    """Follows an engine's log file; knows a request by the id the client gave it. Of several ranks, which move the same
    tokens each, one speaks for all."""

    def __init__(self, path: Path, chunk_tokens: int = 256) -> None:
        self._log = LogFile(path)
        self._chunk_tokens = chunk_tokens

    def request(self, request_id: str, step: Step) -> RequestLog:
        """What LMCache logged about a finished request; the engine calls it ``cmpl-<request_id>-0…``. A cold one is
        waited for until all its full chunks are stored, a reuse until its ``Retrieved`` line.

        Raises:
            LabError: when no lookup line comes.
        """
        for is_last in tries(LOG_TIMEOUT_S, POLL_S):
            lines = [line for line in self._log.new_lines() if f"{request_id}-" in line]
            lookup, retrieved = _last(parse_lookup, lines), _last(parse_retrieved, lines)
            stored, store_s = _stored(lines)
            if (lookup and self._is_whole(step, lookup, retrieved, stored)) or is_last:
                break
        if lookup is None:
            raise LabError(f"no LMCache line about request {request_id} in {self._log.path}: is the connector on?")
        self._log.skip()
        return RequestLog(
            line=next(strip_ansi(line).strip() for line in reversed(lines) if parse_lookup(line)),
            total_tokens=lookup.total,
            computed_tokens=lookup.computed,
            hit_tokens=lookup.hit,
            need_to_load_tokens=lookup.load,
            retrieved_tokens=retrieved.tokens if retrieved else 0,
            retrieve_s=retrieved.cost_s if retrieved else 0.0,
            stored_tokens=stored,
            store_s=store_s,
        )

    def _is_whole(self, step: Step, lookup: Request, retrieved: Moved | None, stored: int) -> bool:
        if step is Step.COLD:
            return stored >= lookup.total - lookup.total % self._chunk_tokens - lookup.hit
        return retrieved is not None or not step.is_reuse


def _stored(lines: Sequence[str]) -> tuple[int, float]:
    """Tokens and seconds of all ``Stored`` lines of one rank: a long prompt is stored in parts."""
    parts: dict[str, list[Moved]] = {}
    for line in lines:
        if stored := parse_stored(line):
            process = _PROCESS.search(line)
            parts.setdefault(process[0] if process else "", []).append(stored)
    of_one_rank = next(iter(parts.values()), [])
    return sum(part.tokens for part in of_one_rank), sum(part.cost_s for part in of_one_rank)


def _last(parse: Callable[[str], Line | None], lines: Iterable[str]) -> Line | None:
    """A request that had to wait is looked up more than once; the last line is what was done."""
    return next((parsed for line in reversed(list(lines)) if (parsed := parse(line))), None)
