"""Arguments that several commands take."""

import argparse
from collections.abc import Sequence

from kvtiers.errors import KvtiersError
from kvtiers.model import kv_spec, read_config
from kvtiers.model.spec import KvSpec
from kvtiers.words import LANGUAGES


def language_argument(parser: argparse.ArgumentParser) -> None:
    """``--language``, for the words; ids and values are the same in all."""
    parser.add_argument("--language", choices=list(LANGUAGES), default="en", help="of the words")


def stdin_once(names: Sequence[str]) -> None:
    """Refuse to read standard input, ``-`` among ``names``, a second time."""
    if names.count("-") > 1:
        raise KvtiersError("standard input can be read once: give - once")


def model_arguments(parser: argparse.ArgumentParser) -> None:
    """A model by its config.json, or by a number."""
    parser.add_argument("config", nargs="?", metavar="CONFIG", help="config.json: a path, a folder, or the text itself")
    parser.add_argument("--kv-bytes-per-token", type=float, metavar="N", help="instead of CONFIG")
    parser.add_argument("--kv-dtype", metavar="TYPE", help="of the KV; the config's by default")


def spec_of(options: argparse.Namespace) -> KvSpec | None:
    """The model of the arguments of ``model_arguments``; None where a number was given instead."""
    if (options.config is None) == (options.kv_bytes_per_token is None):
        raise KvtiersError("give the model's CONFIG or --kv-bytes-per-token, one of the two")
    return None if options.config is None else kv_spec(read_config(options.config), options.kv_dtype)
