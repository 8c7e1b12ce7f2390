"""The browser's Python, as the last build left it."""

from pathlib import Path

from course.notebooks.runtime import take_image

SITE = Path(__file__).parents[2] / "site"


def test_a_second_image_has_the_same_bytes(tmp_path: Path) -> None:
    cache = SITE / ".cache"
    built = sorted((cache / "work" / "image").glob("memory-*.bin"))
    assert built, "the course is not built: run make site"
    take_image(SITE, cache, cache / "notebooks" / "en", tmp_path)
    assert [path.name for path in built] == sorted(path.name for path in tmp_path.glob("memory-*.bin"))
    assert [path.name for path in built if path.read_bytes() != (tmp_path / path.name).read_bytes()] == []
