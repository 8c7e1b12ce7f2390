"""However logs are mixed and cut, a line that says what failed is never drowned by hits."""

import re
from datetime import timedelta
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from bench.doctor import WORKS as ALL_WELL
from bench.doctor import cases
from kvtiers.logs.diagnosis import conclude
from kvtiers.logs.read import read_log_text
from tests.core.logs.builders import DATA, REAL
from tests.core.logs.conclusions import CONCLUSIONS

STOPS = re.compile("INFO: +Shutting down|shutdown triggered")
WORKS = {*ALL_WELL, "few_hits"}
DEADLINE = timedelta(seconds=5)  # one mixture; the machine may be busy
# Not failures that lines of their own show: a later start, or more of the log, may show that all is well.
OF_WHAT_IS_MISSING = {
    *("no_connector", "no_disk_tier", "hash_drift", "stored_but_missed", "not_found_again", "lost_at_restart"),
    *("prompts_differ", "same_length_missed", "too_short", "unproven", "hits_stopped", "defaults_in_force"),
    *("mp_never_loaded", "mp_few_workers", "mp_reaped", "hybrid_in_mp", "perhaps_bad_pair", "not_read"),
}


def shows_by_lines(text: str) -> bool:
    return bool({problem.id for problem in conclude(read_log_text(text)).problems} - OF_WHAT_IS_MISSING)


# The exam's logs that fail or are another system's; files that are one deployment are read one by one.
OF_THE_EXAM = [
    case.files[0].read_text(errors="replace")
    for case in cases()
    if case.command == "diagnose" and len(case.files) == 1 and (case.never >= ALL_WELL or case.exit == 1)
]
FAILING = [text for text in ("\n".join(lines) for _, lines in CONCLUSIONS) if shows_by_lines(text)]
FAILING += [text for text in OF_THE_EXAM if shows_by_lines(text)]
# Up to their stop: what servers say of themselves then is no failure.
WORKING = [
    text.partition("(APIServer pid=20417) INFO 11-29 15:18:35 [launcher.py:254] [shutdown]")[0]
    for text in (
        REAL.read_text(),
        *((DATA / f"{name}.log").read_text() for name in ("directory_restart", "cpu", "mp_server")),
    )
]
WORKING += ["\n".join(lines) for name, lines in CONCLUSIONS if name in WORKS]


def verdict(lines: list[str]) -> str:
    return conclude(read_log_text("\n".join(lines))).conclusion.id


def test_the_logs_of_this_test_are_what_they_are_called() -> None:
    assert len(FAILING) > 80
    assert len(OF_THE_EXAM) > 50
    assert {verdict(text.split("\n")) for text in WORKING} <= WORKS


@settings(deadline=DEADLINE, max_examples=150)
@given(st.sampled_from(FAILING), st.sampled_from(WORKING), st.randoms(use_true_random=False))
def test_interleaved_with_a_working_log_it_still_fails(failing: str, working: str, random: Random) -> None:
    """Lines that say that the working one stops are left out: behind one, an error of no process is of that stop."""
    ours, others = failing.split("\n"), [line for line in working.split("\n") if not STOPS.search(line)]
    begin, end = sorted(random.choices(range(len(others) + 1), k=2))
    others = others[:begin] + others[end:] if random.random() < 0.5 else others[begin:end]
    turns = [True] * len(ours) + [False] * len(others)
    random.shuffle(turns)
    theirs, own = iter(others), iter(ours)
    assert verdict([next(own) if turn else next(theirs) for turn in turns]) not in WORKS


@settings(deadline=DEADLINE, max_examples=100)
@given(st.sampled_from(FAILING), st.sampled_from(WORKING), st.booleans(), st.data())
def test_before_or_behind_a_working_log_it_still_fails(
    failing: str, working: str, first: bool, data: st.DataObject
) -> None:
    lines = working.split("\n")
    lines = lines[: data.draw(st.integers(0, len(lines)))]
    both = [*failing.split("\n"), *lines] if first else [*lines, *failing.split("\n")]
    assert verdict(both) not in WORKS


@settings(deadline=DEADLINE, max_examples=100)
@given(st.sampled_from(OF_THE_EXAM), st.sampled_from(WORKING), st.data())
def test_no_hits_before_it_make_good_what_fails_last(failing: str, working: str, data: st.DataObject) -> None:
    """Of every log of the exam, what is missing in it too."""
    lines = working.split("\n")
    lines = lines[: data.draw(st.integers(0, len(lines)))]
    assert verdict([*lines, *failing.split("\n")]) not in WORKS


@settings(deadline=DEADLINE, max_examples=100)
@given(st.sampled_from(FAILING), st.data())
def test_what_is_lost_elsewhere_does_not_matter(failing: str, data: st.DataObject) -> None:
    """Any lines but those of errors may be missing. Those that say that a server stops are: where another's start is
    lost, its errors read like the end of the first."""
    lines = [line for line in failing.split("\n") if not STOPS.search(line)]
    kept = [line for line in lines if "ERROR" in line or "Error" in line or data.draw(st.booleans())]
    if any("ERROR" in line for line in kept):
        assert verdict(kept) not in WORKS
