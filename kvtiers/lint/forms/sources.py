"""What people paste or keep in files, read into one deployment, each text by its kind.

What refers to others (scripts, manifests, units) goes first: what is left over then stands for itself.
"""

import difflib
import re
from collections.abc import Iterator, Sequence

from kvtiers.errors import KvtiersError
from kvtiers.lint.command.caller import Caller, Inputs, env_file, placed
from kvtiers.lint.command.options import is_vllm_config, options_in
from kvtiers.lint.command.scripts import read_script
from kvtiers.lint.forms.charts import is_values, read_values
from kvtiers.lint.forms.compose import read_service
from kvtiers.lint.forms.dockerfile import read_dockerfile
from kvtiers.lint.forms.kubernetes import note_config_map, read_object
from kvtiers.lint.forms.systemd import read_unit
from kvtiers.lint.given import Given, Invocation, Source, Value, is_part, last_part
from kvtiers.lint.yaml_nodes import Node, documents
from kvtiers.settings import known
from kvtiers.tables import read_table

_VARIABLE = re.compile(r"[A-Za-z_]\w*=\S*|[A-Za-z_]\w*=(?:['\"{]).*")
_MISSPELT = 0.85  # of a name's letters in common: max_local_disc_size
_REFERS = re.compile(r"^(?:services|apiVersion|servingEngineSpec):", re.MULTILINE)


class _ForeignError(KvtiersError):
    """A text that can be read, and is about something else."""


def read_sources(sources: Sequence[Source]) -> Given:
    """All inputs as one deployment.

    Raises:
        KvtiersError: ``NAME, line N: …`` for what cannot be read.
    """
    given, inputs = Given(), Inputs()
    kinds = {source.name: kind_of(source) for source in sources}
    for source in sources:
        inputs.add(source)
    for source in sources:
        with placed(source):
            for node in documents(source.text) if kinds[source.name] == "yaml" else ():
                note_config_map(source, node, inputs)
    # Variables, images, and YAML that is no manifest, refer to nothing: others may name them.
    named = [one for one in sources if kinds[one.name] in ("env", "dockerfile", "yaml")]
    last = {one.name for one in named if not _REFERS.search(one.text)}
    for source in sorted(sources, key=lambda source: source.name in last):
        if source.name not in inputs.used:
            _read(source, kinds[source.name], Caller(source.name, inputs, given))
    for source in list(inputs.texts.values()):  # those that here-documents write, and ConfigMaps hold
        if source.name not in kinds and source.name not in inputs.used:
            try:
                _read(source, kind_of(source), Caller(source.name, inputs, given))
            except KvtiersError as error:
                if source.name not in inputs.of_maps and not isinstance(error, _ForeignError):
                    raise
                given.skipped.append((source.name, str(error).removeprefix(f"{source.name}, ")))
    listed = {name for name, _ in given.read}
    given.read += [(source.name, kinds[source.name]) for source in sources if source.name not in listed]
    return given


def _read(source: Source, kind: str, caller: Caller) -> None:
    with placed(source):
        match kind:
            case "env":
                caller.given.environment |= env_file(source)
            case "yaml":
                kind = _read_yaml(source, caller)
            case "dockerfile":
                read_dockerfile(source, caller)
            case "systemd":
                read_unit(source, caller)
            case "shell":
                if is_part(source.name):  # written by another, and run by who knows whom
                    caller.not_seen("caller", source.name, source.first_line)
                read_script(source, caller)
            case _:
                line = next((number for number, line in _said(source.text)), 1)
                raise KvtiersError(f"line {line}: {kind} is not read: give the vLLM command and its variables")
        caller.given.read.append((source.name, kind))


def kind_of(source: Source) -> str:
    """By its name's ending; else by how it begins."""
    name, kinds = source.name.lower().rstrip(")"), read_table("lint/forms/kinds.toml")
    for kind, entry in kinds.items():
        if name.endswith(tuple(entry["endings"])):
            return kind
    lines = [line for _, line in _said(source.text) if line != "---"]
    if lines and all(_VARIABLE.fullmatch(line) for line in lines):
        return "env"
    first = lines[0] if lines else ""
    return next(kind for kind, entry in kinds.items() if "begins" in entry and re.match(entry["begins"], first))


def _said(text: str) -> Iterator[tuple[int, str]]:
    """Lines that say something, with their numbers: neither empty nor a comment."""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.strip().startswith(("#", ";")):
            yield number, line.strip()


def _read_yaml(source: Source, caller: Caller) -> str:
    """Add what the file says to what is given, and name its kind.

    Raises:
        KvtiersError: ``line N: …`` for what is no YAML, or YAML about something else.
    """
    kinds, refused = [], []
    for node in documents(source.text, source.first_line):
        try:
            if isinstance(node.value, dict):
                kinds.append(_document(source, node, caller))
            elif node.value is not None:
                raise _ForeignError(f"line {node.line}: neither settings (name: value) nor services")
        except KvtiersError as error:
            refused.append(error)
    if refused and not kinds:
        raise refused[0]
    caller.given.skipped += [(source.name, str(error)) for error in refused]
    return kinds[-1] if kinds else "yaml"


def _document(source: Source, node: Node, caller: Caller) -> str:
    unread = read_table("lint/names.toml")["unread"]
    for name in [unread[key] for key in (*node.fields, node.at("kind").text) if key in unread]:
        raise _ForeignError(f"line {node.line}: {name} is not read: give the vLLM command and its variables")
    if {"apiVersion", "kind"} <= set(node.fields):
        serve = node.at("spec", "serveConfigV2")  # a RayService's
        for inner in documents(serve.text, serve.line)[:1]:
            _document(source, inner, caller)
        if not note_config_map(source, node, caller.inputs):
            read_object(node, caller)
        return "kubernetes"
    if "modelArtifacts" in node.fields:
        read_object(node, caller)
        return "llm_d"
    if isinstance(node.at("services").value, dict):
        for name, service in node.at("services").fields.items():
            if service.fields:
                read_service(str(name), service, node.at("services"), caller.fresh())
        return "compose"
    if is_values(node):
        read_values(node, caller)
        return "helm"
    engines = [*_ray_engines(node)]
    for engine in engines:
        caller.given.servers.append(Invocation(source.name, engine.line, options_in(engine, source.name)))
    if engines:
        return "ray"
    return _settings(source, node, caller)


def _ray_engines(node: Node) -> Iterator[Node]:
    """Ray Serve's configuration keeps vLLM's options in ``engine_kwargs``."""
    if node.at("engine_kwargs").fields:
        yield node.at("engine_kwargs")
    for inner in (*node.items, *node.fields.values()):
        yield from _ray_engines(inner)


def _settings(source: Source, node: Node, caller: Caller) -> str:
    given, keys = caller.given, [str(key) for key in node.fields]
    if "kv_connector" in keys:  # the value of --kv-transfer-config by itself
        value = Value(node.json, source.name, node.line)
        given.servers.append(Invocation(source.name, node.line, {"kv-transfer-config": value}))
        return "kv_transfer_config"
    if is_vllm_config(node) and not known.kinds().keys() & set(keys):
        given.servers.append(Invocation(source.name, node.line, options_in(node, source.name)))
        return "vllm_config"
    if _like_settings(source, keys, given):
        values = {str(key): Value(one.plain(), source.name, one.key_line) for key, one in node.fields.items()}
        given.files[source.name] = values
        return "lmcache"
    raise _ForeignError(
        f"line {node.line}: neither LMCache's or vLLM's settings, nor services of compose, nor Kubernetes, nor "
        "vLLM production-stack's values: of another chart give what helm template renders"
    )


def _like_settings(source: Source, keys: list[str], given: Given) -> bool:
    """Is it called lmcache, or told to a server; or are keys LMCache's? chunk_size alone may be anybody's."""
    names, own = {*known.kinds(), *known.renamed()}, last_part(source.name)
    places = [given.environment, *(one.environment for one in given.servers)]
    told = [last_part(str(one["LMCACHE_CONFIG_FILE"].value)) for one in places if "LMCACHE_CONFIG_FILE" in one]
    if own.lower().startswith("lmcache") or own in told:
        return True
    ours = sum(bool(difflib.get_close_matches(key, names, n=1, cutoff=_MISSPELT)) for key in keys)
    return len(keys) / 4 <= ours > 1 or ours == len(keys) > 0
