"""Runs side by side: what was not run is a dash, a single sample has no spread."""

from dataclasses import replace

from kvtiers.result.compare import side_by_side
from kvtiers.result.steps import Arm, Step
from kvtiers.result.summary import summarize
from kvtiers.settings.version_pairs import LMCacheMode
from tests.core.builders import result, sample

SINGLE = replace(
    result(),
    lmcache_mode=LMCacheMode.IN_PROCESS,
    summaries=(summarize([sample(Arm.LMCACHE, Step.COLD, 12.4)], "seeded"),),
)


def test_a_column_a_run_and_a_row_a_step_that_any_of_them_has() -> None:
    heads, *rows = side_by_side([result(), SINGLE], "en")
    assert heads == ["step", "LMCache's server, 1,330 tokens", "inside the engine, 1,330 tokens"]
    assert [row[0] for row in rows] == [
        *("cold, with LMCache", "GPU hit, with LMCache", "RAM hit, with LMCache", "SSD reuse, with LMCache"),
        *("cold, control", "GPU hit, control", "evicted, control"),
    ]
    assert rows[0][1:] == ["990 ms (900–1,080 ms)", "12.4 s"]
    assert rows[3][1:] == ["88 ms (80.0–96.0 ms), 11.2x", "–"]


def test_every_language_has_the_words() -> None:
    assert side_by_side([result(), SINGLE], "zh-TW")[1][0] == "冷啟動，有 LMCache"
