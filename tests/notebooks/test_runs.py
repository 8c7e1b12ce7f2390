from kvtiers.result.schema import dump
from tests.core import builders
from tests.notebooks.conftest import Runner

RESULT = dump(builders.result())


def test_runs_and_draws_in_both_languages(run: Runner, name: str, language: str) -> None:
    shown = run(name, language, **({"dropped": RESULT.encode()} if name == "06_prove_it" else {})).shown
    # 05 shows settings, all others a chart at once.
    assert 'role="img"' in shown or name == "05_wire_it"
    assert "Traceback" not in shown
