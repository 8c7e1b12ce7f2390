import json
from typing import Any

import pytest

from kvtiers.errors import KvtiersError
from kvtiers.result.schema import REPORTED_SCHEMA, dump, read_result
from kvtiers.result.steps import Arm, Step
from tests.core.builders import mp_evidence, result, with_sample


def _file(**changes: Any) -> str:
    return json.dumps(json.loads(dump(result())) | changes)


def test_a_result_survives_being_written_and_read() -> None:
    assert read_result(dump(result())) == result()


@pytest.mark.parametrize("field", ["valid", "samples", "summaries", "machine", "versions", "settings"])
def test_a_missing_field_is_named(field: str) -> None:
    data = json.loads(dump(result()))
    del data[field]
    with pytest.raises(KvtiersError, match=f"^{field} is missing$"):
        read_result(json.dumps(data))


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (float("nan"), "must be a finite number"),
        (float("inf"), "must be a finite number"),
        (-0.1, "must not be negative"),
        ("fast", "must be a number"),
        (None, "must be a number, got null"),
        (True, "must be a number"),
        (0, "must be above 0"),
    ],
)
def test_an_absurd_time_is_named_with_its_place(value: object, why: str) -> None:
    data = json.loads(dump(result()))
    data["samples"][2]["ttft_s"] = value
    with pytest.raises(KvtiersError, match=rf"^samples\[2\]\.ttft_s {why}"):
        read_result(json.dumps(data))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not valid JSON"),
        ("[]", "must hold a JSON object"),
        ("{", "not valid JSON"),
        (_file(schema="kvtiers.lab-result/0"), "schema must be"),
        (_file(schema="kvtiers.lab-result/1"), "earlier lab.*run the experiment anew"),
        (_file(surprise=1), "surprise is not a known field"),
        (_file(mode="tpu"), "mode must be one of cpu, cuda, url"),
        (_file(samples={}), "samples must be a list, got an object"),
    ],
)
def test_a_bad_file_gets_one_clear_message(text: str, why: str) -> None:
    with pytest.raises(KvtiersError, match=why):
        read_result(text)


def test_a_file_that_calls_itself_valid_against_its_evidence_is_refused() -> None:
    lying = with_sample(2, evidence=mp_evidence(Step.GPU_HIT))
    with pytest.raises(KvtiersError, match=r"samples\[2\] is called cpu_hit but "):
        read_result(dump(lying))


def test_reported_figures_cannot_pass_for_a_measurement() -> None:
    with pytest.raises(KvtiersError, match="reported by others"):
        read_result(json.dumps({"schema": REPORTED_SCHEMA, "rows": []}))


def test_the_summary_finds_a_step_by_arm() -> None:
    row = result().summary.step(Arm.CONTROL, Step.EVICTED_RECOMPUTE)
    assert row is not None
    assert row.samples == 3
    assert result().summary.step(Arm.CONTROL, Step.SSD_REUSE) is None
