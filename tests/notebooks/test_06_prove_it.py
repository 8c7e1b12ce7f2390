import html
import re
from dataclasses import replace
from pathlib import Path

import pytest

from kvtiers.result.reference import reference_run
from kvtiers.result.schema import Mode, dump
from kvtiers.result.steps import Step
from kvtiers.result.summary import summarize
from kvtiers.settings.version_pairs import LMCacheMode
from kvtiers.words import text
from lab.judge.answers import wrong_answers
from lab.measure.scenarios import contradicted
from tests.core import builders
from tests.notebooks.conftest import NOTEBOOKS, Runner

RESULT = dump(builders.result())
REAL_LOG = NOTEBOOKS.parent / "lab" / "results" / "reference" / "cpu-tiny.log"
PROVE_IT = NOTEBOOKS / "06_prove_it.py"


def test_shows_a_dropped_result(run: Runner, language: str) -> None:
    result = replace(builders.result(), machine=replace(builders.result().machine, cpu="<i>somebody's</i> CPU"))
    shown = run("06_prove_it", language, dropped=dump(result).encode()).shown
    assert "&lt;i&gt;somebody" in shown
    assert f"{result.summary.cold_over_ssd_reuse:.1f}x" in shown
    share = result.summary.reuse_parts[1].drive_share
    assert share
    assert f"{share / 2:.0%}" in shown


def test_a_run_of_ones_own_is_called_that_and_stands_beside_the_reference(run: Runner) -> None:
    own = run("06_prove_it", dropped=RESULT.encode()).prose
    assert "Your run" in own
    assert f"reference run of {reference_run().created}" in own
    reference = run("06_prove_it", dropped=(REAL_LOG.parent / "cpu-tiny.json").read_bytes()).prose
    assert "This project's reference run" in reference
    assert "reference run of" not in reference


def test_other_lengths_are_not_compared(run: Runner) -> None:
    long = run("06_prove_it", dropped=(REAL_LOG.parent / "cpu-tiny-long.json").read_bytes()).prose
    assert "reference run of" not in long


@pytest.mark.parametrize(("reuse_s", "says"), [(1.1, "shorten this reuse by 11%"), (0.01, "can't be that fast")])
def test_what_follows_from_ones_own_numbers(run: Runner, reuse_s: float, says: str) -> None:
    """10,000 tokens of 144 KiB at 6 GB/s take 0.246 s."""
    assert says in run("06_prove_it", dropped=RESULT.encode(), own_reuse_s=reuse_s).prose


def test_shows_the_evidence_of_every_sample(run: Runner) -> None:
    shown = run("06_prove_it", dropped=RESULT.encode(), pasted_log="").shown
    assert shown.count("<tr>") == 1 + len(builders.result().samples)


def test_shows_a_run_with_the_page_cache(run: Runner, language: str) -> None:
    result = (REAL_LOG.parent / "cpu-tiny-page-cache.json").read_bytes()
    named = {"en": "page cache, with LMCache", "zh-TW": "從分頁快取載回"}
    assert named[language] in run("06_prove_it", language, dropped=result).shown


def test_the_price_of_storing_is_lmcaches_own_account(run: Runner, language: str) -> None:
    assert "10 ms" in run("06_prove_it", language, dropped=RESULT.encode()).shown


def test_of_copies_that_were_only_queued_no_time_is_shown_as_theirs(run: Runner, language: str) -> None:
    good = builders.result()
    on_a_gpu = replace(good, mode=Mode.CUDA, lmcache_mode=LMCacheMode.MP)
    for result in (good, on_a_gpu):
        shown = run("06_prove_it", language, dropped=dump(result).encode()).shown
        assert result.copies_queued is (result is on_a_gpu)
        assert ("10 ms" in shown) is not result.copies_queued
        for part in ("retrieve", "rest"):
            assert (text(f"chart.part.{part}_queued", language, {}) in shown) is result.copies_queued


def test_says_in_chinese_why_a_run_proves_nothing(run: Runner) -> None:
    good = builders.result()
    cold = next(sample for sample in good.samples if sample.step is Step.COLD)
    damaged = [
        replace(sample, evidence=replace(sample.evidence, token_ids=(9, 9)))
        if sample.step is Step.SSD_REUSE
        else sample
        for sample in good.samples
    ]
    problems = (*contradicted([replace(cold, step=Step.SSD_REUSE)]), *wrong_answers(damaged, ()))
    shown = run("06_prove_it", "zh-TW", dropped=dump(replace(good, valid=False, problems=problems)).encode()).shown
    assert "經由連接器回來" in shown
    assert "其中一份壞了" in shown
    assert not re.search(r"repeat \d", shown)


def test_shows_a_partial_run_for_what_it_is(run: Runner) -> None:
    good = builders.result()
    samples = tuple(sample for sample in good.samples if sample.step is Step.COLD)
    broken_off = replace(
        good,
        samples=samples,
        valid=False,
        problems=("the engine died",),
        summaries=(summarize(samples, "seeded"),),
    )
    shown = run("06_prove_it", dropped=dump(broken_off).encode()).shown
    assert "the engine died" in shown
    assert "not run" in shown


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ([], "make lab"),
        (["reference/cpu-tiny"], "a reference/cpu-tiny"),
        (["reference/cpu-tiny", "latest"], "a latest"),
    ],
)
def test_in_a_clone_shows_the_latest_run_or_else_the_reference(
    run: Runner, tmp_path: Path, files: list[str], says: str
) -> None:
    notebook, results = tmp_path / "notebooks" / "06_prove_it.py", tmp_path / "lab" / "results"
    notebook.parent.mkdir(parents=True)
    notebook.write_text(PROVE_IT.read_text())
    (results / "reference").mkdir(parents=True)
    for file in files:
        (results / f"{file}.json").write_text(RESULT.replace('"a CPU"', f'"a {file} CPU"'))
    assert says in run("06_prove_it", folder=tmp_path / "notebooks").shown


@pytest.mark.parametrize("content", [b" ", b"{", b"\xff\xfe", b"[]", b'{"schema": "kvtiers.lab-result/1"}'])
def test_bad_file_gets_one_message(run: Runner, language: str, content: bytes) -> None:
    notebook = run("06_prove_it", language, dropped=content)
    assert "result" not in notebook.names
    assert "danger" in notebook.shown


def test_formula(run: Runner) -> None:
    formula = run("06_prove_it", dropped=RESULT.encode())["discount"]
    assert formula(2.3, 10.2) == 2.3 / 10.2


def test_a_pasted_log_gets_a_verdict_in_the_pages_language(run: Runner, language: str) -> None:
    notebook = run("06_prove_it", language, pasted_log=REAL_LOG.read_text(encoding="utf-8"))
    assert notebook.names["diagnosis"].conclusion.id == "works"
    assert notebook.names["diagnosis"].conclusion.what(language) in notebook.shown


def test_what_a_pasted_log_does_not_show_is_said(run: Runner, language: str) -> None:
    """Here its first lines, and a line of a form that is not known."""
    lookup = "LMCache INFO: Reqid: a, Total tokens 1330, "
    notebook = run("06_prove_it", language, pasted_log=f"{lookup}LMCache hit tokens: 0, need to load: 0\n{lookup}new")
    assert text("log.unseen.connector", language, {}) in html.unescape(notebook.shown)
    assert text("log.head.skipped", language, {"count": 1}) in html.unescape(notebook.shown)


def test_text_that_is_no_log_gets_a_message(run: Runner, language: str) -> None:
    notebook = run("06_prove_it", language, pasted_log="<script>hello</script>")
    assert "diagnosis" not in notebook.names
    assert "<script>hello" not in notebook.shown
