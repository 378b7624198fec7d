"""Documents of a dump that has lost its uids, each with one again, and their references with those they mean.

The simulated cluster tells objects apart by uid; without any, all of them would be one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubectl_eksdoc.core.model.api_objects import Doc, at, with_value
from kubectl_eksdoc.objects.identities import identity_of

_REFERENCES = (("spec", "claimRef"),)
"""Where an object means another one of its dump beside its owners, and a pod behind a service."""

_Name = tuple[str, str, str]
"""Kind, namespace and name."""


def identified(docs: Iterable[Doc]) -> list[Doc]:
    """`docs` as they are where each has a uid. Else those without get one, and references follow names."""
    docs = list(docs)
    if all(at(doc, "metadata", "uid") for doc in docs):
        return docs
    uids = {_name_of(doc): str(at(doc, "metadata", "uid") or identity_of(*_name_of(doc))) for doc in docs}
    return [_linked(doc, uids) for doc in docs]


def _linked(doc: Doc, uids: dict[_Name, str]) -> Doc:
    namespace = _name_of(doc)[1]
    made = with_value(doc, ("metadata", "uid"), uids[_name_of(doc)])
    owners = at(doc, "metadata", "ownerReferences")
    if isinstance(owners, list):
        made = with_value(made, ("metadata", "ownerReferences"), [_meant(each, namespace, uids) for each in owners])
    for path in _REFERENCES:
        if isinstance(at(doc, *path), dict):
            made = with_value(made, path, _meant(at(doc, *path), namespace, uids))
    if isinstance(doc.get("endpoints"), list):
        made = {**made, "endpoints": [_behind(each, namespace, uids) for each in doc["endpoints"]]}
    return made


def _behind(endpoint: Any, namespace: str, uids: dict[_Name, str]) -> Any:
    if not isinstance(endpoint, dict) or not isinstance(endpoint.get("targetRef"), dict):
        return endpoint
    return {**endpoint, "targetRef": _meant(endpoint["targetRef"], namespace, uids)}


def _meant(reference: Any, namespace: str, uids: dict[_Name, str]) -> Any:
    """`reference` with the uid of what it names: in its namespace, else cluster-wide, else one that nothing has."""
    if not isinstance(reference, dict):
        return reference
    kind, name = str(reference.get("kind") or ""), str(reference.get("name") or "")
    namespace = str(reference.get("namespace") or namespace)
    there = uids.get((kind, namespace, name)) or uids.get((kind, "", name))
    return {**reference, "uid": there or reference.get("uid") or identity_of(kind, namespace, name)}


def _name_of(doc: Doc) -> _Name:
    return (
        str(doc.get("kind") or ""),
        str(at(doc, "metadata", "namespace") or ""),
        str(at(doc, "metadata", "name") or ""),
    )
