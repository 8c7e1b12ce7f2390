"""The commands of ``python -m kvtiers``, one a module: ``add_arguments(parser)`` and ``run(options) -> str``."""
