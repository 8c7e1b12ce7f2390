"""Findings where people use a linter: on the screen, in programs, in code scanning, in GitHub's annotations."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from kvtiers.__main__ import main
from kvtiers.lint import Report, Source, report
from kvtiers.lint.findings import RULES
from kvtiers.lint.formats import Format, explain, write
from kvtiers.words import LANGUAGES
from tests.core.lint.builders import SERVE, SERVE_MP, serve

BAD = f"{SERVE} --no-enable-prefix-caching\n"


def checked(text: str, name: str = "a folder/serve.sh") -> Report:
    return report([Source(name, text)])


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_text_has_the_verdict_first_then_what_cannot_be_told_then_what_it_rests_on(language: str) -> None:
    good, bad = (write(checked(text), Format.TEXT, language) for text in (SERVE, BAD))
    clean = write(checked(SERVE_MP), Format.TEXT, language).split("\n")[0]
    assert good.startswith(clean)
    assert "[version_pair_unseen]" in good
    assert good.index("[version_pair_unseen]") < good.rindex("serve.sh:1")
    assert clean not in bad


def test_json_holds_all_of_it() -> None:
    said = json.loads(write(checked(BAD), Format.JSON, "en"))
    assert [(one["id"], one["certain"]) for one in said["findings"]] == [
        ("prefix_caching_off", True),
        ("version_pair_unseen", False),
    ]
    assert said["coverage"]["version"] == ["vLLM not seen, LMCache not seen"]
    assert said["ignored"] == 0


def test_sarif_is_what_its_schema_asks_for() -> None:
    log: dict[str, Any] = json.loads(write(checked(BAD), Format.SARIF, "en"))
    assert (log["version"], set(log)) == ("2.1.0", {"$schema", "version", "runs"})
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert run["tool"]["driver"]["name"] == "kvtiers"
    assert [result["ruleId"] for result in run["results"]] == ["prefix_caching_off", "version_pair_unseen"]
    assert [result["level"] for result in run["results"]] == ["warning", "note"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "a%20folder/serve.sh"
        assert place["region"]["startLine"] == 1
    assert {rule["defaultConfiguration"]["level"] for rule in rules} <= {"none", "note", "warning", "error"}


def test_a_file_that_a_script_writes_is_shown_in_the_script() -> None:
    text = "cat > kv.yaml <<'EOF'\nchunk_size: 100\nEOF\n"
    log = json.loads(write(checked(text), Format.SARIF, "en"))
    places = [result["locations"][0]["physicalLocation"] for result in log["runs"][0]["results"]]
    assert {place["artifactLocation"]["uri"] for place in places} == {"a%20folder/serve.sh"}
    assert places[0]["region"]["startLine"] == 2


def test_brackets_in_a_files_own_name_are_part_of_it() -> None:
    (line, _) = write(checked(BAD, "serve (1).sh"), Format.GITHUB, "en").split("\n")
    assert "file=serve (1).sh," in line
    assert report([Source("lmcache (2).yaml", "chunk_size: 100\n"), Source("a.sh", SERVE)]).given.files


def test_githubs_annotations_are_one_escaped_line_each() -> None:
    lines = write(checked(BAD, "a,b/100%.sh"), Format.GITHUB, "en").split("\n")
    assert [line.split(" ")[0] for line in lines] == ["::warning", "::notice"]
    form = r"::\w+ file=a%2Cb/100%25\.sh,line=1,title=kvtiers [a-z_]+::.+"
    assert all(re.fullmatch(form, line) for line in lines)


def test_nothing_found_is_an_empty_list_of_annotations() -> None:
    assert write(checked(SERVE_MP), Format.GITHUB, "en") == ""


@pytest.mark.parametrize("how", Format)
def test_every_format_has_the_same_exit_code(how: Format, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.sh", tmp_path / "bad.sh"
    good.write_text(SERVE)
    bad.write_text(BAD)
    assert main(["lint", "--format", how, str(good)]) == 0
    assert main(["lint", "--format", how, str(bad)]) == 1


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_explained(rule: str, language: str) -> None:
    said = explain(rule, language)
    assert said.startswith(rule)
    assert not re.search(r"\{\{|\{\w+[:}]", said)


def test_explain_needs_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "--explain", "disk_without_limit"]) == 0
    assert "max_local_disk_size" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"# kvtiers: ignore[prefix_caching_off] a control\n{BAD}", []),
        (f"{BAD.strip()}  # kvtiers: ignore[prefix_caching_off] a control\n", []),
        (BAD.replace("serve m", "serve m \\\n").replace("vllm", "# kvtiers: ignore[prefix_caching_off] it\nvllm"), []),
        (f"# kvtiers: ignore[api_open] a control\n{BAD}", ["prefix_caching_off"]),
        (f"# kvtiers: ignore[prefix_caching_off] a control\ntrue\n{BAD}", ["prefix_caching_off"]),
        (f"# kvtiers: ignore[prefix_caching_off]\n{BAD}", ["prefix_caching_off", "ignore_unread"]),
        (f"# kvtiers: ignore[all] why\n{BAD}", ["prefix_caching_off", "ignore_unread"]),
    ],
)
def test_a_comment_leaves_out_what_it_names_for_a_reason(text: str, found: list[str]) -> None:
    made = report([Source("serve.sh", text)])
    assert [finding.id for finding in made.findings if finding.certain] == found
    assert made.ignored == (0 if found else 1)
    assert made.clean is (not found)


def test_a_comment_in_yaml_covers_the_line_below_it() -> None:
    text = "pre_caching_hash_algorithm: sha256\n# kvtiers: ignore[chunk_not_multiple] a block of 100\nchunk_size: 100\n"
    assert report([Source("lmcache.yaml", text)]).clean
    assert not report([Source("lmcache.yaml", text.replace("# kvtiers", "# no"))]).clean


def test_a_folder_is_one_deployment_and_says_what_was_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "deploy" / ".git").mkdir(parents=True)
    for name, text in {
        "serve.sh": f"export PYTHONHASHSEED=0 LMCACHE_CONFIG_FILE=/kv/lmcache.yaml\n{SERVE}\n",
        "lmcache.yaml": "chunk_size: 100\n",
        "README.md": "LMCACHE_CHUNK_SIZE=3",
        "ci.yml": "on: push\n",
        ".git/hook.sh": serve(kv_role="both"),
    }.items():
        (tmp_path / "deploy" / name).write_text(text)
    assert main(["lint", "--json", str(tmp_path / "deploy")]) == 1
    said = json.loads(capsys.readouterr().out)
    assert [one["id"] for one in said["findings"] if one["certain"]] == ["chunk_not_multiple"]
    assert "ci.yml: line 1: neither" in "".join(said["coverage"]["skipped"])
    assert main(["lint", str(tmp_path / "deploy" / ".git")]) == 1
    (tmp_path / "empty").mkdir()
    assert main(["lint", str(tmp_path / "empty")]) == 2


def test_the_hook_reads_a_folder_when_anything_in_it_changed_that_is_read() -> None:
    root = Path(__file__).parents[3]
    (hook,) = yaml.safe_load((root / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert hook["entry"] == "kvtiers lint"
    assert (hook["pass_filenames"], hook["args"]) == (False, ["."])
    for path in ("deploy/compose.yaml", "lmcache.yml", "serve.sh", "Dockerfile", "vllm.service", "vllm.env"):
        assert re.search(hook["files"], path)
    assert not re.search(hook["files"], "README.md")
