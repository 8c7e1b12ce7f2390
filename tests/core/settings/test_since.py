"""From which release on a name exists, and what is written for a release that lacks one."""

import pytest

from kvtiers.settings import known
from kvtiers.settings.lacking import lacking
from kvtiers.settings.since import Lack, Name, releases
from kvtiers.settings.wiring import Plan, Platform, Wiring

SHM = Name("lmcache", "server_options", "shm-name")
GONE = Name("lmcache", "server_options", "transfer-mode")


@pytest.mark.parametrize(
    ("name", "version", "lack"),
    [
        (SHM, "0.4.7", None),
        (SHM, "0.5.6", None),
        (SHM, "0.4.6", Lack("0.4.7", "", certain=True)),
        (SHM, "v0.4.6.post1", Lack("0.4.7", "", certain=True)),
        (SHM, "0.4.x", Lack("0.4.7", "", certain=False)),
        (SHM, "0.3.8", Lack("0.4.7", "", certain=False)),
        (SHM, "latest", None),
        (SHM, "", None),
        (GONE, "0.4.6", None),
        (GONE, "0.5.6", Lack("", "0.4.6", certain=True)),
        (Name("lmcache", "server_options", "port"), "0.4.6", None),
        (Name("lmcache", "server_options", "never-was"), "0.4.6", None),
    ],
)
def test_a_name_is_missing_before_it_came_and_after_it_went(name: Name, version: str, lack: Lack | None) -> None:
    assert name.lack(version) == lack


def test_a_name_of_the_newest_release_is_not_called_gone() -> None:
    newest = releases("lmcache")[-1]
    kinds = {"server_options": known.server_options(), "mp_keys": known.mp_keys(), "l2_adapters": known.l2_adapters()}
    kinds["settings"] = frozenset(known.kinds())
    for kind, names in kinds.items():
        assert [name for name in names if Name("lmcache", kind, name).lack(newest)] == []


@pytest.mark.parametrize("wiring", Wiring)
def test_the_newest_releases_lack_nothing_that_is_written(wiring: Wiring) -> None:
    newest = [releases(package)[-1] for package in ("vllm", "lmcache")]
    for platform in Platform:
        assert lacking(Plan(wiring, "m", platform=platform), *newest) == []


def test_what_is_written_is_held_against_the_release() -> None:
    plan = Plan(Wiring.MP_DRIVE, "m", platform=Platform.CPU)
    assert [written for written, _ in lacking(plan, "", "0.4.6")] == ["--supported-transfer-mode", "--shm-name"]
    assert lacking(plan, "", "") == []
    assert lacking(Plan(Wiring.MP_DRIVE, "m"), "", "0.4.6") == []
