"""What a parser of YAML comes upon, one after the other, and how deep values may be within each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

DEEPEST = 100
"""libyaml's loader ends the process where some 20,000 are open, and its parser takes the longer for each, the more are;
the deepest CustomResourceDefinitions have some 60."""


class TooDeep(ValueError):
    """More is open than DEEPEST."""

    def __init__(self) -> None:
        super().__init__("it is nested too deeply")


def events_of(text: str | bytes) -> Iterator[Any]:
    """By the C parser where there is one.

    Raises:
        yaml.YAMLError: it is not YAML.
        TooDeep
    """
    import yaml

    depth = 0
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                raise TooDeep
            yield event
    except yaml.YAMLError as error:
        if "nesting depth" in str(error):  # a newer libyaml finds it first
            raise TooDeep from error
        raise


def reason(error: Exception) -> str:
    """Why something is not YAML, and where, without the text that stands there, which may be a secret."""
    if isinstance(error, TooDeep):
        return str(error)
    mark = getattr(error, "problem_mark", None)
    told = [getattr(error, name, None) for name in ("context", "problem", "reason")]
    where = [] if mark is None else [f"in line {mark.line + 1}"]
    return " ".join([*(each for each in told if each), *where]) or "a value is not of its type"
