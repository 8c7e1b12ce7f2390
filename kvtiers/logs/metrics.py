"""Counters of ``/metrics`` dumps, and of the "KV Transfer metrics" lines in which vLLM logs the same names."""

import re
from dataclasses import dataclass, field

from kvtiers.tables import read_table

_COUNTERS = read_table("logs/counters.toml")
_PAIR = re.compile(r"([\w:]+)(?::\([^)]*\))?=(\d+(?:\.\d+)?)")
_SERIES = 20_000
_MANY_BYTES = 1e8


@dataclass
class Metrics:
    """Series by name and labels, each at its first and its last dump; ``logged``: sums of what log lines said."""

    series: dict[tuple[str, str], tuple[float, float, int]] = field(default_factory=dict)
    logged: dict[str, float] = field(default_factory=dict)

    def take(self, name: str, labels: str, value: float) -> None:
        """One sample of a dump."""
        key = name.removesuffix("_total"), labels
        first, _, times = self.series.get(key, (value, value, 0))
        if times or len(self.series) < _SERIES:
            self.series[key] = first, value, times + 1

    def take_logged(self, line: str) -> None:
        """What one interval's log line adds."""
        for said, value in _PAIR.findall(line):
            name = _COUNTERS["old_names"].get(said, said)
            if name.startswith("vllm:"):
                self.logged[name] = self.logged.get(name, 0.0) + float(value)

    @property
    def dumps(self) -> int:
        """How many dumps of the same server stand one after the other."""
        return max((times for _, _, times in self.series.values()), default=0)

    def count(self, name: str, label: str = "", ever: bool = False) -> float:
        """Between the dumps, or of the only one, or ``ever``, since the server's start; or what the log's lines say."""
        dumped = sum(
            last if ever or times == 1 or last < first else last - first
            for (one, labels), (first, last, times) in self.series.items()
            if one == name and label in labels
        )
        return max(dumped, 0.0 if label else self.logged.get(name, 0.0))

    @property
    def written(self) -> str:
        """The most that one counter says went down, with its unit; empty where nothing did."""
        return self._most("written")

    @property
    def ever_read(self) -> str:
        """The same of what came back since the server's start."""
        return self._most("read", ever=True)

    def _most(self, way: str, ever: bool = False) -> str:
        counters = _COUNTERS[way]
        count, unit = max((self.count(one["name"], one.get("label", ""), ever), one["unit"]) for one in counters)
        if unit == "bytes" and count >= _MANY_BYTES:
            count, unit = count / 1e9, "GB"
        return f"{count:,.{unit == 'GB':d}f} {unit}" if count else ""

    @property
    def asked_tokens(self) -> float:
        return self.count(_COUNTERS["asked"])

    @property
    def hit_tokens(self) -> float:
        return self.count(_COUNTERS["hit"])

    @property
    def failures(self) -> dict[str, float]:
        """Counters of failures that are not 0."""
        counts = {name: self.count(name) for name in _COUNTERS["failures"]}
        return {name: count for name, count in counts.items() if count}
