"""How this machine reaches its packages, read from its own configuration and handed on to a bare system.

Only what says where packages come from, and whom to trust: no cache, no credentials, and no folder of packages that
lies on this machine only, since a fresh machine has none.
"""

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

CERTIFICATES = Path("usr/local/share/ca-certificates")
BUNDLE_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
APT_OPTIONS = re.compile(r"Acquire::(https?::|Check-|Retries|Force).*")
PIP_PLACES = ("index-url", "extra-index-url", "find-links")
PIP_OPTIONS = (*PIP_PLACES, "cert", "trusted-host", "proxy", "timeout", "default-timeout", "retries")
NPM_OPTIONS = re.compile(r"(@[^:]+:)?registry|proxy|https-proxy|noproxy|ca|cafile|strict-ssl")
_PIP_LINE = re.compile(r"(?P<section>:env:|[^.]+)\.(?P<option>[^=]+)=(?P<value>.*)")


class NoRouteError(Exception):
    """This machine's configuration does not say where Debian's packages come from."""


@dataclass(frozen=True)
class Mirror:
    """Where Debian's packages come from: the archive, and its security updates ("" where none are configured)."""

    archive: str
    security: str

    def sources(self, codename: str) -> str:
        """The sources.list of a Debian of that name."""
        places = [(self.archive, codename), (self.archive, f"{codename}-updates")]
        if self.security:
            places.append((self.security, f"{codename}-security"))
        return "".join(f"deb {place} {suite} main\n" for place, suite in places)


@dataclass(frozen=True)
class PipRoute:
    """A pip.conf of the options that say where packages come from, and the local places that were left out of it.
    ``bundles``: files of certificates that it names.
    """

    text: str
    left_out: tuple[str, ...]
    bundles: tuple[str, ...]


def read_mirror() -> Mirror:
    """The mirror of this machine's own apt sources. Raises NoRouteError."""
    answer = _ask("apt-get", "indextargets", "--format", "$(LABEL)\t$(REPO_URI)", "Created-By: Packages")
    places = dict(line.split("\t") for line in answer.splitlines())
    if "Debian" not in places:
        raise NoRouteError("apt knows no mirror of Debian here: run apt-get update, or name one with --mirror")
    return Mirror(places["Debian"], places.get("Debian-Security", ""))


def pip_route(config: str) -> PipRoute:
    """From what `pip config list` prints; the environment's values come last, because they win."""
    sections: dict[str, dict[str, str]] = {}
    left_out: list[str] = []
    for match in sorted(filter(None, map(_PIP_LINE.fullmatch, config.splitlines())), key=_from_environment):
        option, value = match["option"], str(ast.literal_eval(match["value"]))
        if option in PIP_PLACES:
            left_out += filter(_is_local, value.split())
            value = " ".join(place for place in value.split() if not _is_local(place))
        if option in PIP_OPTIONS and value:
            sections.setdefault("global" if _from_environment(match) else match["section"], {})[option] = value
    lines = [
        line
        for section, options in sections.items()
        for line in (f"[{section}]", *(f"{option} = {value}" for option, value in options.items()))
    ]
    bundles = tuple(options["cert"] for options in sections.values() if "cert" in options)
    return PipRoute("".join(f"{line}\n" for line in lines), tuple(dict.fromkeys(left_out)), bundles)


def npm_route(config: dict[str, object]) -> str:
    """An .npmrc, from what `npm config list --json` prints."""
    lines = []
    for option, value in config.items():
        if NPM_OPTIONS.fullmatch(option) and value not in (None, [], [""]):
            lines += [f"{option}[]={item}" for item in value] if isinstance(value, list) else [f"{option}={value}"]
    return "".join(f"{line}\n" for line in lines)


def hand_on(mirror: Mirror, codename: str, system: Path) -> tuple[str, ...]:
    """Write this machine's route into the bare system below ``system``; the local places that it leaves out."""
    apt = system / "etc" / "apt"
    (apt / "sources.list").write_text(mirror.sources(codename))
    options = [line for line in _ask("apt-config", "dump").splitlines() if APT_OPTIONS.match(line)]
    (apt / "apt.conf.d" / "90route").write_text("".join(f"{line}\n" for line in options))

    for name in ("resolv.conf", "hosts"):
        shutil.copy(Path("/etc") / name, system / "etc")
    if (Path("/") / CERTIFICATES).is_dir():
        shutil.copytree(Path("/") / CERTIFICATES, system / CERTIFICATES, dirs_exist_ok=True)

    pip = pip_route(_ask(sys.executable, "-m", "pip", "config", "list"))
    (system / "etc" / "pip.conf").write_text(pip.text)
    npm = json.loads(_ask("npm", "config", "list", "--json")) if shutil.which("npm") else {}
    (system / "root" / ".npmrc").write_text(npm_route(npm))
    bundles = {name: os.environ[name] for name in BUNDLE_VARIABLES if os.environ.get(name)}
    proxies = {name: value for name, value in os.environ.items() if name.lower() in PROXY_VARIABLES}
    exports = [f"export {name}={shlex.quote(value)}\n" for name, value in (bundles | proxies).items()]
    (system / "etc" / "profile.d" / "route.sh").write_text("".join(exports))

    for bundle in filter(None, {*pip.bundles, *bundles.values(), str(npm.get("cafile") or "")}):
        there = system / bundle.lstrip("/")
        if not there.exists():
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(bundle, there)
    return pip.left_out


def _from_environment(match: re.Match[str]) -> bool:
    return match["section"] == ":env:"


def _is_local(place: str) -> bool:
    return urlsplit(place).scheme in ("", "file")


def _ask(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
