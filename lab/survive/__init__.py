"""Which tier survives what: the same document before and after something happened to the processes or their files."""
