"""One deployment as its engine will see it: every setting once, from the place that wins."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kvtiers.lint.given import Given, ServeCommand, Value, read_json
from kvtiers.lint.yaml_nodes import Node
from kvtiers.settings import known

# As LMCache 0.5.6 has them, for the settings the rules look at.
DEFAULTS: dict[str, Any] = {
    "chunk_size": 256,
    "local_cpu": True,
    "max_local_cpu_size": 5.0,
    "local_disk": None,
    "max_local_disk_size": 0.0,
    "pre_caching_hash_algorithm": "builtin",
    "remote_url": None,
    "remote_storage_plugins": None,
    "enable_pd": False,
    "enable_p2p": False,
    "enable_controller": False,
    "extra_config": None,
}


@dataclass(frozen=True)
class Facts:
    """What no configuration says, from whoever asks. Tokens; GiB; ``mounts``: the server's /proc/mounts."""

    prefix_tokens: int | None = None
    kv_bytes_per_token: float | None = None
    drive_gib: float | None = None
    mounts: str = ""


@dataclass
class Setup:
    """A server (None: settings alone were given) with LMCache's settings in force."""

    server: ServeCommand | None
    settings: dict[str, Value]
    environment: Mapping[str, Value]
    in_file: dict[str, Value]
    in_environment: dict[str, Value]
    connector: dict[str, Any] | None = None
    connector_at: Value | None = None
    connector_error: str | None = None
    facts: Facts = field(default_factory=Facts)

    @property
    def has_settings(self) -> bool:
        """Is LMCache set up at all?"""
        return bool(self.settings) or "LMCACHE_CONFIG_FILE" in self.environment

    @property
    def connector_name(self) -> str:
        """The KV connector's name; empty where there is none or it cannot be read."""
        return str((self.connector or {}).get("kv_connector") or "")

    @property
    def in_process(self) -> bool:
        """Does LMCache run inside the engine, as far as is known?"""
        return self.has_settings and self.connector_name not in ("LMCacheMPConnector", "OffloadingConnector")

    def get(self, name: str) -> Any:
        """The setting as LMCache reads it; its default where it is not set or cannot be read."""
        if name not in self.settings:
            return DEFAULTS.get(name)
        try:
            return convert(name, self.settings[name].value)
        except ValueError:
            return None

    def known_value(self, name: str) -> bool:
        """Is the setting unset, or set to something we can see?"""
        return name not in self.settings or self.settings[name].literal


def setups(given: Given, facts: Facts) -> Iterator[Setup]:
    """One for each server; one for the settings alone where there is no server."""
    in_file = {name: value for file in given.files for name, value in file.items()}
    servers: list[ServeCommand | None] = [*given.servers] or [None]
    for server in servers:
        environment = {**given.environment, **(server.environment if server else {})}
        in_environment = _settings_of(environment)
        setup = Setup(server, {**in_file, **in_environment}, environment, in_file, in_environment, facts=facts)
        if server:
            _connect(setup, server)
        yield setup


def _settings_of(environment: Mapping[str, Value]) -> dict[str, Value]:
    """LMCache's settings among variables, by their lower-case names; not its other variables."""
    settings = {}
    for name, value in environment.items():
        setting = name.removeprefix("LMCACHE_")
        if setting != name and setting not in known.other_variables() and not setting.startswith("EC_"):
            settings[setting.lower()] = value
    return settings


def convert(name: str, value: Any) -> Any:
    """A setting's value as LMCache converts it.

    Raises:
        ValueError: where LMCache logs that it failed, and goes on without.
    """
    if isinstance(value, Node):
        value = value.plain()
    if isinstance(value, str):
        value = _unquoted(value)
    if value is None:
        return None
    return _CONVERTERS.get(known.kinds().get(name, ""), str)(value)


def _bool(value: Any) -> bool:
    return value if isinstance(value, bool) else str(value).strip().lower() in ("true", "1")


def _number(kind: type) -> Callable[[Any], Any]:
    def converted(value: Any) -> Any:
        try:
            return kind(value)
        except (TypeError, OverflowError) as error:
            raise ValueError(str(error)) from None

    return converted


def _path(value: Any) -> str | None:
    parts = [part.strip() for part in str(value).split(",") if part.strip()]
    return ",".join(part.removeprefix("file://") for part in parts) or None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [part.strip() for part in str(value).split(",") if part.strip()]


def _json(value: Any) -> Any:
    return value if isinstance(value, dict) else read_json(value) if value else None


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "bool": _bool,
    "int": _number(int),
    "float": _number(float),
    "path": _path,
    "list": _list,
    "json": _json,
}


def raw_text(value: Value) -> str:
    """A setting as it was written, without quotes around it."""
    plain = value.value.plain() if isinstance(value.value, Node) else value.value
    return _unquoted(str(plain)) if plain is not None else ""


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def _connect(setup: Setup, server: ServeCommand) -> None:
    option = server.options.get("kv-transfer-config")
    if option is None:
        backend = server.options.get("kv-offloading-backend")
        if "kv-offloading-size" in server.options:
            name = "LMCacheMPConnector" if backend and backend.value == "lmcache" else "OffloadingConnector"
            setup.connector = {"kv_connector": name, "kv_role": "kv_both", "shortcut": True}
        return
    setup.connector_at = option
    if not option.literal:
        setup.connector_error = ""
        return
    try:
        config = read_json(str(option.value))
    except ValueError as error:
        setup.connector_error = str(error).split(":", maxsplit=1)[0]
        return
    if not isinstance(config, dict):
        setup.connector_error = "not an object"
        return
    setup.connector = config
    extra = config.get("kv_connector_extra_config")
    for key, value in extra.items() if isinstance(extra, dict) else ():
        if key.startswith("lmcache.") and not key.startswith("lmcache.mp."):
            setup.settings[key.removeprefix("lmcache.")] = Value(value, option.source, option.line)
