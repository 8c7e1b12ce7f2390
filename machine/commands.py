"""The make targets that a machine is looked at for. Any Python from 3.6 on can read this file."""

SITE = frozenset(("site", "course"))
TEST = frozenset(("test",))
WITH_ENGINE = frozenset(("lab", "bench", "test"))
WITH_CHROMIUM = frozenset(("test", "bench", "bench-course"))
# "check" wants the project's environment and nothing else, as all of them do.
WITH_FONTS = SITE | WITH_CHROMIUM
COMMANDS = frozenset(("check",)) | SITE | WITH_ENGINE | WITH_CHROMIUM
ENGINES = ("auto", "cpu", "cuda")
