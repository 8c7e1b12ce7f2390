"""Do two running engines share a cache, as their deployment promises? One computes, the other must find it: by the
counters of the one that is asked, by its usage where it shows none, and else by its times, which prove no more than
that something was faster.
"""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace

from kvtiers.result.evidence import Counters
from lab.errors import LabError
from lab.judge.answers import first_difference
from lab.judge.asker import Asker, Check, asking
from lab.judge.points import Asked, Point, State, answers, clearly_faster, point
from lab.measure.client import Completion

ROUNDS = 3
MAX_TOKENS = 8
DEFAULT_WAIT_S = 3.0
_NAMES = ("A", "B")
_SHARES = (0.25, 0.5, 0.9, 1.0)  # of the usual length
_LONGER = 1.1
_CHANGED_AT = {"first word": 0.0, "middle word": 0.6, "last word": 1.0}  # behind more than half, and behind a whole
_QUESTION_WORDS = 30
_TEMPLATE_TOKENS = 64  # that a chat's template may put behind a prefix, where a question stands later
HANDED_OVER = tuple(f"{one} to {other}" for one, other in (_NAMES, _NAMES[::-1]))


def run_pair(wanted: Sequence[Check], wait_s: float = DEFAULT_WAIT_S) -> list[Point]:
    """Ask both engines, compare, judge.

    Args:
        wanted: what may be asked of each of the two.
        wait_s: from computing to asking the other: a store behind two servers gets its chunks in the background.

    Raises:
        LabError: one of them can't be asked, or a limit is reached midway.
    """
    if len({check.url.rstrip("/").removesuffix("/v1") for check in wanted}) != len(_NAMES):
        raise LabError("--url wants two engines, each by an address of its own: --url A --url B")
    with ExitStack() as stack:
        first, second = (stack.enter_context(asking(check, MAX_TOKENS)) for check in wanted)
        return list(_Pair(first, second, wait_s).points())


def proven(points: Sequence[Point]) -> bool:
    """Was each engine seen to find what the other computed?"""
    return all(each.state is State.OK for each in points if each.name in HANDED_OVER)


def came_back(answer: Completion, counters: Counters | None) -> int | None:
    """Tokens of one prompt that were not computed; None where that isn't told, or others ask as well."""
    if counters and counters.own_queries == answer.prompt_tokens:
        return counters.own_hits + counters.external_hits
    return answer.cached_tokens


@dataclass(frozen=True)
class Lengths:
    """What came back of whole prompts, by their length in tokens."""

    seen: tuple[tuple[int, int], ...]

    def at_least(self, tokens: int) -> int:
        """What must come back behind so many tokens that were kept: a shorter prompt gave that much."""
        return max((back for length, back in self.seen if length <= tokens), default=0)


class _Pair:
    def __init__(self, first: Asker, second: Asker, wait_s: float) -> None:
        self._first, self._second = self._engines = (first, second)
        self._wait_s = wait_s

    def points(self) -> Iterator[Point]:
        """All checkpoints; nothing more is asked where nothing comes back."""
        for asker in self._engines:
            asker.warm_up()
        models = [asker.client.model for asker in self._engines]
        if len(set(models)) > 1:
            yield point("models", "differ", names=" and ".join(models))
        documents = [[asker.document() for _ in range(ROUNDS)] for asker in self._engines]
        by_first, by_second = _ask(self._first, documents[0]), _ask(self._second, documents[1])
        time.sleep(self._wait_s)
        of_first, of_second = _ask(self._second, documents[0]), _ask(self._first, documents[1])
        for name, asked in zip(_NAMES, (by_first, by_second), strict=True):
            yield _connector(name, asked)
        handed = [_handed_over(by_second, of_first, self._wait_s), _handed_over(by_first, of_second, self._wait_s)]
        for name, found in zip(HANDED_OVER, handed, strict=True):
            yield replace(found, name=name)
        if any(found.state is State.FAILED for found in handed):
            return
        yield answers(_joined(by_first, by_second), (_joined(of_first, of_second),), self._first.gap_nats)
        if any(came_back(*each) is None for each in zip(of_first.answers, of_first.counters, strict=True)):
            yield point("lengths", "unshown")
        else:
            yield from self._in_parts()
        if any(asked.disturbed for asked in (by_first, by_second, of_first, of_second)):
            yield point("traffic", "others")

    def _in_parts(self) -> Iterator[Point]:
        """Prompts of other lengths, with a word changed, behind one prefix, and from several clients at once."""
        whole = [self._first.document(share) for share in _SHARES]
        longer = [self._first.document(_LONGER) for _ in _CHANGED_AT]
        prefix = self._first.document()
        apart = [[asker.document() for _ in _NAMES] for asker in self._engines]
        _ask(self._first, whole)
        originals, shared = _ask(self._first, longer), _ask(self._first, [prefix])
        kept = [_ask(asker, texts) for asker, texts in zip(self._engines, apart, strict=True)]
        time.sleep(self._wait_s)
        lengths = _lengths(_ask(self._second, whole))
        if lengths is None:
            yield point("lengths", "unshown")
            return
        seen = ", ".join(f"{back:,} of {length:,}" for length, back in lengths.seen)
        grows = sorted(back for _, back in lengths.seen) == [back for _, back in sorted(lengths.seen)]
        yield point("lengths", "seen" if grows else "shrink", seen=seen)
        for (name, place), text, original in zip(_CHANGED_AT.items(), longer, originals.answers, strict=True):
            yield replace(self._changed(text, place, original, lengths), name=name)
        questions = [[f"{prefix} {self._first.words(_QUESTION_WORDS)}" for _ in _NAMES] for _ in self._engines]
        at_least = [len(_NAMES) * lengths.at_least(shared.answers[0].prompt_tokens - _TEMPLATE_TOKENS)] * len(_NAMES)
        yield replace(self._at_once(questions, at_least), name="one prefix")
        yield replace(
            self._at_once(apart[::-1], [_least(asked, lengths) for asked in kept[::-1]]), name="four documents"
        )

    def _changed(self, text: str, place: float, original: Completion, lengths: Lengths) -> Point:
        """What lies before the changed word may come back, and nothing behind it."""
        words = text.split()
        at = min(int(place * len(words)), len(words) - 1)
        asked = _ask(self._second, [" ".join([*words[:at], f"{words[at][::-1]}q", *words[at + 1 :]])])
        (answer,), (counters,) = asked.answers, asked.counters
        back, before = came_back(answer, counters), first_difference(original.prompt_ids, answer.prompt_ids)
        if back is None or before is None or not original.prompt_ids:
            return point("changed word", "unshown")
        least = lengths.at_least(before)
        ending = "stale" if back > before else "fewer" if back < least else "right"
        return point("changed word", ending, back=back, before=before, least=least)

    def _at_once(self, texts: Sequence[Sequence[str]], at_least: Sequence[int]) -> Point:
        """Two clients an engine, all four at the same time."""
        with ThreadPoolExecutor(len(texts)) as engines:
            asked = list(engines.map(lambda asker, wanted: asker.ask_at_once(wanted), self._engines, texts))
        found, fewer = list[str](), False
        for name, each, least in zip(_NAMES, asked, at_least, strict=True):
            back = _together(*each)
            if back is None:
                return point("clients", "unshown")
            found.append(f"{name} {back:,}, at least {least:,} expected")
            fewer |= back < least
        return point("clients", "fewer" if fewer else "right", found="; ".join(found))


def _ask(asker: Asker, texts: Sequence[str]) -> Asked:
    asked = Asked()
    for text in texts:
        asker.ask(text, asked)
    return asked


def _joined(one: Asked, other: Asked) -> Asked:
    return Asked([*one.answers, *other.answers], [*one.counters, *other.counters])


def _connector(name: str, asked: Asked) -> Point:
    queries = asked.moved("external_queries")
    ending = "unshown" if queries is None else "asked" if queries else "unasked"
    return replace(point("connector", ending, asked=queries), name=f"connector {name}")


def _handed_over(computed: Asked, again: Asked, wait_s: float) -> Point:
    """Did an engine find what the other computed? ``computed``: what it computed itself, for its times."""
    times = f"computed {computed}, the other's {again}"
    back = [came_back(*each) for each in zip(again.answers, again.counters, strict=True)]
    if None in back:
        return point("handed over", "timed" if clearly_faster(again, computed) else "untimed", times=times)
    lengths = [answer.prompt_tokens for answer in again.answers]
    if (own := again.moved("own_hits") or 0) > sum(lengths) // 2:
        return point("handed over", "one", own=own)
    # A template that all prompts share comes out of the engine's own cache.
    found = sum(2 * tokens > length for tokens, length in zip(back, lengths, strict=True) if tokens is not None)
    ending = "shared" if found == len(back) else "some" if found else "lost"
    tokens = sum(tokens for tokens in back if tokens is not None)
    return point("handed over", ending, found=found, many=len(back), tokens=tokens, wait=wait_s, times=times)


def _lengths(asked: Asked) -> Lengths | None:
    back = [came_back(*each) for each in zip(asked.answers, asked.counters, strict=True)]
    told = [
        (answer.prompt_tokens, tokens) for answer, tokens in zip(asked.answers, back, strict=True) if tokens is not None
    ]
    return Lengths(tuple(told)) if len(told) == len(back) else None


def _together(asked: Sequence[Completion], counters: Counters | None) -> int | None:
    """What came back of prompts that were counted in one."""
    if counters and counters.own_queries == sum(answer.prompt_tokens for answer in asked):
        return counters.own_hits + counters.external_hits
    told = [answer.cached_tokens for answer in asked if answer.cached_tokens is not None]
    return sum(told) if len(told) == len(asked) else None


def _least(kept: Asked, lengths: Lengths) -> int:
    """What must come back of these."""
    return sum(lengths.at_least(answer.prompt_tokens) for answer in kept.answers)
