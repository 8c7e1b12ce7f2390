"""The experiment: cold, GPU hit, reuse from SSD, on real vLLM and LMCache."""
