"""Names of what a live cluster has, for completion: one short question each, whose answer has metadata alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import islice
from urllib.parse import quote

from kubectl_eksdoc.errors import EksdocError
from kubectl_eksdoc.kube.config import connect
from kubectl_eksdoc.kube.exchanges import RetryPolicy
from kubectl_eksdoc.kube.journal.runs import HEAD, PART_LABEL, RUN_LABEL
from kubectl_eksdoc.kube.single_objects import listed
from kubectl_eksdoc.kube.target import CredentialContext
from kubectl_eksdoc.kube.transport import Transport
from kubectl_eksdoc.model import kinds, names
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.names import Name, NameKind

MOST = 500
"""So many are asked for, and no more: who has more types a letter, and the shell would ask first anyway."""

_PATIENCE = RetryPolicy(tries=1, tries_to_connect=1, connect=5.0, silence=8.0)


def names_of(connection: Connection, kind: NameKind, namespace: str, around: CredentialContext) -> tuple[Name, ...]:
    """`namespace`: of pods and runs, "" for that of the context.

    Raises:
        EksdocError: they cannot be had.
    """
    access = connect(connection, around)
    with closing(Transport(access, _PATIENCE)) as transport:
        if kind in (NameKind.PODS, NameKind.RUNS):
            namespace = namespace or access.target.namespace or "default"
        return asked_of(transport, kind, namespace)


def asked_of(transport: Transport, kind: NameKind, namespace: str) -> tuple[Name, ...]:
    """Raises: as `names_of`."""
    if kind is NameKind.NODES:
        return names.of_nodes((_name(doc), _labels(doc)) for doc in _some(transport, kinds.NODES))
    if kind is NameKind.NODE_GROUPS:
        return names.of_groups(map(_labels, _some(transport, kinds.NODES)), _pools(transport))
    if kind is NameKind.RUNS:
        return _runs(transport, namespace)
    if kind is NameKind.PODS:
        return _plain(map(_name, _some(transport, kinds.PODS, namespace)))
    if kind is NameKind.NAMESPACES:
        return _plain(map(_name, _some(transport, kinds.NAMESPACES)))
    if kind in (NameKind.PODS_ANYWHERE, NameKind.BUDGETS):
        return _plain(map(_whole, _some(transport, kinds.BUDGETS if kind is NameKind.BUDGETS else kinds.PODS)))
    return ()  # the cluster does not know them


def _some(transport: Transport, resource: Resource, namespace: str = "", **query: str) -> Iterator[Doc]:
    return islice(listed(transport, resource, MOST, query, quote(namespace, safe="")), MOST)


def _pools(transport: Transport) -> list[str]:
    """None where there is no Karpenter, or they may not be listed: those that have nodes are known by these."""
    try:
        return [name for name in map(_name, _some(transport, kinds.NODE_POOLS)) if name]
    except EksdocError:
        return []


def _runs(transport: Transport, namespace: str) -> tuple[Name, ...]:
    """The latest first."""
    heads = _some(transport, kinds.CONFIG_MAPS, namespace, labelSelector=f"{PART_LABEL}={HEAD}")
    found = {_labels(doc).get(RUN_LABEL, ""): _text(doc, "creationTimestamp") for doc in heads}
    runs = sorted(found.items(), key=lambda each: each[1], reverse=True)
    return tuple(Name(run, f"begun {begun}" if begun else "") for run, begun in runs if run)


def _plain(found: Iterator[str]) -> tuple[Name, ...]:
    return tuple(Name(each) for each in sorted(set(found)) if each)


def _text(doc: Doc, key: str) -> str:
    value = at(doc, "metadata", key)
    return value if isinstance(value, str) else ""


def _name(doc: Doc) -> str:
    return _text(doc, "name")


def _whole(doc: Doc) -> str:
    namespace, name = _text(doc, "namespace"), _name(doc)
    return f"{namespace}/{name}" if namespace and name else ""


def _labels(doc: Doc) -> Mapping[str, str]:
    labels = at(doc, "metadata", "labels")
    if not isinstance(labels, dict):
        return {}
    return {key: value for key, value in labels.items() if isinstance(key, str) and isinstance(value, str)}
