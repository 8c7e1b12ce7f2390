"""The ledger of claims: values that follow their sources, and messages that name the claim."""

import json
import re
from pathlib import Path

import pytest
import yaml
from course.errors import CourseError
from course.lessons.claims import load_claims
from course.lessons.reading import Reading

from kvtiers.ledger.costs import ASSUMED_PREFILL_TOKENS_PER_S
from kvtiers.ledger.tiers import DEFAULT_BANDWIDTH_GB_PER_S, Tier
from kvtiers.ledger.worth import REPORTED_MISS_PRICES
from kvtiers.model.public import public_models
from kvtiers.settings.known_pairs import known_pair
from kvtiers.settings.version_pairs import LMCacheMode
from tests.lessons.prose import CLAIM, LESSONS, PROJECT

REFERENCE = PROJECT / "lab" / "results" / "reference"
GOOD = {"kind": "source", "value": "256", "source": "LMCache 0.5.6", "date": "2026-11", "en": "e", "zh-TW": "z"}


def ledger(folder: Path, entry: object) -> Path:
    path = folder / "claims.yaml"
    path.write_text(yaml.safe_dump({"one": entry}, allow_unicode=True))
    return path


def test_every_claim_is_used(reading: Reading) -> None:
    texts = [path.read_text() for path in LESSONS.rglob("*") if path.suffix in (".md", ".yaml")]
    used = {name for text in texts for name in CLAIM.findall(text)}
    assert set(reading.claims) - used == set()


def test_a_measured_value_follows_the_result_file(tmp_path: Path) -> None:
    result = json.loads((REFERENCE / "cpu-tiny.json").read_text())
    for row in result["summaries"][0]["steps"]:
        row["ttft"]["median_s"] = 1.234
    for path in REFERENCE.glob("*.json"):
        (tmp_path / path.name).write_text(path.read_text())
    (tmp_path / "cpu-tiny.json").write_text(json.dumps(result))
    claims = load_claims(LESSONS / "claims.yaml", tmp_path)
    assert claims["lab-cold"].value == "1.23 s"
    assert result["versions"]["vllm"] in claims["lab-cold"].source["en"]
    assert claims["lab-cold"].date == result["created"][:10]


def test_a_computed_value_is_what_kvtiers_computes(tmp_path: Path) -> None:
    rates = {"kv_bytes_per_token": 131072, "bandwidth_gb_per_s": 6}
    call = {"call": "kvtiers.ledger.costs.break_even_tokens_per_s", "with": rates}
    entry = {"kind": "computed", "compute": call, "show": "integer", "en": "e", "zh-TW": "z"}
    assert load_claims(ledger(tmp_path, entry), REFERENCE)["one"].value == "45,776"


def test_the_price_of_a_miss_is_the_reported_one(reading: Reading) -> None:
    least, most = REPORTED_MISS_PRICES
    assert reading.claims["reported-miss"].value == f"{100 * least:.0f}–{100 * most:.0f}%"


def test_what_examples_assume_is_what_the_code_assumes(reading: Reading) -> None:
    assumed = {"assumed-prefill": ASSUMED_PREFILL_TOKENS_PER_S, "assumed-vram": DEFAULT_BANDWIDTH_GB_PER_S[Tier.VRAM]}
    assert {name: reading.claims[name].value for name in assumed} == {k: f"{v:,.0f}" for k, v in assumed.items()}


def test_a_models_number_is_that_of_its_config(reading: Reading) -> None:
    assert reading.claims["qwen3-4b-head-dim"].value == str(public_models()["Qwen3-4B"]["head_dim"])


def test_reported_speedups_are_those_of_the_reported_file(reading: Reading) -> None:
    rows = json.loads((REFERENCE / "rtx4090-reported.json").read_text())["rows"]
    claims = [reading.claims[name] for name in ("reported-06b", "reported-17b", "reported-4b")]
    assert all("prefix length not given" in claim.source["en"] for claim in claims)
    for row, claim in zip(rows, claims, strict=True):
        assert claim.value == f"{row['cold_over_ssd_reuse']}x"
        assert claim.source["en"].startswith(row["model"])


def test_the_known_bad_wiring_is_that_of_the_version_pairs(reading: Reading) -> None:
    pair = known_pair(LMCacheMode.IN_PROCESS, "", "", "cuda")
    assert pair is not None
    assert pair.vllm_from == f"{reading.claims['in-process-bad-since'].value}.0"
    assert pair.lmcache_to == reading.claims["in-process-bad-upto"].value


def arithmetic(text: str) -> float:
    """The value of a formula as the ledger writes it, such as 6 × 1024³ / 131072."""
    power = "⁰¹²³⁴⁵⁶⁷⁸⁹"
    text = re.sub(rf"[{power}]+", lambda match: "**" + "".join(str(power.index(digit)) for digit in match[0]), text)
    return float(eval(text.replace("×", "*"), {"__builtins__": {"max": max}}))


SHOWN = re.compile(r"(?P<number>[\d,]+(?:\.(?P<decimals>\d+))?)(?P<unit>%|x|k| KiB| GB|)")
UNITS = {"%": 0.01, "k": 1e3, " KiB": 1024, " GB": 1e9}
FORMULAS = {
    name: claim
    for name, claim in yaml.safe_load((LESSONS / "claims.yaml").read_text()).items()
    if claim["kind"] == "computed" and "value" in claim
}


@pytest.mark.parametrize("name", FORMULAS)
def test_a_value_with_a_formula_is_what_the_formula_gives(name: str) -> None:
    shown = SHOWN.fullmatch(FORMULAS[name]["value"])
    assert shown
    unit = UNITS.get(shown["unit"], 1)
    last_digit = unit / 10 ** len(shown["decimals"] or "")
    value = float(shown["number"].replace(",", "")) * unit
    assert value == pytest.approx(arithmetic(FORMULAS[name]["source"]), abs=last_digit / 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": None}, r"one"),
        ({"kind": "guess"}, r"one\.kind: 'guess' is not one of"),
        ({"zh-TW": ""}, r"one\.zh-TW"),
        ({"date": "last week"}, r"one"),
        (
            {"value": None, "compute": {"call": "kvtiers.ledger.costs.nothing"}, "show": "count", "kind": "computed"},
            r"one",
        ),
    ],
)
def test_a_bad_claim_is_named(tmp_path: Path, change: dict[str, object], message: str) -> None:
    entry = {key: value for key, value in (GOOD | change).items() if value is not None}
    with pytest.raises(CourseError, match=message):
        load_claims(ledger(tmp_path, entry), REFERENCE)


def test_a_measured_claim_without_its_result_is_named(tmp_path: Path) -> None:
    entry = {"kind": "measured", "measure": {"field": "settings.repeats"}, "show": "integer", "en": "e", "zh-TW": "z"}
    with pytest.raises(CourseError, match=r"claim one can't be worked out: .*cpu-tiny\.json"):
        load_claims(ledger(tmp_path, entry), tmp_path)


@pytest.mark.parametrize("kind", ["measured", "computed", "assumed", "source", "reported"])
def test_a_page_says_why_a_value_is_held_true(reading: Reading, kind: str) -> None:
    claim = next(claim for claim in reading.claims.values() if claim.kind == kind)
    for language, words in reading.texts.items():
        shown = words.inline(f"{{claim}}`{claim.id}`")
        assert f'href="../claims/#{claim.id}"' in shown
        assert claim.source[language].split(",")[0].split("，")[0] in shown
        assert claim.value in shown


def test_an_unknown_claim_is_named(reading: Reading) -> None:
    with pytest.raises(CourseError, match=r"claim no-such-claim is not in claims\.yaml"):
        reading.texts["en"].html("{claim}`no-such-claim`")
    with pytest.raises(CourseError, match=r"glossary"):
        reading.texts["en"].html("{term}`words <no-such-term>`")


MEASURED_BY_TESTS = {
    name: claim["test"]
    for name, claim in yaml.safe_load((LESSONS / "claims.yaml").read_text()).items()
    if "test" in claim
}


@pytest.mark.parametrize("name", MEASURED_BY_TESTS)
def test_the_test_a_claim_names_is_there(name: str) -> None:
    path, _, function = MEASURED_BY_TESTS[name].partition("::")
    assert f"\ndef {function}(" in (PROJECT / path).read_text()


def test_a_page_names_the_test_that_measured_a_value(reading: Reading) -> None:
    source = reading.claims["lab-restart"].source
    assert all(MEASURED_BY_TESTS["lab-restart"] in words for words in source.values())


def test_a_measured_value_without_result_file_or_test_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CourseError, match=r"one: 'test' is a required property"):
        load_claims(ledger(tmp_path, GOOD | {"kind": "measured"}), REFERENCE)
