from pathlib import Path

from tests.fresh_machine.contained import plain_lines
from tests.fresh_machine.route import Mirror, npm_route, pip_route
from tests.fresh_machine.system import mounts_below

PIP = """\
:env:.find-links='/opt/wheels https://wheels.example/cpu'
:env:.no-color='1'
global.constraint='/etc/pip/constraints.txt'
global.extra-index-url='file:///opt/index https://index.example/simple'
global.find-links='/opt/other'
global.index-url='https://index.example/root'
install.trusted-host='index.example'
"""


def test_pip_is_told_its_registries_and_no_place_that_only_this_machine_has() -> None:
    route = pip_route(PIP)
    assert route.text == (
        "[global]\n"
        "extra-index-url = https://index.example/simple\n"
        "index-url = https://index.example/root\n"
        "find-links = https://wheels.example/cpu\n"
        "[install]\n"
        "trusted-host = index.example\n"
    )
    assert set(route.left_out) == {"file:///opt/index", "/opt/other", "/opt/wheels"}


def test_pip_takes_the_environments_value_where_a_file_has_another() -> None:
    lines = ":env:.cert='/etc/environment.crt'\nglobal.cert='/etc/file.crt'\n"
    assert pip_route(lines).text == "[global]\ncert = /etc/environment.crt\n"
    assert pip_route(lines).bundles == ("/etc/environment.crt",)


def test_npm_is_told_its_registries_and_no_credential() -> None:
    config: dict[str, object] = {
        "registry": "https://npm.example/",
        "@lab:registry": "https://lab.example/",
        "//npm.example/:_authToken": "(protected)",
        "cafile": "/etc/ssl/bundle.crt",
        "ca": ["one", "two"],
        "proxy": None,
        "noproxy": [""],
        "cache": "/home/me/.npm",
    }
    assert npm_route(config) == (
        "registry=https://npm.example/\n"
        "@lab:registry=https://lab.example/\n"
        "cafile=/etc/ssl/bundle.crt\n"
        "ca[]=one\n"
        "ca[]=two\n"
    )


def test_security_updates_come_from_where_the_machine_has_them() -> None:
    sources = Mirror("http://mirror.example/debian", "http://security.example/debian-security").sources("trixie")
    assert sources == (
        "deb http://mirror.example/debian trixie main\n"
        "deb http://mirror.example/debian trixie-updates main\n"
        "deb http://security.example/debian-security trixie-security main\n"
    )
    assert "security" not in Mirror("http://mirror.example/debian", "").sources("bookworm")


def test_a_mount_below_a_system_is_seen_before_anything_is_deleted() -> None:
    mountinfo = (
        "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
        "23 22 0:5 / /lab/fresh/bookworm/proc rw - proc proc rw\n"
        "24 22 0:6 / /lab/fresh/bookworm\\040two rw - tmpfs tmpfs rw\n"
    )
    assert mounts_below(Path("/lab/fresh/bookworm"), mountinfo) == [Path("/lab/fresh/bookworm/proc")]
    assert mounts_below(Path("/lab/fresh/bookworm two"), mountinfo) == [Path("/lab/fresh/bookworm two")]
    assert mounts_below(Path("/lab/fresh/trixie"), mountinfo) == []


def test_a_bar_that_was_drawn_anew_stands_once_in_the_last_lines() -> None:
    shown = (
        b"fetching\r\n\x1b[32m##  1/2\x1b[0m\r\n  note\r\x1b[2K\x1b[1A\x1b[2K"
        b"#### 2/2\r\n  note\r\x1b[2K\x1b[1A\x1b[2Kdone\r\n10 %\r20 %\r\n\r\n"
    )
    assert plain_lines(shown) == ["fetching", "done", "20 %"]
