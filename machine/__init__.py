"""What this machine is, what it lacks for a command, and how much of it we may use.

Standard library only: it runs on the system's Python, before any environment exists.
"""
