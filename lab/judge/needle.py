"""Is what comes out of a tier right? Long prompts, each with a fact of its own, asked before and after they were pushed
out: an answer that was computed against one over kept KV, by the rule of lab.judge.answers.

How far rounding takes answers apart is measured too, on what the engine itself keeps: asked at once again, a prompt's
tail is computed over kept KV as it is when that comes from a tier.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from lab.errors import LabError
from lab.judge.answers import EXACT_NATS, GAP_NATS
from lab.judge.asker import Asker, Check, asking
from lab.judge.points import Agreement, Asked, State, agreement, apart_nats, point

DEFAULT_PROMPTS, DEFAULT_MINUTES = 8, 5.0
MAX_TOKENS = 16
_BEFORE = 0.5  # of the time, for what has to be computed
_CALIBRATED = 3  # prompts
_MORE = 3.0  # times what was measured: another prompt may lie further apart


@dataclass(frozen=True)
class NeedleResult:
    """What came of it. ``prompts`` were asked twice, ``came_back`` of them out of a tier, with ``tokens`` in all from
    ``answered_by``. ``named``: in so many the model named the fact when it computed. ``wrong``: facts of those answered
    otherwise by more than ``tolerance_nats``, which rounding explains there; ``untold``: where the server shows no
    logprobs."""

    state: State
    what: str
    prompts: int = 0
    came_back: int = 0
    tokens: int = 0
    answered_by: str = ""
    named: int = 0
    tolerance_nats: float = 0.0
    wrong: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Needle:
    """One prompt and its fact."""

    prompt: str
    fact: str


def run_needle(
    wanted: Check,
    prompts: int = DEFAULT_PROMPTS,
    minutes: float = DEFAULT_MINUTES,
    *,
    empty_ram: bool = False,
    before_asking_again: Callable[[], None] = lambda: None,
) -> NeedleResult:
    """Ask, push out, ask again, compare.

    Args:
        wanted: the server, and what may be asked of it.
        prompts: at most so many.
        minutes: about as long at most; where the server is slow, fewer prompts are asked.
        empty_ram: of LMCache's server, so that what lies below it answers.
        before_asking_again: called when everything lies in a tier.

    Raises:
        LabError: when it cannot be asked, or ``empty_ram`` without its LMCache server.
    """
    if empty_ram and not wanted.server:
        raise LabError("--empty-ram needs --server: the HTTP address of LMCache's server")
    with asking(wanted, MAX_TOKENS, logprobs=True) as asker:
        began, limit_s = time.monotonic(), 60 * minutes
        asker.warm_up()
        needles, cold, late = list[_Needle](), Asked(), Asked()
        while len(needles) < prompts and (not needles or time.monotonic() < began + _BEFORE * limit_s):
            needles.append(_needle(asker))
            asker.ask(needles[-1].prompt, cold)
        if skipped := asker.cannot_push_out(cold.answers[0].prompt_tokens, len(needles) + 1 + 2 * _CALIBRATED):
            return NeedleResult(skipped.state, skipped.what)
        _leave_in_a_tier(asker, cold.answers[0].prompt_tokens, empty_ram)
        before_asking_again()
        before = asker.all_totals()
        for needle in needles:
            if not late.answers or time.monotonic() < began + limit_s:
                asker.ask(needle.prompt, late)
        by = asker.answered_by(before)
        return _verdict(asker, needles, (cold, late), by, _tolerance_nats(asker))


def _leave_in_a_tier(asker: Asker, prompt_tokens: int, empty_ram: bool) -> None:
    asker.push_out(prompt_tokens)
    if asker.server:
        asker.server.await_idle(lambda: None)
        if empty_ram:
            asker.server.clear_ram()


def _needle(asker: Asker) -> _Needle:
    """The fact stands in the middle, its question at the end."""
    half, name, fact = asker.document(), asker.words(1), asker.words(2)
    words = half.split()
    middle = len(words) // 2
    told = f"The password of {name} is {fact}."
    prompt = " ".join([*words[:middle], told, *words[middle:], f"The password of {name} is"])
    return _Needle(prompt, fact)


def _tolerance_nats(asker: Asker) -> float:
    """Of prompts of its own, asked last. Where answers differ, a prompt is asked with its own logprobs: vLLM 0.32 then
    has it looked up, does not wait for what is found, and nobody frees that. Its chunks stay locked in the RAM of
    LMCache's server for --l1-read-ttl-seconds, 300 by default, and ``empty_ram`` would wait for them in vain."""
    cold, at_once = Asked(), Asked()
    for _ in range(_CALIBRATED):
        prompt = asker.document()
        asker.ask(prompt, cold)
        asker.ask(prompt, at_once)
    pairs = zip(cold.answers, at_once.answers, strict=True)
    apart = [apart_nats(first, again, asker.gap_nats) for first, again in pairs]
    if None in apart:
        return GAP_NATS
    return min(GAP_NATS, max(EXACT_NATS, *(_MORE * nats for nats in apart if nats is not None)))


def _verdict(
    asker: Asker, needles: list[_Needle], asked: tuple[Asked, Asked], by: str, tolerance_nats: float
) -> NeedleResult:
    cold, late = asked
    compared = list(zip(needles, cold.answers, late.answers, late.counters, strict=False))
    found: dict[Agreement, list[str]] = {kind: [] for kind in Agreement}
    for needle, first, again, _ in compared:
        found[agreement(first, again, asker.gap_nats, tolerance_nats)].append(needle.fact)
    hits = [counters.external_hits for *_, counters in compared if counters and counters.external_hits]
    wrong, untold, many = found[Agreement.WRONG], found[Agreement.UNTOLD], len(compared)
    ending = "wrong" if wrong else "untold" if untold else "same" if hits else "lost"
    values = {"many": many, "back": len(hits), "tokens": sum(hits), "by": by, "nats": tolerance_nats}
    told = point("needle", ending, wrong=len(wrong), untold=len(untold), **values)
    named = sum(needle.fact in first.text for needle, first, *_ in compared)
    return NeedleResult(
        told.state, told.what, many, len(hits), sum(hits), by, named, tolerance_nats, tuple(wrong), tuple(untold)
    )
