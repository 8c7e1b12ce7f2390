"""What survives and what breaks: each scenario's expectation beside what was measured. Shared by lab and course."""

import json
from dataclasses import dataclass
from enum import StrEnum

from kvtiers.errors import KvtiersError
from kvtiers.result.records import from_json, to_json
from kvtiers.result.schema import Host, Versions

SCHEMA = "kvtiers.lab-survival/1"


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


def read_survival(text: str) -> Survival:
    """A result file's text, checked.

    Raises:
        KvtiersError: saying what is wrong with it.
    """
    try:
        data = json.loads(text)
    except ValueError as error:
        raise KvtiersError(f"it is not JSON: {error}") from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise KvtiersError(f"it is not a result of `lab survive` ({SCHEMA})")
    return from_json(Survival, data)


def dump(survival: Survival) -> str:
    """The result file's text."""
    return json.dumps(to_json(survival), indent=1, ensure_ascii=False) + "\n"
