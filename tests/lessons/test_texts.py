"""What a reader relies on: numbers that are held by claims, the same course in both languages, links that lead."""

import re
from collections import Counter
from itertools import pairwise

import pytest
import yaml
from course.lessons.reading import Reading

from kvtiers.logs.lines import parse_lookup, parse_retrieved
from kvtiers.result.steps import Step
from kvtiers.settings.advise import files
from kvtiers.settings.wiring import Plan, Wiring, lmcache_yaml, settings
from kvtiers.words import text as words
from tests.lessons.prose import CLAIM, LANGUAGES, LESSONS, PROJECT, SLUGS, TERM, numbers, source, tokens

INPUTS: dict[str, list[str]] = yaml.safe_load((LESSONS / "inputs.yaml").read_text())
RUNS = PROJECT / "lab" / "results" / "reference"
CLOSING = {
    "en": ["What people get wrong", "Now you", "Exercises", "In short", "Next"],
    "zh-TW": ["常見的誤解", "換你動手", "練習", "重點", "接下來"],
}
each_text = [(slug, language) for slug in SLUGS for language in LANGUAGES]


@pytest.mark.parametrize(("slug", "language"), each_text)
def test_every_number_is_a_claim_or_an_input_of_an_example(slug: str, language: str) -> None:
    loose = [number for number in numbers(source(slug, language)) if number not in INPUTS[slug]]
    assert loose == [], "name a claim of claims.yaml, or list what an example assumes in inputs.yaml"


@pytest.mark.parametrize(("slug", "language"), each_text)
def test_a_lesson_and_the_notebook_beside_it_have_one_title(slug: str, language: str) -> None:
    notebook = PROJECT / "notebooks" / f"{slug.replace('-', '_')}.py"
    assert source(slug, language).partition("\n")[0] in notebook.read_text()


@pytest.mark.parametrize("slug", SLUGS)
def test_inputs_are_those_of_both_languages(slug: str) -> None:
    for language in LANGUAGES:
        assert set(INPUTS[slug]) == set(numbers(source(slug, language))), language


def test_a_number_without_a_claim_is_found() -> None:
    assert numbers("It takes 250 ms on Qwen3-4B with fp16, see lesson 2 and `T=1330`, {claim}`x`.") == ["250"]
    assert numbers("約 12.5% 的 1,000 個 token，見第 2 課") == ["12.5%", "1,000"]
    assert numbers("見第 02 課") == ["02"]


@pytest.mark.parametrize("slug", SLUGS)
def test_both_languages_refer_to_the_same_claims_and_terms(slug: str) -> None:
    for pattern in (CLAIM, TERM):
        english, chinese = (Counter(pattern.findall(source(slug, language))) for language in LANGUAGES)
        assert english == chinese


@pytest.mark.parametrize("slug", SLUGS)
def test_both_languages_have_the_same_parts(slug: str) -> None:
    def parts(language: str) -> list[str]:
        found = tokens(source(slug, language))
        return [token.content if token.type == "fence" else token.type + token.tag for token in found]

    assert parts("en") == parts("zh-TW")


@pytest.mark.parametrize(("slug", "language"), each_text)
def test_a_lesson_ends_with_errors_task_summary_and_what_comes_next(slug: str, language: str) -> None:
    headings = re.findall(r"^## (.+)$", source(slug, language), re.MULTILINE)
    assert headings[-5:] == CLOSING[language]


EXERCISES = {"en": ["Easy.", "Medium.", "Hard."], "zh-TW": ["簡單。", "中等。", "困難。"]}
FOLDED = {"en": "<details><summary>Answer</summary>", "zh-TW": "<details><summary>答案</summary>"}


@pytest.mark.parametrize(("slug", "language"), each_text)
def test_a_lesson_has_three_exercises_with_folded_answers(slug: str, language: str) -> None:
    name, after = CLOSING[language][2:4]
    exercises = source(slug, language).split(f"## {name}\n")[1].split(f"## {after}\n")[0]
    found = re.findall(rf"\*\*(\S+)\*\* \S.*?\n\n{FOLDED[language]}\n\n(\S.*?)\n\n</details>", exercises, re.DOTALL)
    assert [level for level, _ in found] == EXERCISES[language]
    assert not any("<details>" in answer for _, answer in found)


@pytest.mark.parametrize("slug", SLUGS)
def test_a_lesson_is_600_to_1500_words_and_its_summary_three_sentences(slug: str) -> None:
    text = re.sub(r"<details>.*?</details>", "", source(slug, "en"), flags=re.DOTALL)
    assert 600 <= len(re.findall(r"\b[A-Za-z][\w'-]*", text)) <= 1500
    summary = text.split("## In short")[1].split("##")[0]
    assert len(re.findall(r"[.!?](?:\s|$)", summary)) <= 3


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_markup_is_left_in_the_pages(reading: Reading, language: str) -> None:
    for lesson in reading.lessons[language]:
        plain = re.sub(r"<(pre|code)\b.*?</\1>", "", lesson.body, flags=re.DOTALL)
        assert not re.search(r"\*\*|\{claim\}|\{term\}|`", plain), lesson.slug


@pytest.mark.parametrize(("slug", "language"), each_text)
def test_links_to_lessons_lead_to_lessons(slug: str, language: str) -> None:
    for target in re.findall(r"\]\(\.\./([^/)]+)/\)", source(slug, language)):
        assert target in SLUGS or target in ("quiz", "claims", "glossary", "questions", "version-pairs")
    assert not re.search(r"\]\((?!\.\./)", source(slug, language)), "only links within the course"


def test_every_glossary_entry_has_its_terms_linked_or_is_a_term_of_the_field(reading: Reading) -> None:
    ids = [entry.id for entry in reading.glossary["en"]]
    assert len(ids) == len(set(ids))
    linked = {term for slug in SLUGS for term in TERM.findall(source(slug, "en"))}
    assert {"ttft", "prefill", "decode", "kv", "gqa", "mla", "apc", "chunk", "block"} <= linked
    assert {"connector", "tier", "eviction", "tbw"} <= linked


def quoted_log() -> list[str]:
    fences = [token for token in tokens(source("06-prove-it", "en")) if token.type == "fence" and token.info != "table"]
    return [line for fence in fences for line in fence.content.splitlines()]


@pytest.mark.parametrize("line", quoted_log())
def test_a_log_line_of_lesson_06_was_printed_by_a_real_run(line: str) -> None:
    whose = re.match(r"(server|engine) (\d\d:\d\d:\d\d) ", line)
    log = RUNS / (f"cpu-tiny-{whose[1]}.log" if whose else "cpu-tiny.log")
    clock, said = (whose[2], line[whose.end() :]) if whose else ("", line)
    assert any(said in printed and clock in printed for printed in log.read_text().splitlines())


def test_the_log_of_lesson_06_says_what_the_text_says() -> None:
    log = "\n".join(quoted_log())
    assert re.findall(r"5/5 retained keys \((\d L1, \d L2)\)", log) == [*["5 L1, 0 L2"] * 2, *["0 L1, 5 L2"] * 2]
    assert re.findall(r"(Stored|Retrieved) 1280 tokens in", log) == [*["Stored"] * 3, *["Retrieved"] * 3]
    assert re.findall(r"External prefix cache hit rate: ([\d.]+)%", log) == ["0.0", f"{100 * 1280 / 6745:.1f}"]
    looked_up = [found for line in quoted_log() if (found := parse_lookup(line))]
    assert [(found.total, found.computed, found.hit, found.load) for found in looked_up] == [(1330, 0, 1280, 1280)]
    assert [moved.tokens for line in quoted_log() if (moved := parse_retrieved(line))] == [1280]


def test_lesson_05_installs_what_the_lab_does_and_wires_what_kvtiers_writes() -> None:
    fences = [token for token in tokens(source("05-wire-it", "en")) if token.type == "fence" and token.info != "table"]
    install, server, engine, legacy = [token.content.strip() for token in fences]
    written = files(Plan(Wiring.MP_DRIVE, "MODEL"))
    wanted = (PROJECT / "requirements" / "engine-cuda.in").read_text().splitlines()
    assert install == " ".join(["pip install", *(line for line in wanted if not line.startswith("#"))])
    assert (server, engine) == (written["server"], written["command"])
    assert legacy == lmcache_yaml(settings(Plan(Wiring.IN_PROCESS_DISK, "MODEL"))).strip()


@pytest.mark.parametrize("language", LANGUAGES)
def test_lesson_06_calls_the_steps_what_table_chart_and_report_call_them(language: str) -> None:
    steps = [Step.COLD, Step.GPU_HIT, Step.CPU_HIT, Step.SSD_REUSE, Step.SSD_AFTER_RESTART]
    names = [words(f"step.{step}", language, {}) for step in steps]
    assert [name for name in names if f"**{name}**" not in source("06-prove-it", language)] == []


def test_lessons_follow_one_another() -> None:
    for slug, following in pairwise(SLUGS):
        assert f"(../{following}/)" in source(slug, "en").split("## Next")[1]
