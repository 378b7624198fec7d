"""Lists of a live cluster of which the server sends the metadata alone.

Source: kubernetes.io, "Kubernetes API Concepts" (alternate representations; PartialObjectMetadata): every resource has
it, and no right is needed but that to list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.kube.answers import Expired, NotServed, Refused
from kubectl_eksdoc.kube.paging import Paging
from kubectl_eksdoc.kube.transport import Transport
from kubectl_eksdoc.objects.single import NoJson, decode

VERB = "list"
ACCEPT = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_KIND = "PartialObjectMetadataList"
_HINT = "Is this the address of a Kubernetes API?"


def listed(
    transport: Transport, resource: Resource, page: int, query: Mapping[str, str] | None = None, namespace: str = ""
) -> Iterator[Doc]:
    """Of that namespace, or over all of them, page by page, in the newest version that is served, which is that of
    ``apiVersion``. A page is asked for when the one before it is used up.

    Raises:
        NotServed: in none.
        Forbidden, Refused, Expired, Unauthorized, Unreachable: as `Transport.get`.
    """
    whole = query or {}
    limited = {**whole, "limit": str(page)}
    paging = Paging(resource.full_name)
    form, (items, token, size) = _first(transport, resource, limited, namespace)
    while True:
        paging.check(token, len(items), size)
        with transport.counted():
            yield from items
            if not token:
                return
            try:
                items, token, size = _page(transport, form, {**limited, "continue": token}, namespace)
            except Expired:  # what comes in one answer cannot expire; what came before comes again
                items, token, size = _page(transport, form, whole, namespace)


def _first(
    transport: Transport, resource: Resource, query: Mapping[str, str], namespace: str
) -> tuple[Resource, tuple[list[Doc], str, int]]:
    """In the newest version that is served."""
    *newer, oldest = resource.versions
    for form in newer:
        with suppress(NotServed):
            return form, _page(transport, form, query, namespace)
    return oldest, _page(transport, oldest, query, namespace)


def _page(transport: Transport, form: Resource, query: Mapping[str, str], namespace: str) -> tuple[list[Doc], str, int]:
    """Its objects, the token of the next one, and its bytes."""
    right = f"{VERB} {form.full_name}"
    body = transport.get(form.path_in(namespace), query, right, accept=ACCEPT).body
    try:
        page = decode(body)
    except NoJson as error:
        raise Refused(f"the answer to {right} is no JSON: {error}", _HINT) from error
    if not isinstance(page, dict) or not isinstance(items := page.get("items") or [], list):
        raise Refused(f"the answer to {right} is no list", _HINT)
    if page.get("kind") != _KIND:
        raise Refused(f"the server does not answer {right} with metadata alone", _HINT)
    if not all(isinstance(each, dict) for each in items):
        raise Refused(f"the answer to {right} is no list of objects", _HINT)
    token = at(page, "metadata", "continue")
    docs = [{**each, "kind": form.kind, "apiVersion": form.api_version} for each in items]
    return docs, token if isinstance(token, str) else "", len(body)
