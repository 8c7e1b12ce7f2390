"""How often the needle is right: of damaged chunks those it called, of whole ones those it called damaged."""

from dataclasses import dataclass
from enum import StrEnum

from kvtiers.result.records import read_record
from kvtiers.result.schema import Host, Versions
from kvtiers.words import text
from lab.paths import RESULTS

SCHEMA = "kvtiers.needle-rates/1"
RATES = RESULTS / "reference" / "needle.json"


class Treatment(StrEnum):
    """What is done to one chunk of each prompt before it is asked again. HALF_ZEROED: half of its bytes; SWAPPED:
    another prompt's chunk of the same place lies in its file."""

    WHOLE = "whole"
    HALF_ZEROED = "half_zeroed"
    SWAPPED = "swapped"


@dataclass(frozen=True)
class Rate:
    """How many prompts were so treated, came back out of a tier, were called wrong, and remained without a verdict."""

    treatment: Treatment
    prompts: int
    came_back: int
    called: int
    untold: int


@dataclass(frozen=True)
class NeedleRates:
    """A result file. ``prompt_tokens``: about so many a prompt, ``minutes``: all of it took."""

    schema: str
    created: str
    versions: Versions
    machine: Host
    model: str
    prompt_tokens: int
    minutes: float
    rates: tuple[Rate, ...]

    def told(self, language: str) -> str:
        """In sentences."""
        known = {**vars(self.machine), **vars(self.versions), "date": self.created[:10], "minutes": self.minutes}
        lines = [text("needle_rates.setup", language, {**known, "tokens": self.prompt_tokens})]
        lines += [f"- {text(f'needle_rates.{rate.treatment}', language, vars(rate))}" for rate in self.rates]
        return "\n".join([lines[0], "", *lines[1:]])


def read_needle_rates(content: str) -> NeedleRates:
    """A result file's text, checked.

    Raises:
        KvtiersError: saying what is wrong with it.
    """
    return read_record(content, NeedleRates, SCHEMA, "`bench.needle`")
