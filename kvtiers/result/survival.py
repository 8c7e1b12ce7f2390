"""What survives and what breaks: each scenario's expectation beside what was found. Shared by lab and course."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce

from kvtiers.result.records import read_record
from kvtiers.result.schema import Host, Versions
from kvtiers.units import format_seconds
from kvtiers.words import text

SCHEMA = "kvtiers.lab-survival/2"
COLUMNS = ("scenario", "expected", "found", "cold", "again", "back", "met")


class Scenario(StrEnum):
    """What happens between asking for a document and asking again, or while it is asked."""

    # `lab survive`
    ENGINE_RESTART = "engine_restart"
    SERVER_RESTART = "server_restart"
    BOTH_RESTART = "both_restart"
    FIRST_REQUEST = "first_request"
    PREFIXES_REPLAYED = "prefixes_replayed"
    PREFIXES_PREFETCHED = "prefixes_prefetched"
    SECOND_ENGINE = "second_engine"
    FIRST_TOKEN_CHANGED = "first_token_changed"
    MIDDLE_TOKEN_CHANGED = "middle_token_changed"
    LAST_TOKEN_CHANGED = "last_token_changed"
    SHORTER_THAN_A_CHUNK = "shorter_than_a_chunk"
    CLIENT_GONE = "client_gone"
    CHUNK_LOST = "chunk_lost"
    CHUNK_CUT_SHORT = "chunk_cut_short"
    CHUNKS_SWAPPED = "chunks_swapped"
    REDIS_BOTH_RESTART = "redis_both_restart"
    REDIS_SECOND_ENGINE = "redis_second_engine"
    # `lab stress`
    CHUNK_DAMAGED = "chunk_damaged"
    ABORTS = "aborts"
    DIRECTORY_READ_ONLY = "directory_read_only"
    DRIVE_FULL = "drive_full"
    NO_INODES = "no_inodes"
    ENGINE_KILLED_STORING = "engine_killed_storing"
    SERVER_KILLED = "server_killed"
    SERVER_KILLED_STORING = "server_killed_storing"
    SERVER_BACK_AT_ONCE = "server_back_at_once"
    SERVER_KILLED_DEFAULTS = "server_killed_defaults"
    SERVER_KILLED_STORING_DEFAULTS = "server_killed_storing_defaults"
    KV_TYPE_CHANGED = "kv_type_changed"
    WEIGHTS_CHANGED = "weights_changed"
    BLOCK_SIZE_CHANGED = "block_size_changed"
    HASH_SEED_CHANGED = "hash_seed_changed"
    REDIS_KILLED = "redis_killed"
    REDIS_REFUSED = "redis_refused"
    REDIS_PASSWORD = "redis_password"
    REDIS_FULL = "redis_full"


class Reason(StrEnum):
    """Why a scenario could not be tried."""

    NO_MOUNT = "no_mount"
    NO_REDIS = "no_redis"


class Reply(StrEnum):
    """What the client got. CHANGED: the prompt was another, so that there is nothing to compare; FAILED: an error."""

    SAME = "same"
    WRONG = "wrong"
    CHANGED = "changed"
    FAILED = "failed"


@dataclass(frozen=True)
class Finding:
    """How a request ends: ``tokens`` of its prompt came out of LMCache.

    ``lives``: the engine, afterwards; ``recovers``: hits come back once the fault is mended, None where none is. Of an
    expectation, tokens None: however many; reply None: chance decides whether the engine answers right or dies of it.
    """

    tokens: int | None
    reply: Reply | None
    lives: bool = True
    recovers: bool | None = None

    def meets(self, expected: "Finding") -> bool:
        """Is it what was expected?"""
        tokens = self.tokens if expected.tokens is None else expected.tokens
        endings = {(expected.reply, expected.lives)}
        if expected.reply is None:
            endings = {(Reply.SAME, True), (Reply.FAILED, False)}
        return (self.tokens, self.recovers) == (tokens, expected.recovers) and (self.reply, self.lives) in endings


@dataclass(frozen=True)
class Outcome:
    """One scenario. What came back came from RAM (``l1_tokens``) and from below (``l2_tokens``).

    Seconds: ``cold_s`` to the first token when it was computed, ``again_s`` when it was asked again (or to the error);
    ``back_s`` from mending the fault to the next hit.
    """

    scenario: Scenario
    prompt_tokens: int
    expected: Finding
    found: Finding
    l1_tokens: int
    l2_tokens: int
    cold_s: float
    again_s: float
    back_s: float | None = None

    @property
    def met(self) -> bool:
        """Did it go as expected?"""
        return self.found.meets(self.expected)


@dataclass(frozen=True)
class Survival:
    """A run of all scenarios. ``problems``: what broke one off, which is missing then. ``not_tried``: by scenario; this
    machine lacks what those take."""

    schema: str
    created: str
    versions: Versions
    machine: Host
    model: str
    chunk_tokens: int
    outcomes: tuple[Outcome, ...]
    problems: tuple[str, ...]
    not_tried: dict[str, Reason]

    @property
    def met(self) -> bool:
        """Was every scenario run that could be, and did each go as expected?"""
        return not self.problems and all(outcome.met for outcome in self.outcomes)


def read_survival(content: str) -> Survival:
    """A result file's text, checked.

    Raises:
        KvtiersError: saying what is wrong with it.
    """
    return read_record(content, Survival, SCHEMA, "`lab survive`, `lab stress`")


def table(survival: Survival, language: str) -> list[list[str]]:
    """Head and rows: what was expected beside what was found; no column where no cell says anything."""
    head = [_say(f"column.{name}", language) for name in COLUMNS]
    rows = [_row(outcome, language) for outcome in survival.outcomes]
    for scenario, reason in survival.not_tried.items():
        rows.append([_say(f"scenario.{scenario}", language), "", _say(f"reason.{reason}", language), *[""] * 4])
    told = [number for number in range(len(head)) if any(row[number] for row in rows)]
    return [[line[number] for number in told] for line in (head, *rows)]


def _row(outcome: Outcome, language: str) -> list[str]:
    tiers = "+".join(tier for tier, tokens in (("L1", outcome.l1_tokens), ("L2", outcome.l2_tokens)) if tokens)
    return [
        _say(f"scenario.{outcome.scenario}", language),
        _finding(outcome.expected, "", language),
        _finding(outcome.found, tiers, language),
        format_seconds(outcome.cold_s),
        format_seconds(outcome.again_s),
        "" if outcome.back_s is None else format_seconds(outcome.back_s),
        _say("met.yes" if outcome.met else "met.no", language),
    ]


def _finding(finding: Finding, tiers: str, language: str) -> str:
    parts = []
    if finding.tokens is not None and finding.reply is not Reply.FAILED:
        parts.append(f"{finding.tokens:,} {tiers}".rstrip())
    if finding.reply is None:
        parts.append(_say("finding.either", language))
    elif finding.reply is not Reply.CHANGED:
        parts.append(_say(f"reply.{finding.reply}", language))
    if not finding.lives:
        parts.append(_say("finding.dies", language))
    if finding.recovers is not None:
        parts.append(_say("finding.recovers" if finding.recovers else "finding.stays", language))
    return _joined("survive.finding.and", parts, language)


def enumeration(scenarios: Sequence[Scenario], language: str) -> str:
    """Their names, in a sentence."""
    names = [_say(f"scenario.{scenario}", language) for scenario in scenarios]
    return _joined("survive.enumerated", [text("survive.named", language, {"name": name}) for name in names], language)


def _joined(how: str, parts: Sequence[str], language: str) -> str:
    return reduce(lambda first, more: text(how, language, {"first": first, "more": more}), parts)


def _say(key: str, language: str) -> str:
    return text(f"survive.{key}", language, {})
