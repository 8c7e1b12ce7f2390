"""What is saved of English notebooks is what they show live. Chinese ones are compared in `test_live.py`."""

import pytest

from tests.browser.conftest import LESSONS, Visit
from tests.browser.moves.states import assert_live_shows, saved_states


@pytest.mark.parametrize("lesson", LESSONS)
def test_saved_states_are_what_the_live_notebook_shows(visit: Visit, lesson: str) -> None:
    visit.open_live(f"en/{lesson}/")
    for state in saved_states(visit):
        assert_live_shows(visit, state)
