"""Where a source can be read: links out, made of the names and paths that the ledger uses."""

import re

from markupsafe import Markup, escape

REPOSITORIES = {"vLLM": "vllm-project/vllm", "LMCache": "LMCache/LMCache"}
GITHUB = "https://github.com/"
ISSUES = re.compile(r"\b([\w.-]+/[\w.-]+) (\d{2,}(?:, \d{2,})*)")
FILE = re.compile(r"\b(vLLM|LMCache) (\d+(?:\.\d+)+), ((?:[\w.]+/)*[\w.]+\.py|(?:\w+/)+\w+)")
RESULT = re.compile(r"\blab/results/reference/([\w-]+\.json)")


def linked(source: str, file: str = "") -> Markup:
    """`source` with links to the issues, the released files and the result files it names. Every page with text lies
    two folders deep. ``file``: the whole path of what `source` names by its end only, or a result file to name too.

    >>> linked("LMCache/LMCache 4564")
    Markup('LMCache/LMCache <a href="https://github.com/LMCache/LMCache/issues/4564">4564</a>')
    """
    html = ISSUES.sub(_issues, str(escape(source)))
    html = FILE.sub(lambda found: _file(found, file), html)
    if RESULT.fullmatch(file):
        html = f"{html} · {file}"
    return Markup(RESULT.sub(lambda found: _link(f"../../results/{found[1]}", found[0]), html))


def _link(address: str, words: str) -> str:
    return f'<a href="{address}">{words}</a>'


def _issues(found: re.Match[str]) -> str:
    numbers = (_link(f"{GITHUB}{found[1]}/issues/{number}", number) for number in found[2].split(", "))
    return f"{found[1]} {', '.join(numbers)}"


def _file(found: re.Match[str], whole: str) -> str:
    name, version, path = found.groups()
    place = whole if whole.endswith(path) else path
    if "/" not in place:
        return found[0]
    kind = "blob" if place.endswith(".py") else "tree"
    return f"{name} {version}, {_link(f'{GITHUB}{REPOSITORIES[name]}/{kind}/v{version}/{place}', path)}"
