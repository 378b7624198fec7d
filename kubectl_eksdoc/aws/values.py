"""Configuration values of add-ons, and the schemas they are held to, from the text that EKS keeps of them.

Values are JSON or YAML (DescribeAddon's ``configurationValues``). YAML is read as its JSON would be: times stay text,
names are text whatever they look like, no tag makes an object, and aliases, with which a small text becomes a huge
document, are not read. Schemas are JSON (DescribeAddonConfiguration's ``configurationSchema``).
"""

from __future__ import annotations

import json
import math
from typing import Any

import yaml

from kubectl_eksdoc.errors import ValuesError
from kubectl_eksdoc.kubernetes.keeping import has_digest
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.yaml_events import reason

DEEPEST = 100
LONGEST = 1_000_000
"""Characters. No Kubernetes object is as large as what these make, and no published schema comes near it."""

ONLY_DIGESTS = Unknown("a part of these configuration values is kept as digests only, as a snapshot keeps it")
_HINT = 'give an object such as {"env": {"ENABLE_POD_ENI": "true"}}, in JSON or in YAML'


class _NotReadable(ValueError):
    """Why, in a clause."""


def values_of(text: str) -> Doc:
    """What is configured. "" is not read here: it is nothing that was given, while ``{}`` gives nothing.

    Raises:
        ValuesError: it is no object in JSON or YAML, or names a key twice, or uses what is not read here.
    """
    try:
        return _object(_decoded(text))
    except _NotReadable as error:
        raise ValuesError(f"these configuration values cannot be read: {error}", _HINT) from error


def kept_values(text: str) -> Doc | Unknown:
    """Of what EKS or a snapshot says is configured; {} for nothing."""
    if not text.strip():
        return {}
    try:
        values = values_of(text)
    except ValuesError as error:
        return Unknown(error.message)
    return ONLY_DIGESTS if has_digest(values) else values


def schema_of(text: str) -> Doc | Unknown:
    """The JSON Schema, decoded but not judged."""
    return document_of(text, "the configuration schema")


def document_of(text: str, what: str) -> Doc | Unknown:
    """A JSON object, as policies and the patterns of rules are; `what` it is is named where it cannot be read."""
    try:
        return _object(_json(text))
    except _NotReadable as error:
        return Unknown(f"{what} cannot be read: {error}")


def _decoded(text: str) -> Any:
    try:
        return _json(text)
    except _NotReadable as error:
        if isinstance(error.__cause__, json.JSONDecodeError):
            return _yaml(text)
        raise


def _object(value: Any) -> Doc:
    if not isinstance(value, dict):
        raise _NotReadable(f"it is no object but {_kind(value)}")
    return value


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    return {bool: "true or false", str: "a text", list: "a list"}.get(type(value), "a number")


def _json(text: str) -> Any:
    """
    Raises:
        _NotReadable: from a JSONDecodeError where it is no JSON at all.
    """
    if len(text) > LONGEST:
        raise _NotReadable(f"it is longer than {LONGEST} characters")
    try:
        return _as_json(json.loads(text, object_pairs_hook=_once_each), DEEPEST)
    except _NotReadable:
        raise
    except (ValueError, RecursionError) as error:
        raise _NotReadable(f"it is no JSON: {error}") from error


def _once_each(pairs: list[tuple[str, Any]]) -> Doc:
    found: Doc = {}
    for key, value in pairs:
        if key in found:
            raise _NotReadable(f"the key {key!r} is in one object twice")
        found[key] = value
    return found


class _Loader(yaml.SafeLoader):
    """Without times, aliases and merges, and with every key once."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise _NotReadable("it has aliases, which are not read here")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        return _once_each([(self._name(key), self.construct_object(value, deep=True)) for key, value in node.value])

    def _name(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise _NotReadable("a key is no text")
        return str(node.value)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in resolvers if tag.rpartition(":")[2] not in ("timestamp", "merge", "value")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _yaml(text: str) -> Any:
    try:
        return _as_json(yaml.load(text, Loader=_Loader), DEEPEST)
    except _NotReadable:
        raise
    except (yaml.YAMLError, RecursionError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise _NotReadable(f"it is neither JSON nor YAML: {reason(error)}") from error


def _as_json(value: Any, deepest: int) -> Any:
    if deepest < 0:
        raise _NotReadable(f"it is deeper than {DEEPEST} levels")
    if isinstance(value, dict):
        return {key: _as_json(each, deepest - 1) for key, each in value.items()}
    if isinstance(value, list):
        return [_as_json(each, deepest - 1) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise _NotReadable(f"JSON has no number {value}")
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise _NotReadable(f"a {type(value).__name__} is not read here")
