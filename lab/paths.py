"""Where things lie. Everything the lab sets up is under ``.lab/``, everything it measures under ``lab/results/``."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
STATE = REPOSITORY / ".lab"
LOGS = STATE / "logs"
MODELS = STATE / "models"
REQUIREMENTS = REPOSITORY / "requirements"
ENGINES = REPOSITORY / "lab" / "engines"
RESULTS = REPOSITORY / "lab" / "results"
LATEST = RESULTS / "latest.json"


def engine_environment(engine: str) -> Path:
    """The engine's own virtual environment; ``engine`` is ``cpu`` or ``cuda``."""
    return STATE / f"engine-{engine}"


def engine_python(engine: str) -> Path:
    """The interpreter of the engine's environment."""
    return engine_environment(engine) / "bin" / "python"


def portable(text: str) -> str:
    """The text with this repository's place on this machine written as ``.``, fit to be committed."""
    return text.replace(str(REPOSITORY), ".")
