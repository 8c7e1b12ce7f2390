"""One server as its engine will see it: every setting once, from the place that wins; and what was not to be seen."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

from kvtiers.json_text import read_json
from kvtiers.lint.given import Given, Invocation, Unseen, Value, last_part
from kvtiers.lint.values import convert, unquoted
from kvtiers.settings import known

# As LMCache 0.5.6 has them, for the settings the rules look at: those that are not off by default.
DEFAULTS: dict[str, Any] = {
    "chunk_size": 256,
    "local_cpu": True,
    "max_local_cpu_size": 5.0,
    "max_local_disk_size": 0.0,
    "pre_caching_hash_algorithm": "builtin",
}
_KNOWN = {"vllm": "0.32", "lmcache": "0.5"}
_IN_PROCESS = re.compile(r"LMCache(?!MP)")
_RANKS = ("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size")
_FORMS = {"kv_connector": r"\w*Connector\w*", "kv_role": r"kv_\w+"}
_EXTRA = "kv_connector_extra_config"
# vLLM takes 80m or 64G in JSON for a number, decimal in small letters and binary in capitals; not within quotes
_NUMBER = re.compile(r'"(?:[^"\\]|\\.)*"|\b(\d+(?:\.\d+)?)([kKmMgGtT])\b')
_Files: TypeAlias = tuple[Sequence[str], Sequence[Unseen]]  # lmcache.yaml by name; which of it was not given


@dataclass(frozen=True)
class Facts:
    """What no configuration says, from whoever asks. Tokens; GiB; ``mounts``: the server's /proc/mounts.

    ``recurrent``: has the model state layers? ``memory_gib``: of the machine, for what runs in no container.
    """

    prefix_tokens: int | None = None
    kv_bytes_per_token: float | None = None
    drive_gib: float | None = None
    memory_gib: float | None = None
    recurrent: bool | None = None
    mounts: str = ""


class Setup:
    """A server with LMCache's settings in force; without a source, an empty one: settings alone were given.

    ``connector``: the value of ``--kv-transfer-config``, as far as it can be read; ``connector_error``: why no further.
    ``unseen``: where more settings may stand.
    """

    def __init__(
        self, server: Invocation, environment: Mapping[str, Value], files: _Files, given: Given, facts: Facts
    ) -> None:
        names, unseen = files
        self.server, self.environment, self.facts = server, environment, facts
        self.unseen = [*server.environment_unseen, *unseen]
        self.versions = {**given.versions, **server.versions}
        self.in_file = {key: value for name in names for key, value in given.files[name].items()}
        self.in_environment = {}
        for name, value in environment.items():
            setting = name.removeprefix("LMCACHE_")
            if setting != name and setting not in known.other_variables() and not setting.startswith("EC_"):
                self.in_environment[setting.lower()] = value
        self.settings = {**self.in_file, **self.in_environment}
        self.connector: dict[str, Any] | None = _shortcut(server.options) or None
        self.connector_at = self.option("kv-transfer-config")
        self.connector_error: str | None = None
        self.quoted = False
        if self.connector_at:
            self._connect(self.connector_at)

    def _connect(self, option: Value) -> None:
        text, shortcut, self.connector = unquoted(str(option.value)), self.connector, None
        self.quoted = text.startswith("{") and text != str(option.value).strip()
        try:
            config = read_json(_NUMBER.sub(_written_out, text))
        except ValueError as error:
            self.connector_error = str(error).split(":", maxsplit=1)[0] if option.literal else ""
            # name and role out of what is no JSON, so that one fault does not hide another
            found = {name: re.search(rf"{name}['\"]?\s*[:=]\s*['\"]?({form})", text) for name, form in _FORMS.items()}
            config = {name: match[1] for name, match in found.items() if match}
        if not isinstance(config, dict):
            self.connector_error = "not an object" if option.literal else ""
            return
        if not (option.literal or config.get("kv_connector")) or "$" in str(config.get("kv_connector")):
            self.connector_error = ""
            return
        size = self.option("kv-offloading-size")
        if size and shortcut:  # fills in connector, role and size
            config |= shortcut
            config[_EXTRA] = {**extra_of(config), "cpu_bytes_to_use": f"{size.value} GiB"}
        self.connector = config
        for connector in self.connectors:
            for key, value in extra_of(connector).items():
                if key.startswith("lmcache.") and not key.startswith("lmcache.mp."):
                    self.settings[key.removeprefix("lmcache.")] = Value(value, option.source, option.line)

    @property
    def alone(self) -> bool:
        return not self.server.source

    @property
    def has_settings(self) -> bool:
        """Is LMCache set up at all?"""
        return bool(self.settings) or "LMCACHE_CONFIG_FILE" in self.environment

    @property
    def connectors(self) -> list[dict[str, Any]]:
        """The connector, or those that MultiConnector holds."""
        inner = self.extra.get("connectors") if self.connector_name == "MultiConnector" else None
        listed = [one for one in inner if isinstance(one, dict)] if isinstance(inner, list) else []
        return listed or ([self.connector] if self.connector else [])

    @property
    def connector_names(self) -> list[str]:
        """Their names; none where they cannot be read."""
        return [str(one.get("kv_connector") or "") for one in self.connectors]

    @property
    def connector_name(self) -> str:
        """The KV connector's name; empty where there is none or it cannot be read."""
        return str((self.connector or {}).get("kv_connector") or "")

    @property
    def extra(self) -> dict[str, Any]:
        """``kv_connector_extra_config``."""
        return extra_of(self.connector or {})

    @property
    def in_process(self) -> bool:
        """Does LMCache run inside the engine, as far as is known?"""
        return self.has_settings and (not self.connector_names or any(map(_IN_PROCESS.match, self.connector_names)))

    @property
    def workers(self) -> int:
        """Ranks on one node, each with an LMCache of its own; 1 where that can't be seen."""
        total = prod(self.server.number(name) or 1 for name in _RANKS)
        return max(1, total // (self.server.number("nnodes") or 1))

    def option(self, name: str) -> Value | None:
        """An option of the server's command."""
        return self.server.options.get(name)

    def knows(self, package: str) -> bool:
        """Is the version that is seen, if any, the one whose names stand in the tables?"""
        version = str(self.versions[package].value) if package in self.versions else ""
        return not version or f"{version}.".startswith(f"{_KNOWN[package]}.")

    def get(self, name: str) -> Any:
        """The setting as LMCache reads it; its default where it is not set or cannot be read."""
        if name not in self.settings:
            return DEFAULTS.get(name)
        try:
            return convert(name, self.settings[name].value)
        except ValueError:
            return None

    def known_value(self, name: str) -> bool:
        """Is the setting set to something we can see, or surely unset?"""
        return self.settings[name].literal if name in self.settings else not self.unseen


def _written_out(number: re.Match[str]) -> str:
    if not number[1]:
        return number[0]
    base = 1000 if number[2].islower() else 1024
    return str(int(float(number[1]) * base ** (1 + "kmgt".index(number[2].lower()))))


def extra_of(connector: Mapping[str, Any]) -> dict[str, Any]:
    """A connector's ``kv_connector_extra_config``; empty where it has none."""
    extra = connector.get(_EXTRA)
    return extra if isinstance(extra, dict) else {}


def setups(given: Given, facts: Facts) -> Iterator[Setup]:
    """One for each server, and for each lmcache.yaml that none of them reads; one for variables alone."""
    used: set[str] = set()
    for server in given.servers:
        outside = {} if server.container else given.environment
        environment = {**outside, **server.not_exported, **server.environment}
        files = _files(environment, given)
        used |= set(files[0])
        yield Setup(server, environment, files, given, facts)
    environment = {} if given.servers else given.environment
    left: list[_Files] = [([name], []) for name in given.files if name not in used]
    for files in left or ([_files(environment, given)] if environment and not given.files else []):
        yield Setup(Invocation("", 0), environment, files, given, facts)


def _files(environment: Mapping[str, Value], given: Given) -> _Files:
    """The lmcache.yaml that a server is told of, the only one where that can't be seen; or what was not given."""
    named, files = environment.get("LMCACHE_CONFIG_FILE"), list(given.files)
    found = [name for name in files if named and last_part(name) == last_part(str(named.value))]
    if found or len(files) == 1:
        return found[:1] or files, []
    if named:
        return [], [Unseen("settings_file", str(named.value), named.source, named.line)]
    return [], [Unseen("which_file", ", ".join(files), files[0], 1)] if files else []


def _shortcut(options: Mapping[str, Value]) -> dict[str, Any]:
    """What ``--kv-offloading-size``, or Dynamo's ``--connector``, stands for."""
    said = {name: options[name].value for name in ("kv-offloading-backend", "connector") if name in options}
    name = "LMCacheConnectorV1" if said.get("connector") == "lmcache" else ""
    if "kv-offloading-size" in options:
        name = "LMCacheMPConnector" if said.get("kv-offloading-backend") == "lmcache" else "OffloadingConnector"
    return {"kv_connector": name, "kv_role": "kv_both"} if name else {}
