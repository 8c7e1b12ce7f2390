"""Where things lie. Everything the lab sets up is under ``.lab/``, everything it measures under ``lab/results/``."""

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
STATE = REPOSITORY / ".lab"
LOGS = STATE / "logs"
MODELS = STATE / "models"
REQUIREMENTS = REPOSITORY / "requirements"
ENGINES = REPOSITORY / "lab" / "engines"
RESULTS = REPOSITORY / "lab" / "results"
LATEST = RESULTS / "latest.json"
ENGINE_VARIABLE = "KVTIERS_ENGINE"
"""Where it is set it names the engine's environment, which is then taken as it is."""


def engine_environment(engine: str) -> Path:
    """The virtual environment of the engine, ``cpu`` or ``cuda``: its own, unless ENGINE_VARIABLE names another."""
    given = os.environ.get(ENGINE_VARIABLE)
    return Path(given) if given else STATE / f"engine-{engine}"


def engine_python(engine: str) -> Path:
    """The interpreter of the engine's environment."""
    return engine_environment(engine) / "bin" / "python"


def portable(text: str) -> str:
    """The text with this repository's place on this machine written as ``.``, fit to be committed."""
    return text.replace(str(REPOSITORY), ".")
