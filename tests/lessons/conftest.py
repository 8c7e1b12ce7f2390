"""The texts, read and rendered once."""

from pathlib import Path

import pytest
from course.lessons.reading import Reading, load_reading

PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def reading() -> Reading:
    return load_reading(PROJECT, PROJECT / "site")
