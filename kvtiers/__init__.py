"""KV-cache tiering: how big KV is, and whether loading it beats recomputing it."""
