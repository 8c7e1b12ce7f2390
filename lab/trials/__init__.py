"""Trials on the real engines: the same document before and after something happened to processes, files or settings."""
