"""Real engines: which model, which environment, which command, and the process itself."""
