"""Commands as people write them in scripts and containers, to servers with their options and environment."""
