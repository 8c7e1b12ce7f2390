"""What people are shown when an engine dies."""

from lab.engines.process import meaningful_lines

CRASH = """\
(APIServer pid=9) INFO 11-29 14:06:46 [api_utils.py:286] non-default args: {}
(EngineCore pid=41) ERROR 11-29 14:06:56 [core.py:1] EngineCore failed to start.
(EngineCore pid=41) ERROR 11-29 14:06:56 [core.py:1] Traceback (most recent call last):
(EngineCore pid=41) ERROR 11-29 14:06:56 [core.py:1]   File "core.py", line 1, in run
(EngineCore pid=41) ValueError: To serve at least one request with the models's max seq len (2688), 0.04 GiB is needed
(APIServer pid=9) RuntimeError: Engine core initialization failed. See root cause above.
"""


def test_the_fault_is_shown_and_the_stack_is_not() -> None:
    lines = meaningful_lines(CRASH)
    assert lines == [
        "ValueError: To serve at least one request with the models's max seq len (2688), 0.04 GiB is needed"
    ]


def test_a_log_without_a_fault_shows_its_end() -> None:
    assert meaningful_lines("one\ntwo\n", limit=1) == ["two"]
    assert meaningful_lines("") == []
