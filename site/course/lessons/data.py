"""Reads the course's YAML files and checks them against the JSON Schemas beside this file."""

import json
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

from course.errors import CourseError

SCHEMAS = Path(__file__).parent / "schemas"


def load_yaml(path: Path, schema: str) -> Any:
    """The file's content.

    Raises:
        CourseError: naming the file and the first place that breaks the schema.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise CourseError(f"{path.name} can't be read: {error}") from error
    validator = Draft202012Validator(json.loads((SCHEMAS / f"{schema}.json").read_text(encoding="utf-8")))
    for problem in sorted(validator.iter_errors(content), key=lambda problem: list(map(str, problem.absolute_path))):
        place = ".".join(map(str, problem.absolute_path)) or "the file"
        raise CourseError(f"{path.parent.name}/{path.name}: {place}: {problem.message}")
    return content
