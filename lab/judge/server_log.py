"""Gathers what LMCache's server logged about a request."""

import re
from dataclasses import replace
from pathlib import Path

from kvtiers.logs.lines import strip_ansi
from kvtiers.result.evidence import ServerLog
from lab.errors import LabError
from lab.judge.engine_log import LOG_TIMEOUT_S, POLL_S, LogFile
from lab.waiting import tries

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
        """What was logged since the last request; the server calls this one ``cmpl-<request_id>-0…``. Waits until so
        many tokens are stored, a long prompt in parts, and for a reuse's load. Each of the engine's ``ranks`` moves the
        same tokens, side by side, and has its own lines.

        Raises:
            LabError: when those lines do not come.
        """
        for is_last in tries(LOG_TIMEOUT_S, POLL_S):
            text = strip_ansi("\n".join(self._log.new_lines()))
            (stored, store_s), (retrieved, retrieve_s) = _moved(_STORED, text, ranks), _moved(_RETRIEVED, text, ranks)
            if stored >= stored_tokens and (len(_RETRIEVED.findall(text)) >= ranks or not is_reuse):
                break
            if is_last:
                raise LabError(
                    f"of {request_id} LMCache's server logged {stored} tokens stored, {retrieved} retrieved, where "
                    f"{stored_tokens} had to be stored{' and some retrieved' if is_reuse else ''}: {self._log.path}"
                )
        self._log.skip()
        found = ServerLog("", 0, 0, 0, 0.0, retrieved, retrieve_s, stored, store_s)
        for match in _PREFETCH.finditer(text):  # who waits is looked up more than once; the last is what was done
            if f"{request_id}-" in match["request"]:
                keys, l1, l2 = map(int, match.group("keys", "l1", "l2"))
                prefetch_s = float(match["ms"]) / 1000
                found = replace(found, line=match[0], keys=keys, l1_keys=l1, l2_keys=l2, prefetch_s=prefetch_s)
        return found


def _moved(pattern: re.Pattern[str], text: str, ranks: int) -> tuple[int, float]:
    """Tokens and seconds of all such lines, a rank."""
    lines = pattern.findall(text)
    return sum(int(tokens) for tokens, _ in lines) // ranks, sum(float(seconds) for _, seconds in lines) / ranks
