"""From which release on a name exists, and what is written for a release that lacks one."""

import pytest

from kvtiers.lint.setup import DEFAULTS
from kvtiers.settings import known
from kvtiers.settings.lacking import lacking
from kvtiers.settings.since import Lack, Name, of_adapter, releases
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


@pytest.mark.parametrize(
    ("version", "hosts"),
    [
        ("0.5.5", ["0.0.0.0"]),
        ("0.3.8", ["0.0.0.0"]),
        ("0.5.6", ["127.0.0.1"]),
        ("0.5.x", ["0.0.0.0", "127.0.0.1"]),
        ("", ["0.0.0.0", "127.0.0.1"]),
        ("latest", ["0.0.0.0", "127.0.0.1"]),
    ],
)
def test_a_default_is_the_release_s_own(version: str, hosts: list[str]) -> None:
    assert Name("lmcache", "server_options", "http-host").defaults(version) == hosts


def test_defaults_that_are_assumed_elsewhere_are_the_same_in_every_release() -> None:
    assumed = [Name("lmcache", "settings", name) for name in DEFAULTS]
    assumed += [Name("lmcache", "server_options", name) for name in ("host", "port", "http-port", "max-workers")]
    assumed += [Name("lmcache", "mp_keys", name) for name in ("host", "port")]
    assert [name for name in assumed if name.defaults("")] == []


def test_a_key_of_an_adapter_is_its_own_or_every_adapters() -> None:
    lacks = {
        written: lack.since
        for name, written in of_adapter({"type": "dax", "devices": [], "slot_bytes": 1, "shared": True})
        if (lack := name.lack("0.4.6"))
    }
    assert lacks == {'--l2-adapter "devices"': "0.4.7", '--l2-adapter "shared"': "0.5.3"}


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
    wsl2 = lacking(Plan(Wiring.MP_RAM, "m", platform=Platform.WSL2), "", "0.4.7")
    assert [written for written, _ in wsl2] == ["--supported-transfer-mode engine_driven"]
    assert lacking(Plan(Wiring.MP_DRIVE, "m"), "", "0.4.6") == []
