"""The fields that can hold a secret, each with what is kept of it. Whatever is not of the form that Kubernetes gives it
is left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from kubectl_eksdoc.core.rules.keeping.keys import Keep
from kubectl_eksdoc.objects.keeping.shapes import MOST

_PORTS = ("port", "scheme", "host", "service")


def cleaners(keep: Keep) -> Mapping[str, Callable[[Any], Any]]:
    """By the names that shapes use."""
    over = _Cleaners(keep)
    return {
        "labels": lambda given: over.texts(given, lambda _, value: keep.form(value)),
        "message": lambda given: keep.text(given) if isinstance(given, str) else None,
        "annotations": lambda given: over.texts(given, keep.annotation),
        "data": lambda given: over.texts(given, keep.config_value),
        "variables": over.variables,
        "words": over.words,
        "probe": over.handler,
        "lifecycle": over.lifecycle,
        "url": lambda given: keep.url(given) if isinstance(given, str) else None,
    }


def told(keep: Keep) -> Callable[[bytes], bytes]:
    """Of JSON, such as conditions, with what may be kept of the messages in it. Most of it has none: then it is not
    even decoded."""
    known: dict[str, str] = {}

    def message(text: str) -> str:
        if text not in known:
            if len(known) >= MOST:
                known.clear()
            known[text] = keep.text(text)
        return known[text]

    def below(given: Any) -> Any:
        if isinstance(given, list):
            return [below(each) for each in given]
        if not isinstance(given, dict):
            return given
        return {
            key: message(each) if key == "message" and isinstance(each, str) else below(each)
            for key, each in given.items()
        }

    def cleaned(raw: bytes) -> bytes:
        return msgspec.json.encode(below(msgspec.json.decode(raw))) if b'"message"' in raw else raw

    return cleaned


class _Cleaners:
    def __init__(self, keep: Keep) -> None:
        self._keep = keep

    @staticmethod
    def texts(given: Any, kept: Callable[[str, str], str]) -> Any:
        pairs = given.items() if isinstance(given, dict) else ()
        return {key: kept(key, value) for key, value in pairs if isinstance(value, str)}

    def variables(self, given: Any) -> Any:
        return [self._variable(each) for each in given if isinstance(each, dict)] if isinstance(given, list) else []

    def _variable(self, given: dict[str, Any]) -> dict[str, Any]:
        name, value = given.get("name"), given.get("value")
        kept: dict[str, Any] = {key: given[key] for key in ("name", "valueFrom") if key in given}
        if isinstance(value, str):
            kept["value"] = self._keep.variable(name if isinstance(name, str) else "", value)
        return kept

    def words(self, given: Any) -> Any:
        return self._keep.words([str(each) for each in given]) if isinstance(given, list) else []

    def handler(self, given: Any) -> Any:
        """A probe, or what is done at a point of a container's life."""
        if not isinstance(given, dict):
            return None
        kept = {key: each for key, each in given.items() if key not in ("exec", "httpGet")}
        if isinstance(given.get("exec"), dict):
            kept["exec"] = {"command": self.words(given["exec"].get("command"))}
        if isinstance(said := given.get("httpGet"), dict):
            kept["httpGet"] = {key: said[key] for key in _PORTS if key in said}
            if isinstance(path := said.get("path"), str):
                kept["httpGet"]["path"] = self._keep.path(path)
        return kept

    def lifecycle(self, given: Any) -> Any:
        points = given.items() if isinstance(given, dict) else ()
        return {point: self.handler(each) if isinstance(each, dict) else each for point, each in points}
