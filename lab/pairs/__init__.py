"""Which versions of vLLM and LMCache go together, measured: each pair in an environment of its own."""
