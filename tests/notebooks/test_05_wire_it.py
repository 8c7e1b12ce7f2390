import re
from html import unescape

import pytest

from kvtiers.lint import Source, lint
from kvtiers.settings.advise import files
from kvtiers.settings.version_pairs import LMCacheMode
from kvtiers.settings.wiring import Wiring
from kvtiers.words import text
from tests.notebooks.conftest import Runner


def test_no_disk_limit_is_called_out(run: Runner) -> None:
    notebook = run("05_wire_it", wiring=Wiring.IN_PROCESS_DISK, disk_gib=0)
    assert "to_paste" not in notebook.names
    assert "danger" in notebook.shown


def test_a_relative_path_gets_one_message(run: Runner) -> None:
    notebook = run("05_wire_it", disk_path="cache")
    assert "to_paste" not in notebook.names
    assert "disk_path" in notebook.shown


def test_pasted_settings_are_checked_in_the_pages_language(run: Runner, language: str) -> None:
    notebook = run("05_wire_it", language, pasted="export LMCACHE_LOCAL_DISK=file:///mnt/nvme/<i>kv</i>\n")
    found = {finding.id: finding for finding in notebook.names["findings"]}
    assert "disk_without_limit" in found
    assert found["disk_without_limit"].fix(language) in unescape(unescape(notebook.shown))
    assert "<i>kv" not in notebook.shown


def test_good_settings_get_no_finding(run: Runner) -> None:
    good = run("05_wire_it").names["to_paste"]
    notebook = run("05_wire_it", pasted="\n".join(good.values()))
    assert [finding for finding in notebook.names["findings"] if finding.certain] == []
    assert text("lint.clean", "en", {}) in notebook.shown


@pytest.mark.parametrize("wired", Wiring)
def test_every_wiring_shows_what_to_paste_and_the_doctor_has_nothing_against_it(
    run: Runner, wired: Wiring, language: str
) -> None:
    notebook = run("05_wire_it", language, wiring=wired)
    pasted = files(notebook.names["plan"])
    shown = unescape(re.sub("<[^>]+>", "", notebook.shown))
    assert all(content.strip() in shown for content in pasted.values())
    legacy = wired.mode is LMCacheMode.IN_PROCESS
    assert (text("plan.note.legacy", language, {}) in unescape(unescape(notebook.shown))) is legacy
    script = "\n".join(pasted.get(kind, "") for kind in ("server", "environment", "command"))
    found = lint([Source("paste", script)])
    assert [finding.id for finding in found if finding.certain] == []
    assert ("version_pair_unseen" in [finding.id for finding in found]) is legacy


def test_text_without_settings_gets_a_message(run: Runner, language: str) -> None:
    notebook = run("05_wire_it", language, pasted="hello")
    assert "findings" not in notebook.names
    assert {"en": "No vLLM command", "zh-TW": "沒有 vLLM 指令"}[language] in notebook.shown
