"""Reads YAML in tests, by the C loader: the Python one takes five times as long, and was most of many a test."""

from __future__ import annotations

from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def yaml_of(text: str | bytes) -> Any:
    """The one document of `text`."""
    return yaml.load(text, Loader=_LOADER)


def yaml_documents(text: str | bytes) -> list[Any]:
    """All documents of `text`."""
    return list(yaml.load_all(text, Loader=_LOADER))
