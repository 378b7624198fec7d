"""YAML events for PyYAML's emitters, generated from a document.

``yaml.dump`` first builds a node for every value and searches for aliases: for a plan of 30,000 pods that takes eight
times as long and hundreds of megabytes, for the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import yaml
from yaml import events as make

_TEXT = "tag:yaml.org,2002:str"
NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|0o[0-7]+")
"""Texts that YAML 1.2 (section 10.3.2) and YAML readers in Go take for numbers, such as ``1e3``; YAML 1.1, and so
PyYAML, does not."""
_MAX_CACHED_TEXTS = 10_000
"""Cached texts. Names of nodes and verdicts recur, names of pods do not."""


def yaml_stream(document: object, blocks: bool = False) -> Iterator[yaml.Event]:
    """The event stream of one document in block style, without aliases; `document` consists of JSON types. `blocks`:
    write multi-line texts as literal blocks where possible."""
    yield make.StreamStartEvent()
    yield make.DocumentStartEvent(explicit=False)
    yield from _EventWalker(blocks).walk(document)
    yield make.DocumentEndEvent(explicit=False)
    yield make.StreamEndEvent()


class _EventWalker:
    """Caches the scalar event of each text: resolving its style is most of the work."""

    def __init__(self, blocks: bool) -> None:
        self._blocks = blocks
        self._resolve: Callable[..., str] = yaml.resolver.Resolver().resolve
        self._float = yaml.representer.SafeRepresenter().represent_float
        self._text_events: dict[str, yaml.Event] = {}

    def walk(self, value: object) -> Iterator[yaml.Event]:
        if isinstance(value, dict):
            yield make.MappingStartEvent(None, None, True, flow_style=False)
            for key, item in value.items():
                yield self._text(key)
                yield from self.walk(item)
            yield make.MappingEndEvent()
        elif isinstance(value, (list, tuple)):
            yield make.SequenceStartEvent(None, None, True, flow_style=False)
            for item in value:
                yield from self.walk(item)
            yield make.SequenceEndEvent()
        elif isinstance(value, str):
            yield self._text(value)
        else:
            yield make.ScalarEvent(None, None, (True, False), self._scalar_text(value))

    def _text(self, text: str) -> yaml.Event:
        """Plain style where a YAML reader takes the text for a string, else quoted."""
        event = self._text_events.get(text)
        if event is None:
            plain = self._resolve(yaml.ScalarNode, text, (True, False)) == _TEXT and not NUMBER.fullmatch(text)
            style = "|" if self._blocks and "\n" in text else None
            event = make.ScalarEvent(None, None, (plain, True), text, style=style)
            if len(self._text_events) >= _MAX_CACHED_TEXTS:
                self._text_events.clear()
            self._text_events[text] = event
        return event

    def _scalar_text(self, value: object) -> str:
        if value is None:
            return "null"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float):
            return str(self._float(value).value)
        raise TypeError(f"{type(value).__name__} has no JSON form")
