"""A command's options out of a record's fields: each stands once, with its default and its help."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields
from inspect import Parameter
from typing import Any, TypeVar, get_type_hints

Answer = TypeVar("Answer")


def options_from(record: type, parameter: str) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    """Replace a command's ``parameter`` by one option a field of ``record``, a dataclass with Annotated fields.

    @options_from(Knobs, "knobs")
    def run(url: str, knobs: Knobs) -> None: ...
    """
    hints = get_type_hints(record, include_extras=True)
    added = [
        Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name])
        for field in fields(record)
    ]

    def decorate(command: Callable[..., Answer]) -> Callable[..., Answer]:
        own = inspect.signature(command, eval_str=True)
        kept = [option.replace(kind=Parameter.KEYWORD_ONLY) for option in own.parameters.values()]
        options = [*added, *(option for option in kept if option.name != parameter)]

        @functools.wraps(command)
        def flat(**given: Any) -> Answer:
            values = {option.name: given.pop(option.name) for option in added}
            return command(**given, **{parameter: record(**values)})

        flat.__signature__ = own.replace(parameters=options)  # type: ignore[attr-defined]
        flat.__annotations__ = {option.name: option.annotation for option in options}
        return flat

    return decorate
