"""YAML parser events with a limit for the nesting depth, and error texts without the parsed text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MAX_DEPTH = 100
"""libyaml's loader crashes the process at some 20,000 open collections, and its parser gets slower with each; the
deepest CustomResourceDefinitions have some 60."""


class TooDeep(ValueError):
    """More than MAX_DEPTH collections are open."""

    def __init__(self) -> None:
        super().__init__("it is nested too deeply")


def parse_events(text: str | bytes) -> Iterator[Any]:
    """The events of the C parser where it is installed.

    Raises:
        yaml.YAMLError: it is not YAML.
        TooDeep
    """
    import yaml

    depth = 0
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                raise TooDeep
            yield event
    except yaml.YAMLError as error:
        if "nesting depth" in str(error):  # a newer libyaml has its own limit
            raise TooDeep from error
        raise


def error_text(error: Exception) -> str:
    """Why a text is not YAML, and in which line, without the text itself, which may be a secret."""
    if isinstance(error, TooDeep):
        return str(error)
    mark = getattr(error, "problem_mark", None)
    parts = [getattr(error, name, None) for name in ("context", "problem", "reason")]
    location = [] if mark is None else [f"in line {mark.line + 1}"]
    return " ".join([*(each for each in parts if each), *location]) or "a value is not of its type"
