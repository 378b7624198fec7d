"""A document in YAML as ``-o yaml`` or a person writes it: plain mappings, lists, texts and numbers, nothing else.

It is built from the parser's events, without recursion: libyaml's own loader crashes on what is nested too deeply, and
aliases would make a huge document of a short text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from kubectl_eksdoc.host.documents.fields import short
from kubectl_eksdoc.yaml_events import events_of, reason

if TYPE_CHECKING:
    from yaml.events import Event

_BEGIN = re.compile(rb"\s*(---|#|[A-Za-z]+:\s)")
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
"""By which UTF-8 of Windows and UTF-16 begin."""

_WORDS: dict[str, object] = {"null": None, "~": None, "": None, "true": True, "false": False}
_WHOLE = re.compile(r"[-+]?[0-9]{1,30}")
_NUMBER = re.compile(r"[-+]?([0-9]{1,30}(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")
_MERGED = "<<"
_TAGS = (None, "!", "tag:yaml.org,2002:str")
"""None, or that it is a text, which it is anyhow."""

_Open: TypeAlias = "dict[str, object] | list[object]"


def looks_like_yaml(content: bytes) -> bool:
    """True for text that begins with ``key: ``: what is JSON, or binary, is something else."""
    for mark in _MARKS:
        content = content.removeprefix(mark)
    return _BEGIN.match(content[:4096].replace(b"\0", b"")) is not None


def hand_written(text: str) -> object:
    """What a short file holds that somebody has written by hand, in YAML or JSON. Raises: as `plain_yaml`."""
    # JSON is YAML, but for tabs, which some write into it.
    try:
        return plain_yaml(text.replace("\t", " ").encode("utf-8", "surrogatepass"))
    except ValueError as error:
        raise ValueError(short(str(error))) from error


def plain_yaml(content: bytes) -> object:
    """None where there is nothing in it.

    Raises:
        ValueError: it is not YAML, or more of YAML than plain values; the message is one line.
    """
    return _read(content, None)


def yaml_as_go_reads_it(content: bytes) -> object:
    """As `plain_yaml`, and with aliases (``*name``, ``<<: *name``), which are one object in several places, so that
    whoever reads it must not walk through all of it; of several documents the first one.

    Raises:
        ValueError: as `plain_yaml`, or an alias leads nowhere, or into itself.
    """
    return _read(content, {})


def _read(content: bytes, named: dict[str, object] | None) -> object:
    import yaml

    events = events_of(content)
    try:
        return _built(events if named is None else _first(events), named)
    except yaml.YAMLError as error:
        raise ValueError(reason(error)) from error


def _first(events: Iterable[Event]) -> Iterator[Event]:
    """Those of the first document: what is behind it is not even looked at."""
    import yaml

    for event in events:
        yield event
        if isinstance(event, yaml.DocumentEndEvent):
            return


def _built(events: Iterable[Event], named: dict[str, object] | None) -> object:
    """`named`: what aliases lead to, filled on the way; None where none are read."""
    import yaml

    open_ones: list[_Open] = []
    keys: list[str | None] = []
    whole: list[object] = []
    for event in events:
        if isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            closed = open_ones.pop()
            keys.pop()
            if named is not None and isinstance(closed, dict) and _MERGED in closed:
                _merge(closed)
        elif isinstance(event, yaml.NodeEvent):
            alias = named is not None and isinstance(event, yaml.AliasEvent)
            value = _of_alias(event, named or {}, open_ones) if alias else _value(event)
            _put(value, event, open_ones[-1] if open_ones else whole, keys)
            if named is not None and not alias and event.anchor:
                named[event.anchor] = value
            if isinstance(value, (dict, list)) and not alias:
                open_ones.append(value)
                keys.append(None)
    if len(whole) > 1:
        raise ValueError(f"it holds {len(whole)} documents")
    return whole[0] if whole else None


def _of_alias(event: Event, named: Mapping[str, object], open_ones: Iterable[_Open]) -> object:
    anchor: str = getattr(event, "anchor", "")
    if anchor not in named:
        raise ValueError(f"*{short(anchor)} leads nowhere")
    if any(named[anchor] is each for each in open_ones):
        raise ValueError(f"*{short(anchor)} stands in what it leads to")
    return named[anchor]


def _merge(into: dict[str, object]) -> None:
    """What is behind ``<<`` stands for what is not there itself."""
    merged = into.pop(_MERGED)
    for each in merged if isinstance(merged, list) else [merged]:
        if not isinstance(each, dict):
            raise ValueError("<< stands before what is no object")
        for key, value in each.items():
            into.setdefault(key, value)


def _put(value: object, event: Event, into: _Open, keys: list[str | None]) -> None:
    """The key that waits for its value is the last of `keys`."""
    if isinstance(into, list):
        into.append(value)
    elif keys[-1] is not None:
        into[keys[-1]] = value
        keys[-1] = None
    else:
        text = getattr(event, "value", None)
        if not isinstance(text, str):
            raise ValueError("a key of it is no text")
        if text in into:
            # YAML forbids it: of two values the one that stands first would be passed over.
            raise ValueError(f"{short(text)!r} is twice in one object")
        keys[-1] = text


def _value(event: Event) -> object:
    import yaml

    if getattr(event, "tag", None) not in _TAGS:
        raise ValueError("it has tags (!name), which are not read")
    if isinstance(event, yaml.MappingStartEvent):
        return {}
    if isinstance(event, yaml.SequenceStartEvent):
        return []
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event.value) if event.implicit[0] and event.tag is None else event.value
    raise ValueError("it has aliases (*name), which are not read")


def _scalar(text: str) -> object:
    """As the core schema of YAML 1.2 has it, but for what JSON has not."""
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text
