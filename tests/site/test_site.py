"""The builder's pieces, without a browser."""

import gzip
import hashlib
import io
import json
import shutil
import tarfile
import threading
import urllib.request
import zipfile
from pathlib import Path

import pytest
import serve
from build import lab_result, site_address, stage
from course.errors import CourseError
from course.lessons.pages import LANGUAGES, load_lessons
from course.lessons.reading import load_reading
from course.notebooks.export import find_notebooks, in_language, with_wheel, without_header
from course.notebooks.frontend import build_frontend
from course.notebooks.poster import lock_controls
from course.notices import write_notices

PROJECT = Path(__file__).parents[2]
HEADER = """# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "kvtiers",
#     "marimo==0.25.2",
# ]
#
# [tool.uv.sources]
# kvtiers = { path = "..", editable = true }
# ///

import marimo
"""


def test_every_lesson_has_a_page_and_a_notebook_in_both_languages(tmp_path: Path) -> None:
    lessons = load_reading(PROJECT, PROJECT / "site").lessons
    slugs = {language: [lesson.notebook for lesson in lessons[language]] for language in LANGUAGES}
    notebooks = stage(find_notebooks(PROJECT / "notebooks"), tmp_path)
    for language in LANGUAGES:
        assert slugs[language] == [notebook.name for notebook in notebooks if notebook.language == language]
    assert len(slugs["en"]) == 8


def test_a_staged_notebook_differs_in_the_line_of_its_language_only(tmp_path: Path) -> None:
    sources = find_notebooks(PROJECT / "notebooks")
    for notebook in stage(sources, tmp_path):
        source = (PROJECT / "notebooks" / notebook.path.name).read_text(encoding="utf-8")
        staged = notebook.path.read_text(encoding="utf-8")
        (language_line,) = set(staged.splitlines()) - set(source.splitlines())
        assert language_line == f'    LANGUAGE = "{notebook.language}"'
        assert len(staged.splitlines()) == len(source.splitlines())


def test_a_notebook_without_a_line_for_its_language_stops_the_build() -> None:
    with pytest.raises(CourseError, match="LANGUAGE"):
        in_language(HEADER, "en")


def test_a_lesson_missing_in_one_language_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "01-first"
    folder.mkdir()
    (folder / "en.md").write_text("# Title\n\nText\n")
    shutil.copy(PROJECT / "lessons" / "01-first-token" / "quiz.yaml", folder)
    with pytest.raises(CourseError, match=r"01-first has no zh-TW\.md"):
        load_lessons(tmp_path, load_reading(PROJECT, PROJECT / "site").texts)


def test_the_download_names_the_wheel_and_not_the_clone() -> None:
    source = with_wheel(HEADER, "http://127.0.0.1:8000/wheels/kvtiers-0.1.0-py3-none-any.whl")
    assert '"kvtiers @ http://127.0.0.1:8000/wheels/kvtiers-0.1.0-py3-none-any.whl",' in source
    assert "tool.uv" not in source
    assert source.endswith("# ///\n\nimport marimo\n")


def test_the_browser_gets_no_header() -> None:
    assert without_header(HEADER) == "import marimo\n"


def test_a_saved_view_shows_controls_locked_at_their_value_under_their_name() -> None:
    slider = (
        "<marimo-ui-element object-id='a'><marimo-slider data-initial-value='32' data-start='1' data-stop='80' "
        "data-label='&quot;&lt;b&gt;Layers&lt;/b&gt;&quot;' data-steps='[]'></marimo-slider></marimo-ui-element>"
    )
    view = lock_controls(slider, {"a": "layers"})
    assert 'min="1" max="80" step="any" value="32" disabled' in view
    assert "<span>Layers</span>" in view
    assert 'data-control="layers"' in view
    assert "marimo" not in view
    assert "data-control" not in lock_controls(slider, {})


def wheel(path: Path, licence: str) -> bytes:
    with zipfile.ZipFile(path, "w") as bundle:
        bundle.writestr(f"{path.name.split('-')[0]}-1.dist-info/licenses/LICENSE", licence)
    return path.read_bytes()


def tarball(path: Path, folder: str, licence: str) -> bytes:
    with tarfile.open(path, "w:gz") as bundle:
        entry = tarfile.TarInfo(f"{folder}/LICENSE")
        entry.size = len(licence)
        bundle.addfile(entry, io.BytesIO(licence.encode()))
    return path.read_bytes()


def test_the_notices_hold_the_licences_of_what_is_shipped_and_of_nothing_else(tmp_path: Path) -> None:
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    content = {
        "used-1-py3-none-any.whl": wheel(downloads / "used-1-py3-none-any.whl", "licence of a wheel"),
        "inner-1-py3-none-any.whl": wheel(downloads / "inner-1-py3-none-any.whl", "licence of a member"),
        "packed-1.tgz": tarball(downloads / "packed-1.tgz", "package", "licence of a package"),
        "source-1.tar.gz": tarball(downloads / "source-1.tar.gz", "source-1", "licence of a source distribution"),
        "tool-1.tgz": tarball(downloads / "tool-1.tgz", "package", "licence of a build tool"),
    }
    wheel(downloads / "stale-1-py3-none-any.whl", "licence of an older list")
    digest = {name: hashlib.sha256(data).hexdigest() for name, data in content.items()}

    def entry(file: str, **more: object) -> dict[str, object]:
        return {
            "file": file,
            "sha256": digest.get(file, ""),
            "client": "pip",
            "requirement": file,
            "licence": "MIT",
        } | more

    inner = "frontend/inner-1-py3-none-any.whl"
    listed = [
        *map(entry, ("used-1-py3-none-any.whl", "packed-1.tgz", "source-1.tar.gz")),
        entry("outer-1-py3-none-any.whl", members={inner: digest["inner-1-py3-none-any.whl"]}),
        entry("tool-1.tgz", shipped=False),
    ]
    (tmp_path / "licences").mkdir()
    (tmp_path / "licences" / "extra.txt").write_text("licence kept here")
    (tmp_path / "runtime").mkdir()
    (tmp_path / "runtime" / "downloads.json").write_text(json.dumps(listed))
    write_notices(tmp_path, downloads, tmp_path / "notices.txt")
    notices = (tmp_path / "notices.txt").read_text()
    for kind in ("of a wheel", "of a member", "of a package", "of a source distribution", "kept here"):
        assert f"licence {kind}" in notices
    for name in ("tool-1", "build tool", "older list"):
        assert name not in notices


def test_a_frontend_that_has_moved_and_a_list_without_its_merger_are_named(tmp_path: Path) -> None:
    (tmp_path / "runtime").mkdir()
    (tmp_path / "runtime" / "downloads.json").write_text("[]")
    with pytest.raises(CourseError, match="no folder assets"):
        build_frontend(tmp_path, "0", tmp_path, tmp_path, tmp_path)
    (tmp_path / "assets").mkdir()
    with pytest.raises(CourseError, match=r"downloads\.json lists 0 files of @rollup/wasm-node"):
        build_frontend(tmp_path, "0", tmp_path, tmp_path, tmp_path)


@pytest.mark.parametrize(
    "text", ["course.example/kv", "ftp://course.example", "https://", "https:///kv", "https://a b/", ""]
)
def test_an_address_that_no_page_can_be_put_below_is_refused(text: str) -> None:
    with pytest.raises(CourseError, match="--address must look like https://host/path, got"):
        site_address(text)


def test_an_address_needs_no_slash_at_its_end() -> None:
    assert site_address("https://course.example/kv/") == "https://course.example/kv"
    assert site_address("http://127.0.0.1:8000") == "http://127.0.0.1:8000"


@pytest.fixture
def served(tmp_path: Path) -> str:
    (tmp_path / "index.html").write_text("<p>home")
    (tmp_path / "big.js").write_text("1;" * 1000)
    (tmp_path / "big.js.gz").write_bytes(gzip.compress((tmp_path / "big.js").read_bytes()))
    server = serve.make_server(tmp_path, 0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"


def test_the_server_sends_the_packed_file_to_a_browser_that_takes_it(served: str) -> None:
    request = urllib.request.Request(served + "/big.js", headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request) as response:
        assert response.headers["Content-Encoding"] == "gzip"
        assert response.headers["Content-Type"] == "text/javascript; charset=utf-8"
        assert gzip.decompress(response.read()) == b"1;" * 1000
    with urllib.request.urlopen(served + "/big.js") as response:
        assert response.headers["Content-Encoding"] is None


def test_a_taken_port_leads_to_a_free_one(tmp_path: Path) -> None:
    first = serve.make_server(tmp_path, 0)
    second = serve.make_server(tmp_path, first.server_address[1])
    assert second.server_address[1] not in (0, first.server_address[1])
    first.server_close()
    second.server_close()


def test_lesson_6_shows_the_last_run_unless_it_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    committed = PROJECT / "lab" / "results" / "reference" / "cpu-tiny.json"
    (tmp_path / "reference").mkdir()
    reference = Path(shutil.copy(committed, tmp_path / "reference"))
    assert lab_result(tmp_path) == reference
    latest = Path(shutil.copy(committed, tmp_path / "latest.json"))
    assert lab_result(tmp_path) == latest
    latest.write_text(latest.read_text().replace('"schema"', '"scheme"'))
    assert lab_result(tmp_path) == reference
    assert "make lab" in capsys.readouterr().out
