"""``make fresh-machine``: do the README's commands work on a bare Debian, from ``git clone`` to green?"""
