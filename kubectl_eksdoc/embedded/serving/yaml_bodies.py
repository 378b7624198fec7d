"""Bodies in YAML as their JSON would be: what people write by hand and send with curl.

As sigs.k8s.io/yaml reads them: times stay text, names are text whatever they look like. Aliases, with which a small
text becomes a huge object, are not read.
"""

from __future__ import annotations

from typing import Any

import yaml

DEEPEST = 200


class NoYaml(ValueError):
    """It is no YAML, or not all of it is read here."""


class _Loader(yaml.SafeLoader):
    """Without times."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise NoYaml("aliases are not read here")
        return super().compose_node(parent, index)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def decode(body: bytes) -> Any:
    """
    Raises:
        NoYaml
    """
    try:
        return _as_json(yaml.load(body, Loader=_Loader), DEEPEST)
    except (yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
        raise NoYaml(" ".join(str(error).split())) from error


def _as_json(value: Any, deepest: int) -> Any:
    if deepest < 0:
        raise NoYaml("it is too deep")
    if isinstance(value, dict):
        return {_name(key): _as_json(each, deepest - 1) for key, each in value.items()}
    if isinstance(value, list):
        return [_as_json(each, deepest - 1) for each in value]
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise NoYaml(f"a {type(value).__name__} is not read here")


def _name(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, (str, int, float)):
        return str(key)
    raise NoYaml("a name is no text")
