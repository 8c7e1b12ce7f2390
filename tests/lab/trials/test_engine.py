"""What a trial changes about an engine before it starts it."""

from lab.engines.presets import PRESETS
from lab.knobs import Knobs
from lab.launches import LocalRun, dry_run
from lab.trials.engine import option, variable


def test_a_change_replaces_one_word_or_one_variable_and_nothing_else() -> None:
    _, planned = dry_run(LocalRun(PRESETS["tiny"], Knobs(control=False)))
    changed = variable("PYTHONHASHSEED", "1")(option("--dtype", "float16")(planned))
    words = list(zip(planned.command, changed.command, strict=True))
    assert [pair for pair in words if pair[0] != pair[1]] == [("float32", "float16")]
    assert changed.environment == planned.environment | {"PYTHONHASHSEED": "1"}
