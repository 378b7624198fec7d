"""Read YAML in tests with the C loader: the Python loader takes five times as long, and was most of the time of many
tests."""

from __future__ import annotations

import json
from typing import Any

import yaml

from kubectl_eksdoc.report.encode import to_json
from kubectl_eksdoc.report.result import Printed, to_json_types

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def yaml_of(text: str | bytes) -> Any:
    """The only document of `text`."""
    return yaml.load(text, Loader=_LOADER)


def yaml_documents(text: str | bytes) -> list[Any]:
    """All documents of `text`."""
    return list(yaml.load_all(text, Loader=_LOADER))


def printed(result: Printed) -> Any:
    """The value that a reader of its JSON gets."""
    return json.loads(to_json(to_json_types(result)))
