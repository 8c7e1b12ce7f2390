"""From which release on each option, key and kind exists that kvtiers writes or checks: read from the sources in each
release's wheel, nothing is imported.

python -m lab.pairs.names
"""

import ast
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from zipfile import ZipFile

from kvtiers.settings.version_pairs import numbers
from lab.errors import LabError
from lab.pairs.grid import releases
from lab.pairs.layers import LMCACHE, VLLM
from lab.paths import REPOSITORY, engine_environment
from progress import add_bar, bars

TABLE = REPOSITORY / "kvtiers" / "settings" / "since.toml"
# The oldest that are read: MP mode as kvtiers writes it is younger.
OLDEST = {LMCACHE: "0.4.4", VLLM: "0.27.0"}
_HEAD = """# Written by python -m lab.pairs.names out of the packages themselves: the releases that were read, oldest
# first; of each name that not all of them have the first release with it, and of each that is gone the last.
"""
Names = dict[str, frozenset[str]]


def main() -> None:
    """Write the table anew."""
    base = engine_environment("cpu")
    parts = [_HEAD]
    with bars() as progress:
        for package, oldest in OLDEST.items():
            versions = sorted(
                (each for each in releases(package, base) if numbers(each) >= numbers(oldest)), key=numbers
            )
            bar = add_bar(progress, package, len(versions))
            read = {}
            for version in versions:
                bar.note(version)
                read[version] = names_in_release(package, version, base)
                bar.advance()
            parts.append(section("vllm" if package == VLLM else package, read))
    TABLE.write_text("\n".join(parts), encoding="utf-8")


def names_in_release(package: str, version: str, base: Path) -> Names:
    """Names that a release knows.

    Raises:
        LabError: pip can't bring it.
    """
    with tempfile.TemporaryDirectory() as directory:
        command = [str(base / "bin" / "python"), "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
        done = subprocess.run([*command, "-d", directory, f"{package}=={version}"], capture_output=True, check=False)
        wheel = next(Path(directory).glob("*.whl"), None)
        if done.returncode or wheel is None:
            raise LabError(f"pip brings no wheel of {package} {version}")
        return names_in(wheel)


def names_in(wheel: Path) -> Names:
    """By kind, as in lmcache_settings.toml; only kinds that the package has."""
    with ZipFile(wheel) as archive:
        sources = {
            name: archive.read(name).decode()
            for name in archive.namelist()
            if re.fullmatch(r"(lmcache|vllm)/.*\.py", name)
        }
    found = {kind: frozenset(read(sources)) for kind, read in _KINDS.items()}
    return {kind: names for kind, names in found.items() if names}


def section(package: str, read: Mapping[str, Names]) -> str:
    """The table's part about a package; ``read``: by release, oldest first."""
    versions = list(read)
    lines = [f"[{package}]", f"releases = [{', '.join(map(_quoted, versions))}]"]
    for kind in _KINDS:
        has = {version: names.get(kind, frozenset()) for version, names in read.items()}
        every = frozenset().union(*has.values())
        since = {name: next(version for version in versions if name in has[version]) for name in every}
        until = {name: next(version for version in reversed(versions) if name in has[version]) for name in every}
        came = {name: version for name, version in since.items() if version != versions[0]}
        went = {name: version for name, version in until.items() if version != versions[-1]}
        for what, table in (("since", came), ("until", went)):
            if table:
                lines += [
                    "",
                    f"[{package}.{what}.{kind}]",
                    *(f"{_quoted(name)} = {_quoted(table[name])}" for name in sorted(table)),
                ]
    return "\n".join(lines) + "\n"


def _server_options(sources: Mapping[str, str]) -> Iterator[str]:
    """Of ``lmcache server``: what argparse is given, and the ``no-`` that it adds."""
    folders = ("lmcache/v1/multiprocess/config.py", "lmcache/v1/distributed/", "lmcache/v1/mp_observability/config.py")
    for name, text in sources.items():
        if not (name.startswith(folders) and name.endswith("config.py")):
            continue
        for call in _calls(text, "add_argument"):
            both = any("BooleanOptionalAction" in ast.unparse(keyword.value) for keyword in call.keywords)
            for option in _texts(call.args):
                if option.startswith("--"):
                    yield option[2:]
                    yield from [f"no-{option[2:]}"] if both else []


def _l2_adapters(sources: Mapping[str, str]) -> Iterator[str]:
    for name, text in sources.items():
        if name.startswith("lmcache/v1/distributed/l2_adapters/"):
            yield from re.findall(r'(?m)^register_l2_adapter_type\(\s*"([\w-]+)"', text)


def _mp_keys(sources: Mapping[str, str]) -> Iterator[str]:
    """Members of ExtraConfigDefault, and what is looked up by its whole name."""
    for name, text in sources.items():
        if not name.startswith("lmcache/integration/vllm/"):
            continue
        yield from re.findall(r'"lmcache\.mp\.(\w+)"', text)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef) and node.name == "ExtraConfigDefault":
                targets = [each.targets for each in node.body if isinstance(each, ast.Assign)]
                yield from (target.id for one in targets for target in one if isinstance(target, ast.Name))


def _settings(sources: Mapping[str, str]) -> Iterator[str]:
    """Keys of LMCache's table of in-process settings."""
    for node in ast.walk(ast.parse(sources.get("lmcache/v1/config.py", ""))):
        if not isinstance(node, ast.AnnAssign | ast.Assign) or not isinstance(node.value, ast.Dict):
            continue
        targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
        if any(isinstance(target, ast.Name) and target.id == "_CONFIG_DEFINITIONS" for target in targets):
            yield from _texts([key for key in node.value.keys if key is not None])


def _connectors(sources: Mapping[str, str]) -> Iterator[str]:
    for call in _calls(sources.get("vllm/distributed/kv_transfer/kv_connector/factory.py", ""), "register_connector"):
        yield from _texts(call.args[:1])


def _tiers(sources: Mapping[str, str]) -> Iterator[str]:
    for call in _calls(sources.get("vllm/v1/kv_offload/tiering/factory.py", ""), "register_tier"):
        yield from _texts(call.args[:1])


def _offloading_keys(sources: Mapping[str, str]) -> Iterator[str]:
    for name, text in sources.items():
        if name.startswith("vllm/v1/kv_offload/") or "/kv_connector/v1/offloading" in name:
            yield from re.findall(r'extra_config(?:\.get\(|\[)\s*"(\w+)"', text)


_KINDS = {
    "server_options": _server_options,
    "l2_adapters": _l2_adapters,
    "mp_keys": _mp_keys,
    "settings": _settings,
    "connectors": _connectors,
    "tiers": _tiers,
    "offloading_keys": _offloading_keys,
}


def _calls(text: str, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name:
            yield node


def _texts(nodes: Sequence[ast.expr]) -> list[str]:
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def _quoted(text: str) -> str:
    return f'"{text}"'


if __name__ == "__main__":
    main()
