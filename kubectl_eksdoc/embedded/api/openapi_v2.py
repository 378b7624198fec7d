"""``/openapi/v2`` as protobuf: kubectl before 1.29 asks it what `openapi` answers later ones.

It looks for the PATCH of the kind it is about to write, by ``x-kubernetes-group-version-kind``, and whether that takes
`fieldValidation` (cli-runtime, resource/query_param_verifier.go). So this has these PATCHes and nothing else. Field
numbers are those of gnostic's openapiv2/OpenAPIv2.proto.
"""

from __future__ import annotations

from kubectl_eksdoc.embedded.api.catalogue import Catalogue
from kubectl_eksdoc.embedded.api.openapi import PARAMETERS, object_path
from kubectl_eksdoc.embedded.api.resources import Served

CONTENT_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""Clients ask for it with an @ in it, which no media type may have."""


def document(catalogue: Catalogue) -> bytes:
    """The body of ``/openapi/v2``: an `openapi.v2.Document`."""
    info = _text(1, "Kubernetes") + _text(2, "unversioned")
    paths = b"".join(_field(2, _path(served)) for served in catalogue.served if "patch" in served.verbs)
    return _text(1, "2.0") + _field(2, info) + _field(8, paths)


def _path(served: Served) -> bytes:
    """A `NamedPathItem` with a PATCH."""
    kind = f'group: "{served.group}"\nkind: {served.kind}\nversion: {served.version}\n'
    extension = _text(1, "x-kubernetes-group-version-kind") + _field(2, _text(2, kind))
    parameters = b"".join(_field(8, _parameter(name, type_)) for name, type_ in PARAMETERS.items())
    patch = parameters + _field(13, extension)
    return _text(1, object_path(served)) + _field(2, _field(8, patch))


def _parameter(name: str, type_: str) -> bytes:
    """A `ParametersItem` of the query."""
    in_query = _text(2, "query") + _text(4, name) + _text(6, type_)
    return _field(1, _field(2, _field(3, in_query)))


def _text(number: int, value: str) -> bytes:
    return _field(number, value.encode())


def _field(number: int, value: bytes) -> bytes:
    """One of the wire type that has a length."""
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)
