"""The commands of ``python -m kvtiers``, one a module: ``add_arguments(parser)`` and ``run(options)``.

``run`` gives the text to print, and with it, where a command has findings, the exit status.
"""
