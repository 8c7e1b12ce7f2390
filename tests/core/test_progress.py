"""Progress where no bar can be drawn."""

import pytest

from progress import add_bar, bars


def test_without_a_terminal_a_step_says_how_far_it_is_while_it_works(capsys: pytest.CaptureFixture[str]) -> None:
    with bars() as progress:
        bar = add_bar(progress, "saved views", 16)
        assert capsys.readouterr().err == "saved views 0/16\n"
        bar.advance(5)
        assert capsys.readouterr().err == "saved views 5/16\n"
        bar.reach(6)
        assert capsys.readouterr().err == "saved views 6/16\n"


def test_a_long_step_says_little(capsys: pytest.CaptureFixture[str]) -> None:
    with bars() as progress:
        bar = add_bar(progress, "precompile", 2609)
        for _ in range(2609):
            bar.advance()
    assert len(capsys.readouterr().err.splitlines()) <= 10


def test_what_is_told_of_a_step_that_is_over_moves_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Threads that work for it may tell of their last part after whoever waited for that has gone on."""
    with bars() as progress:
        bar = add_bar(progress, "saved states", 16)
        bar.remove()
        bar.advance(16)
    assert capsys.readouterr().err == "saved states 0/16\n"
