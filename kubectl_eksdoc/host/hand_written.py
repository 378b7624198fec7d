"""A short YAML or JSON file that somebody has written by hand, as plain values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from kubectl_eksdoc.host.fields import short

_TIMESTAMP = "tag:yaml.org,2002:timestamp"


class NotPlain(ValueError):
    """It is neither YAML nor JSON; the message is the first line of why."""


def hand_written(text: str) -> object:
    """What it holds, None where it is empty. Without aliases, by which a short text becomes a huge document; days stay
    text.

    Raises:
        NotPlain: it cannot be read.
    """
    import yaml

    try:
        # JSON is YAML, but for tabs, which some write into it.
        found: object = yaml.load(text.replace("\t", " "), Loader=_loader())
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise NotPlain(_first_line(error)) from error
    return found


def _loader() -> type:
    import yaml

    class Plain(yaml.SafeLoader):
        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError("it has aliases (*name), which are not read")
            found: yaml.Node | None = super().compose_node(parent, index)
            return found

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
            """YAML forbids what PyYAML takes: of two values the one that stands first would be passed over."""
            names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            twice = next((name for name, times in Counter(names).items() if times > 1), None)
            if twice is not None:
                raise yaml.YAMLError(f"{short(twice)!r} is twice in one object")
            return super().construct_mapping(node, deep)

    Plain.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return Plain


def _first_line(error: BaseException) -> str:
    return short(" ".join(str(error).split()))
