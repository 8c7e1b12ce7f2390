"""Nothing in an input raises: it is read, or refused with its line."""

import re
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtiers.errors import KvtiersError
from kvtiers.lint import Finding, Source, lint
from tests.core.lint.builders import DISK, GOOD, MP, SERVE, serve
from tests.core.lint.test_forms import FORMS

WHOLE = {**GOOD, **{name: text for name, (text, _) in FORMS.items()}}
FUZZ_DEADLINE = timedelta(seconds=3)  # one input; the machine may be busy


def assert_read_or_refused(source: Source) -> None:
    refused = ""
    try:
        assert all(isinstance(finding, Finding) for finding in lint([source]))
    except KvtiersError as error:
        refused = str(error)
    assert not refused or re.search(r"line \d+", refused)


@settings(deadline=FUZZ_DEADLINE)
@given(st.text(max_size=300), st.sampled_from(["paste", "a.yaml", "a.sh", ".env", "compose.yml"]))
def test_any_text_is_read_or_refused_with_its_line(text: str, name: str) -> None:
    assert_read_or_refused(Source(name, text))


@settings(deadline=FUZZ_DEADLINE)
@given(st.data())
def test_damaged_configurations_never_raise(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(WHOLE)))
    text = WHOLE[name]
    start = data.draw(st.integers(0, len(text)))
    cut = data.draw(st.integers(0, 12))
    inserted = data.draw(st.text(alphabet="'\"{}[]:,-#&*$\\\n \tx", max_size=4))
    assert_read_or_refused(Source(name, text[:start] + inserted + text[start + cut :]))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.sh", serve(kv_connector_extra_config="x")),
        ("a.sh", serve(kv_connector_extra_config=[1])),
        ("a.sh", serve(kv_connector_extra_config={"lmcache.extra_config": 5})),
        ("a.sh", "vllm serve m --kv-transfer-config '{}' --kv-transfer-config.a=1 --kv-transfer-config.a.c=2"),
        ("a.sh", serve(kv_connector="MultiConnector", kv_connector_extra_config={"connectors": [1, {"kv_role": 2}]})),
        ("a.sh", serve(kv_connector="OffloadingConnector", kv_connector_extra_config={"secondary_tiers": {"type": 1}})),
        ("a.sh", serve(kv_connector="OffloadingConnector", kv_connector_extra_config={"cpu_bytes_to_use": "much"})),
        ("a.sh", serve(kv_connector=["LMCacheMPConnector"], kv_role={})),
        ("a.sh", f"{MP} --l1-size-gb many --port x --l2-adapter '[1]' --l2-adapter"),
        ("a.sh", "docker run"),
        ("a.sh", "docker run -e"),
        ("a.sh", "docker run --env-file"),
        ("a.sh", 'A=( a $(b) "c\nvllm serve ${A[@]}'),
        ("a.yaml", "services:\n  a:\n    env_file: {path: [1]}\n    ports: {a: 1}\n    command: {b: 1}\n"),
        ("a.yaml", "apiVersion: 1\nkind: [x]\nspec: {containers: [{env: [{name: [1]}], image: {a: 1}}]}\n"),
        (
            "a.yaml",
            "servingEngineSpec:\n  modelSpec: [{vllmConfig: {extraArgs: {a: 1}}, lmcacheConfig: [1], tag: {}}]\n",
        ),
        ("a.sh", f"{SERVE} --tensor-parallel-size ² --block-size ² --max-model-len ²"),
        ("a.sh", f"vllm serve m --kv-transfer-config '{'[' * 100_000}'"),
        ("a.yaml", "chunk_size: .inf\n" + DISK),
        ("a.yaml", f"extra_config: '{'[' * 100_000}'\n"),
        ("a.yaml", f"extra_config: {'[' * 1000}{']' * 1000}\n"),
    ],
)
def test_values_of_the_wrong_kind_never_raise(name: str, text: str) -> None:
    assert_read_or_refused(Source(name, text))
