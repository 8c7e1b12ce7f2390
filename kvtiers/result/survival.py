"""What survives and what breaks: each scenario's expectation beside what was measured. Shared by lab and course."""

from dataclasses import dataclass
from enum import StrEnum

from kvtiers.errors import KvtiersError
from kvtiers.json_text import read_object
from kvtiers.result.records import from_json
from kvtiers.result.schema import Host, Versions
from kvtiers.units import format_seconds
from kvtiers.words import text

SCHEMA = "kvtiers.lab-survival/1"
COLUMNS = ("scenario", "expected", "came_back", "answer", "cold", "again", "met")
_ANSWERS = {True: "answer.same", False: "answer.wrong", None: "answer.changed"}


class Scenario(StrEnum):
    """What happens between asking for a document and asking again."""

    ENGINE_RESTART = "engine_restart"
    SERVER_RESTART = "server_restart"
    BOTH_RESTART = "both_restart"
    SECOND_ENGINE = "second_engine"
    FIRST_TOKEN_CHANGED = "first_token_changed"
    MIDDLE_TOKEN_CHANGED = "middle_token_changed"
    LAST_TOKEN_CHANGED = "last_token_changed"
    SHORTER_THAN_A_CHUNK = "shorter_than_a_chunk"
    CHUNK_LOST = "chunk_lost"
    CHUNK_CUT_SHORT = "chunk_cut_short"
    CHUNKS_SWAPPED = "chunks_swapped"


@dataclass(frozen=True)
class Outcome:
    """One scenario. Tokens of the prompt, expected back, come back from RAM (``l1``) and from below (``l2``).

    ``same_answer``: as when it was computed; None where the prompt was changed, so that there is nothing to compare.
    """

    scenario: Scenario
    prompt_tokens: int
    expected_tokens: int
    expected_same_answer: bool | None
    loaded_tokens: int
    l1_tokens: int
    l2_tokens: int
    same_answer: bool | None
    cold_s: float
    again_s: float

    @property
    def met(self) -> bool:
        """Did it go as expected?"""
        return (self.loaded_tokens, self.same_answer) == (self.expected_tokens, self.expected_same_answer)


@dataclass(frozen=True)
class Survival:
    """A run of all scenarios. ``problems``: what broke it off; then some are missing."""

    schema: str
    created: str
    versions: Versions
    machine: Host
    model: str
    chunk_tokens: int
    outcomes: tuple[Outcome, ...]
    problems: tuple[str, ...]

    @property
    def met(self) -> bool:
        """Was every scenario run, and did each go as expected?"""
        return not self.problems and all(outcome.met for outcome in self.outcomes)


def read_survival(content: str) -> Survival:
    """A result file's text, checked."""
    data = read_object(content, "the file")
    if data.get("schema") != SCHEMA:
        raise KvtiersError(f"it is not a result of `lab survive` ({SCHEMA})")
    return from_json(Survival, data)


def table(survival: Survival, language: str) -> list[list[str]]:
    """Head and rows: what was expected beside what happened."""
    head = [_say(f"column.{name}", language) for name in COLUMNS]
    return [head, *(_row(outcome, language) for outcome in survival.outcomes)]


def _row(outcome: Outcome, language: str) -> list[str]:
    tiers = "+".join(tier for tier, tokens in (("L1", outcome.l1_tokens), ("L2", outcome.l2_tokens)) if tokens)
    return [
        _say(f"scenario.{outcome.scenario}", language),
        f"{outcome.expected_tokens:,}",
        f"{outcome.loaded_tokens:,} {tiers}".rstrip(),
        _say(_ANSWERS[outcome.same_answer], language),
        format_seconds(outcome.cold_s),
        format_seconds(outcome.again_s),
        _say("met.yes" if outcome.met else "met.no", language),
    ]


def _say(key: str, language: str) -> str:
    return text(f"survive.{key}", language, {})
