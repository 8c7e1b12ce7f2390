"""KV-cache tiering: how big KV is, and whether loading it beats recomputing it."""

__version__ = "0.1.0"
