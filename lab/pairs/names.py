"""From which release on each option, key and kind exists that kvtiers writes or checks, and what it is by default: out
of each release's wheel.

python -m lab.pairs.names
"""

import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZipFile

from kvtiers.settings.version_pairs import numbers
from lab.errors import LabError
from lab.pairs.grid import releases
from lab.pairs.layers import LMCACHE, VLLM
from lab.pairs.sources import KINDS, OWNERS
from lab.paths import REPOSITORY, engine_environment
from progress import add_bar, bars

TABLE = REPOSITORY / "kvtiers" / "settings" / "since.toml"
# The oldest that are read: MP mode as kvtiers writes it is younger.
OLDEST = {LMCACHE: "0.4.4", VLLM: "0.27.0"}
_HEAD = """# Written by python -m lab.pairs.names out of the packages themselves: the releases that were read, oldest
# first; of each name that not all of them have the first release with it, and of each that is gone the last; of each
# default that changed what it is, as JSON, and the first release where it is that.
"""
Names = dict[str, dict[str, str | None]]
"""By kind: names and their defaults, as lab.pairs.sources reads them."""
_Releases = Mapping[str, Mapping[str, str | None]]
"""The same of one kind, by release, oldest first."""


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
    """Only kinds that the package has. Of a name that is read in several places the first default that can be told."""
    with ZipFile(wheel) as archive:
        sources = {
            name: archive.read(name).decode()
            for name in archive.namelist()
            if re.fullmatch(r"(lmcache|vllm)/.*\.py", name)
        }
    found: Names = {}
    for kind, read in KINDS.items():
        for name, default in read(sources):
            names = found.setdefault(kind, {})
            names[name] = names.get(name) or default
    return found


def section(package: str, read: Mapping[str, Names]) -> str:
    """The table's part about a package; ``read``: by release, oldest first."""
    versions = list(read)
    lines = [f"[{package}]", f"releases = [{', '.join(map(_quoted, versions))}]"]
    came, went = ({kind: _edges(read, kind, order) for kind in KINDS} for order in (versions, versions[::-1]))
    for kind in KINDS:
        parts = {
            "since": _without_owners(came, kind),
            "until": _without_owners(went, kind),
            "defaults": _changed({version: names.get(kind, {}) for version, names in read.items()}),
        }
        for what, table in parts.items():
            if table:
                rows = (f"{_quoted(name)} = {table[name]}" for name in sorted(table))
                lines += ["", f"[{package}.{what}.{kind}]", *rows]
    return "\n".join(lines) + "\n"


def _edges(read: Mapping[str, Names], kind: str, versions: list[str]) -> dict[str, str]:
    """The first of these releases that has the name, of each that the very first has not."""
    first: dict[str, str] = {}
    for version in versions:
        for name in read[version].get(kind, {}):
            first.setdefault(name, _quoted(version))
    return {name: version for name, version in first.items() if version != _quoted(versions[0])}


def _without_owners(edges: Mapping[str, dict[str, str]], kind: str) -> dict[str, str]:
    """Less what came, or went, together with what it belongs to."""
    owners = edges[OWNERS[kind]] if kind in OWNERS else {}
    return {name: version for name, version in edges[kind].items() if owners.get(name.split()[0]) != version}


def _changed(releases_of: _Releases) -> dict[str, str]:
    """Each default that is another in some release; none of a name whose default one release leaves untold."""
    told: dict[str, dict[str, str]] = {}
    unsaid: set[str] = set()
    for version, names in releases_of.items():
        for name, default in names.items():
            if default is None:
                unsaid.add(name)
            elif default not in list(told.setdefault(name, {}).values())[-1:]:
                told[name][version] = default
    return {
        name: "{" + ", ".join(f"{_quoted(version)} = '{value}'" for version, value in values.items()) + "}"
        for name, values in told.items()
        if len(values) > 1 and name not in unsaid
    }


def _quoted(text: str) -> str:
    return f'"{text}"'


if __name__ == "__main__":
    main()
