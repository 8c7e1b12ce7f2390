"""One start of a server, and what has happened since."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from kvtiers.logs.requests import Kind
from kvtiers.logs.warnings import Trouble

# Connectors that this package judges; of several, as a MultiConnector loads them, the first of these is shown.
_OURS = ("LMCache", "Offloading", "SimpleCPUOffload")
# What LMCache prints where nothing is set that makes or sizes a tier.
_DEFAULTS: dict[str, tuple[Any, ...]] = {
    "chunk_size": (256,),
    "local_cpu": (True,),
    "max_local_cpu_size": (5.0, "5.0 GB"),
    "local_disk": (None,),
    "remote_url": (None,),
    "remote_storage_plugins": (None, []),
}
# What only follows from an error said before.
CONSEQUENCES = ("start_failed", "start_failed_elsewhere", "engine_dead", "engine_fatal", "proc_died", "answered_500")


@dataclass
class Start:
    """``kinds`` and ``tokens`` count since this start; ``errors``: the first ones, in order."""

    container: str = ""  # or pod, where its lines name one
    server: bool = False  # an LMCache server's, or an engine's and its server's in one log
    vllm: str = ""
    device: str = ""  # cuda, cpu, …; empty where the log does not say
    lmcache: str = ""
    architecture: str = ""
    connectors: list[str] = field(default_factory=list)
    banner: bool = False
    engines: set[str] = field(default_factory=set)
    ready: bool = False
    stopping: bool = False
    prefix_caching: bool = True
    settings: dict[str, Any] = field(default_factory=dict)
    no_config_file: bool = False
    backends: set[str] = field(default_factory=set)
    disk_path: str = ""
    none_hashes: set[str] = field(default_factory=set)
    pool_tokens: int = 0
    kinds: Counter[Kind] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)
    errors: list[Trouble] = field(default_factory=list)
    own_hit_rate: float | None = None
    external_hit_rate: float | None = None
    stores: int = 0
    missed_lengths: int = 0  # lookups that missed although a prompt of the same length was stored before
    missed_lengths_of_earlier: int = 0  # … stored before this start
    missed_in_both: int = 0  # … and the engine, whose pool had room for it, held nothing of it either
    stores_since_load: int = 0  # at an LMCache server
    since_hit: int = 0  # requests computed whole since the last that came from a tier

    @property
    def connector(self) -> str:
        ours = [name for name in self.connectors if name.startswith(_OURS)]
        return (ours or self.connectors or [""])[0]

    @property
    def has_defaults(self) -> bool:
        """Does LMCache say its settings, and none that makes or sizes a tier?"""
        said = self.settings
        return bool(said) and all(said.get(name, values[0]) in values for name, values in _DEFAULTS.items())

    @property
    def requests(self) -> int:
        return sum(self.kinds.values())

    @property
    def tier_hits(self) -> int:
        return self.kinds[Kind.TIER_HIT] + self.kinds[Kind.PARTIAL]

    @property
    def mp(self) -> bool:
        """Did an LMCache server say that it moved or looked up KV?"""
        return any(self.tokens[name] for name in ("mp_stored", "mp_loaded", "mp_lookups"))

    @property
    def served(self) -> bool:
        """Did it come as far as serving?"""
        return bool(self.ready or self.kinds or self.mp or self.own_hit_rate)

    @property
    def known(self) -> bool:
        """Does the log show how it began? A log that begins in the middle does not."""
        return self.banner or bool(self.engines)

    @property
    def failed(self) -> bool:
        """Errors, and never served; of a start whose beginning is not shown nobody can tell."""
        return bool(self.errors) and not self.served

    @property
    def cause(self) -> Trouble | None:
        """The first exception or known error, else the first error; what only follows from others last."""
        causes = [error for error in self.errors if error.id not in CONSEQUENCES]
        named = [error for error in causes if error.exception or error.known]
        return next(iter(named or causes or self.errors), None)
