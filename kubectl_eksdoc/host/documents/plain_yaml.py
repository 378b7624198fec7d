"""A document in YAML as ``-o yaml`` or a person writes it: plain mappings, lists, texts and numbers, nothing else.

It is built from the parser's events, without recursion: libyaml's own loader crashes on what is nested too deeply, and
aliases would make a huge document of a short text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

from kubectl_eksdoc.host.documents.fields import short

if TYPE_CHECKING:
    from yaml.events import Event

_BEGIN = re.compile(rb"\s*(---|#|[A-Za-z]+:\s)")
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
"""By which UTF-8 of Windows and UTF-16 begin."""

_WORDS: dict[str, object] = {"null": None, "~": None, "": None, "true": True, "false": False}
_WHOLE = re.compile(r"[-+]?[0-9]{1,30}")
_NUMBER = re.compile(r"[-+]?([0-9]{1,30}(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")
_DEEPEST = 100
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
    import yaml

    try:
        return _built(yaml.parse(content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error


def _built(events: Iterable[Event]) -> object:
    import yaml

    open_ones: list[_Open] = []
    keys: list[str | None] = []
    whole: list[object] = []
    for event in events:
        if isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            open_ones.pop()
            keys.pop()
        elif isinstance(event, yaml.NodeEvent):
            if len(open_ones) >= _DEEPEST:
                raise ValueError("it is nested too deeply")
            value = _value(event)
            _put(value, event, open_ones[-1] if open_ones else whole, keys)
            if isinstance(value, (dict, list)):
                open_ones.append(value)
                keys.append(None)
    if len(whole) > 1:
        raise ValueError(f"it holds {len(whole)} documents")
    return whole[0] if whole else None


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
