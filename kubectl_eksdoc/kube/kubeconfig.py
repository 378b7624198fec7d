"""Kubeconfig files, found and merged as kubectl does it.

Source: client-go `clientcmd`: ``--kubeconfig`` alone, else every existing file of ``$KUBECONFIG``, else
``~/.kube/config``. The first file that has an entry of a name wins it whole; the first that says
`current-context` wins that. Relative paths belong to the folder of the file they stand in.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kubectl_eksdoc.errors import ConfigError
from kubectl_eksdoc.files import opened
from kubectl_eksdoc.kube.surroundings import Surroundings
from kubectl_eksdoc.yaml_events import DEEPEST, events_of, reason

_KINDS = {"clusters": "cluster", "contexts": "context", "users": "user"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One named cluster, context or user as its file has it; `folder` is where relative paths start."""

    fields: Mapping[str, Any] = field(repr=False)
    file: str = ""
    folder: str = ""


_LARGEST = 16 << 20
"""Characters: ten thousand clusters, each with its certificates."""
_SHORT = 10_000
_FAR_IN = re.compile(r"^[ ?:-]{100}", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """`files` are those that were read; `sought` those that were looked for."""

    sought: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    current_context: str = ""
    clusters: Mapping[str, Entry] = field(default_factory=dict)
    contexts: Mapping[str, Entry] = field(default_factory=dict)
    users: Mapping[str, Entry] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        return not (self.clusters or self.contexts or self.users)


def load(explicit: str, around: Surroundings) -> Kubeconfig:
    """Read and merge; files that do not exist are passed over unless `explicit` names one.

    Raises:
        ConfigError: a file cannot be read or is not a kubeconfig.
    """
    paths = (explicit,) if explicit else _default_paths(around)
    current = ""
    read: list[str] = []
    merged: dict[str, dict[str, Entry]] = {plural: {} for plural in _KINDS}
    for path in paths:
        text = _text(path, must_exist=bool(explicit))
        if text is None:
            continue
        read.append(path)
        document = _parsed(path, text)
        context = document.get("current-context") or ""
        if not isinstance(context, str):
            raise ConfigError(f"kubeconfig {path}: current-context is not a text")
        current = current or context
        for plural, singular in _KINDS.items():
            for name, entry in _entries(document, plural, singular, path).items():
                merged[plural].setdefault(name, entry)
    return Kubeconfig(tuple(paths), tuple(read), current, **merged)


def _default_paths(around: Surroundings) -> tuple[str, ...]:
    listed = around.environ.get("KUBECONFIG", "")
    if listed:
        return tuple(dict.fromkeys(path for path in listed.split(os.pathsep) if path))
    return (os.path.join(around.home, ".kube", "config"),)


def _text(path: str, must_exist: bool) -> str | None:
    try:
        with io.TextIOWrapper(opened(path), encoding="utf-8") as file:
            text = file.read(_LARGEST + 1)
        if len(text) > _LARGEST:
            raise ConfigError(f"kubeconfig {path} is larger than {_LARGEST >> 20} MiB: is it a kubeconfig?")
        return text
    except FileNotFoundError as error:
        if not must_exist:
            return None
        raise ConfigError(f"kubeconfig {path} does not exist") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"kubeconfig {path} is not a text file") from error
    except OSError as error:
        raise ConfigError(f"kubeconfig {path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError("the path of the kubeconfig has a NUL character") from error


def _parsed(path: str, text: str) -> Mapping[str, Any]:
    """One file, by the C loader where there is one: it takes an eighth of the time on a hundred clusters."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        if _may_be_deep(text):
            for _ in events_of(text):
                pass
        document = yaml.load(text, Loader=loader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:  # ValueError: a date that does not exist
        raise ConfigError(f"kubeconfig {path} is not YAML: {reason(error)}") from error
    if document is None:
        return {}  # empty, or comments only
    if not isinstance(document, Mapping):
        raise ConfigError(f"kubeconfig {path} holds no mapping: is it a kubeconfig?")
    return document


def _may_be_deep(text: str) -> bool:
    """So that what is not is parsed once."""
    return len(text) > _SHORT and (text.count("[") + text.count("{") > DEEPEST or _FAR_IN.search(text) is not None)


def _entries(document: Mapping[str, Any], plural: str, singular: str, path: str) -> dict[str, Entry]:
    listed = document.get(plural) or []
    if not isinstance(listed, list):
        raise ConfigError(f"kubeconfig {path}: {plural} is not a list")
    folder = os.path.dirname(os.path.abspath(path))
    found: dict[str, Entry] = {}
    for item in listed:
        name = item.get("name") if isinstance(item, Mapping) else None
        if not isinstance(name, str):
            raise ConfigError(f"kubeconfig {path}: an entry of {plural} has no name")
        fields = item.get(singular) or {}
        if not isinstance(fields, Mapping):
            raise ConfigError(f"kubeconfig {path}: {singular} {name!r} is not a mapping")
        if name in found:
            raise ConfigError(f"kubeconfig {path}: {plural} has {name!r} twice")
        found[name] = Entry(fields, path, folder)
    return found
