"""Gathers what LMCache's server logged about a request."""

import re
import time
from pathlib import Path

from kvtiers.logs.lines import strip_ansi
from kvtiers.result.evidence import ServerLog
from lab.errors import LabError
from lab.judge.engine_log import LOG_TIMEOUT_S, POLL_S, LogFile

# Source: format strings of LMCache 0.5.6. Only the lookup names its request; the lab asks one at a time.
_PREFETCH = re.compile(
    r"Prefetch request completed \(L1\+L2\): \d+/(?P<keys>\d+) retained keys "
    r"\((?P<l1>\d+) L1, (?P<l2>\d+) L2\) in (?P<ms>[\d.]+) ms \(external_request_id=(?P<request>[^,]*),[^)]*\)"
)
_STORED = re.compile(r"Stored (\d+) tokens in ([\d.]+) seconds")
_RETRIEVED = re.compile(r"Retrieved (\d+) tokens in ([\d.]+) seconds")


class CacheServerLog:
    """Follows the log file of LMCache's server."""

    def __init__(self, path: Path) -> None:
        self._log = LogFile(path)

    def request(self, request_id: str, stored_tokens: int, is_reuse: bool, ranks: int = 1) -> ServerLog:
        """What was logged since the last request.

        Args:
            request_id: as sent; the server logs it as ``cmpl-<request_id>-0…``.
            stored_tokens: to wait for; a long prompt is stored in parts.
            is_reuse: wait for its load.
            ranks: of the engine; each moves the same tokens, side by side, and has its own lines.

        Raises:
            LabError: when those lines do not come.
        """
        deadline = time.monotonic() + LOG_TIMEOUT_S
        while True:
            text = strip_ansi("\n".join(self._log.new_lines()))
            (stored, store_s), (retrieved, retrieve_s) = _moved(_STORED, text), _moved(_RETRIEVED, text)
            stored, retrieved = stored // ranks, retrieved // ranks
            if stored >= stored_tokens and (len(_RETRIEVED.findall(text)) >= ranks or not is_reuse):
                break
            if time.monotonic() > deadline:
                raise LabError(
                    f"of {request_id} LMCache's server logged {stored} tokens stored, {retrieved} retrieved, where "
                    f"{stored_tokens} had to be stored{' and some retrieved' if is_reuse else ''}: {self._log.path}"
                )
            time.sleep(POLL_S)
        self._log.skip()
        lookups = [match for match in _PREFETCH.finditer(text) if f"{request_id}-" in match["request"]]
        lookup = lookups[-1] if lookups else None
        return ServerLog(
            line=lookup[0] if lookup else "",
            keys=int(lookup["keys"]) if lookup else 0,
            l1_keys=int(lookup["l1"]) if lookup else 0,
            l2_keys=int(lookup["l2"]) if lookup else 0,
            prefetch_s=float(lookup["ms"]) / 1000 if lookup else 0.0,
            retrieved_tokens=retrieved,
            retrieve_s=retrieve_s / ranks,
            stored_tokens=stored,
            store_s=store_s / ranks,
        )


def _moved(pattern: re.Pattern[str], text: str) -> tuple[int, float]:
    """Tokens and seconds of all such lines."""
    lines = pattern.findall(text)
    return sum(int(tokens) for tokens, _ in lines), sum(float(seconds) for _, seconds in lines)
