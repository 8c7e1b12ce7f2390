"""The one error type of this package."""


class KvtiersError(ValueError):
    """Input that cannot be used; any function here raises it. The message names the field and says what to do."""
