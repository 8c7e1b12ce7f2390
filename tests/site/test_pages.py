"""What every page carries (address, other language, preview, sections), the sitemap, the search index.

The notebooks' saved views are stand-ins here.
"""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from course.errors import CourseError
from course.lessons.length import reading_minutes
from course.lessons.pages import LANGUAGES, Pages
from course.lessons.reading import Reading, load_reading, write_reading
from course.lessons.search import write_index
from course.lessons.sources import linked
from course.lessons.text import anchors_of, with_anchors
from course.notebooks import share
from course.notebooks.saved import Saved
from course.notebooks.share import write_pictures

PROJECT = Path(__file__).parents[2]
SITE = PROJECT / "site"
ADDRESS = "https://course.example/kv"
CHART = (
    '<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="a" viewbox="0 0 40 20">'
    '<rect width="40" height="20" style="fill: currentColor"/></svg>'
)


@pytest.fixture(scope="module")
def reading() -> Reading:
    return load_reading(PROJECT, SITE)


@pytest.fixture(scope="module")
def site(reading: Reading, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    views = {
        (language, lesson.notebook): "" if lesson.number == 5 else CHART
        for language in LANGUAGES
        for lesson in reading.lessons[language]
    }
    pictures = write_pictures(views, PROJECT / "docs" / "lab.png", out / "share")
    saved = {notebook: Saved(view, {}) for notebook, view in views.items()}
    write_reading(reading, saved, pictures, "", Pages(SITE, out, ADDRESS))
    return out


def pages_of(site: Path) -> list[Path]:
    return sorted(path for path in site.rglob("index.html") if path.parent != site)


def test_every_page_names_its_own_address_and_its_other_language(site: Path) -> None:
    for path in pages_of(site):
        page = path.read_text()
        language, _, place = f"{path.parent.relative_to(site).as_posix()}/".partition("/")
        assert f'<link rel="canonical" href="{ADDRESS}/{language}/{place}">' in page
        alternates = dict(re.findall(r'rel="alternate" hreflang="([^"]+)" href="([^"]+)"', page))
        assert alternates == {each: f"{ADDRESS}/{each}/{place}" for each in LANGUAGES}
        for url in alternates.values():
            assert (site / url.removeprefix(f"{ADDRESS}/") / "index.html").is_file()


def test_no_page_shows_what_python_calls_an_object(site: Path) -> None:
    """In a template a word's name may be one of a dictionary's own methods."""
    shown = {
        path: re.search(r"object at 0x|built-in", path.read_text(encoding="utf-8")) for path in site.rglob("*.html")
    }
    assert [path for path, found in shown.items() if found] == []
    assert shown


def test_every_page_has_a_preview_with_a_picture_that_is_there(site: Path) -> None:
    for path in pages_of(site):
        preview = dict(re.findall(r'<meta property="og:([a-z:_]+)" content="([^"]*)"', path.read_text()))
        assert preview.keys() == {
            *("type", "site_name", "title", "description", "url", "image", "locale", "locale:alternate")
        }
        assert all(preview.values())
        assert {preview["locale"], preview["locale:alternate"]} == {"en_US", "zh_TW"}
        picture = site / preview["image"].removeprefix(f"{ADDRESS}/")
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size < 200_000


def test_a_lesson_without_a_chart_shows_the_courses_picture(site: Path) -> None:
    assert f"{ADDRESS}/share/course.png" in (site / "en" / "05-wire-it" / "index.html").read_text()
    assert f"{ADDRESS}/share/en-02-kv-size.png" in (site / "en" / "02-kv-size" / "index.html").read_text()


def test_the_sitemap_lists_every_page_and_no_other(site: Path) -> None:
    tree = ElementTree.parse(site / "sitemap.xml")
    listed = [element.text for element in tree.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]
    assert sorted(filter(None, listed)) == sorted(
        f"{ADDRESS}/{path.parent.relative_to(site).as_posix()}/" for path in pages_of(site)
    )


def test_the_404_page_finds_its_files_from_any_address(site: Path) -> None:
    page = (site / "404.html").read_text()
    assert 'href="/kv/static/course.css"' in page
    assert "noindex" in page
    assert "canonical" not in page


def test_a_section_has_the_same_anchor_in_both_languages(reading: Reading) -> None:
    for english, chinese in zip(*(reading.lessons[language] for language in LANGUAGES), strict=True):
        anchors = [re.findall(r'<h2 id="([^"]+)">', lesson.body) for lesson in (english, chinese)]
        assert anchors[0] == anchors[1]
        assert len(set(anchors[0])) == len(anchors[0]) > 3


def test_a_section_too_many_is_named() -> None:
    anchors = anchors_of("# T\n\n## What people get wrong\n\n## GiB, not GB\n")
    assert anchors == ["what-people-get-wrong", "gib-not-gb"]
    with pytest.raises(CourseError, match="has 1 sections, in English it has 2"):
        with_anchors("<h2>一</h2>", anchors)


@pytest.mark.parametrize("place", ["", "01-first-token/"])
def test_the_landing_page_and_a_lesson_lead_to_everything_there_is_to_read(site: Path, place: str) -> None:
    for language in LANGUAGES:
        folder = site / language / place
        linked = {
            (folder / link).resolve()
            for link in re.findall(r'<a href="([^"#]+/)"', (folder / "index.html").read_text())
        }
        for page in ("quiz", "glossary", "questions", "claims", "version-pairs"):
            assert (site / language / page).resolve() in linked


def test_search_knows_every_page_that_has_something_of_its_own(site: Path, reading: Reading, tmp_path: Path) -> None:
    write_index(reading, SITE, tmp_path / "search.json")
    found = {section[1].partition("#")[0] for section in json.loads((tmp_path / "search.json").read_text())}
    pages = {f"{path.parent.relative_to(site).as_posix()}/" for path in pages_of(site)}
    assert pages - found == {f"{language}/{place}" for language in LANGUAGES for place in ("", "quiz/result/")}


def test_every_search_result_leads_to_an_anchor_that_exists(site: Path, reading: Reading, tmp_path: Path) -> None:
    write_index(reading, SITE, tmp_path / "search.json")
    sections = json.loads((tmp_path / "search.json").read_text())
    assert {section[0] for section in sections} == set(LANGUAGES)
    for language, address, page, title, text in sections:
        place, _, anchor = address.partition("#")
        assert place.startswith(f"{language}/")
        html = (site / place / "index.html").read_text()
        assert not anchor or f'id="{anchor}"' in html
        assert page
        assert title
        assert "<" not in title
        assert text


def test_reading_time_counts_words_and_chinese_characters() -> None:
    assert reading_minutes("<p>" + "word " * 228 * 3 + "</p>") == 3
    assert reading_minutes("<p>" + "快取" * 255 + "</p>") == 2
    assert reading_minutes("<p>" + "word " * 228 + "快" * 255 + "<code data-x='many many words'></code></p>") == 2
    assert reading_minutes("<p>word</p><details>" + "word " * 228 * 3 + "</details>") == 1
    assert reading_minutes("") == 1


def test_both_languages_take_about_as_long(reading: Reading) -> None:
    for english, chinese in zip(*(reading.lessons[language] for language in LANGUAGES), strict=True):
        assert 2 <= english.minutes <= 8
        assert chinese.minutes <= 8
        assert abs(english.minutes - chinese.minutes) <= english.minutes


def test_a_lesson_and_the_landing_page_show_the_reading_time(site: Path, reading: Reading) -> None:
    for language in LANGUAGES:
        minutes = reading.lessons[language][0].minutes
        for place in ("", "01-first-token"):
            assert re.search(rf">[^<]*\b{minutes}\b[^<]*<", (site / language / place / "index.html").read_text())


def test_the_ledger_holds_each_claim_once_below_a_lesson_that_states_it(site: Path, reading: Reading) -> None:
    for language in LANGUAGES:
        page = (site / language / "claims" / "index.html").read_text()
        assert sorted(re.findall(r'<div id="([^"]+)"><dt>', page)) == sorted(reading.claims)
        for slug, section in re.findall(r'<section class="ledger" id="([^"]+)">(.*?)</section>', page, re.DOTALL):
            assert slug == "elsewhere" or all(
                f"claims/#{claim}" in (site / language / slug / "index.html").read_text()
                for claim in re.findall(r'<div id="([^"]+)"><dt>', section)
            )


def test_home_adds_up_the_reading_and_starts_at_the_first_lesson(site: Path, reading: Reading) -> None:
    for language in LANGUAGES:
        page = (site / language / "index.html").read_text()
        assert re.search(rf"\b{sum(lesson.minutes for lesson in reading.lessons[language])}\b", page)
        assert f'class="start" href="../{language}/01-first-token/"' in page
        assert 'role="img"' in page
        assert "navigator.languages" not in page
    assert "navigator.languages" in (site / "index.html").read_text()


def test_a_picture_whose_text_no_font_can_draw_stops_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share, "_png", lambda _: b"nothing drawn")
    with pytest.raises(CourseError, match=r"no font .* \(en\): install"):
        write_pictures({("en", "01_first_token"): CHART}, PROJECT / "docs" / "lab.png", tmp_path / "share")


@pytest.mark.parametrize(
    ("source", "file", "link"),
    [
        ("LMCache/LMCache 4463, 4385", "", "https://github.com/LMCache/LMCache/issues/4385"),
        ("vllm-project/vllm 51875", "", "https://github.com/vllm-project/vllm/issues/51875"),
        (
            "vLLM 0.32.0, vllm/config/cache.py",
            "",
            "https://github.com/vllm-project/vllm/blob/v0.32.0/vllm/config/cache.py",
        ),
        (
            "LMCache 0.5.6, cache_engine.py",
            "lmcache/v1/cache_engine.py",
            "https://github.com/LMCache/LMCache/blob/v0.5.6/lmcache/v1/cache_engine.py",
        ),
        ("vLLM 0.32.0 (cpu), LMCache 0.5.6", "lab/results/reference/cpu-tiny.json", "../../results/cpu-tiny.json"),
    ],
)
def test_a_source_leads_to_where_it_can_be_read(source: str, file: str, link: str) -> None:
    assert f'href="{link}"' in linked(source, file)


@pytest.mark.parametrize("source", ["LMCache 0.5.6, cache_engine.py", "2704 / 16 + 1", "vLLM 0.32.0, LMCache 0.5.6"])
def test_a_source_that_names_no_place_has_no_link(source: str) -> None:
    assert linked(source) == source
