"""``/openapi/v3`` and its documents, as far as kubectl reads them before it writes.

kubectl 1.29 to 1.33 asks one question of them (cli-runtime, resource/query_param_verifier_v3.go): whether the PATCH of
the kind takes `fieldValidation`. If so the server validates, which it must for ``apply --server-side``; if not, kubectl
wants the whole schema and refuses what it cannot check. So each document has the paths of its resources with their
PATCH, the parameters of that, and no schemas: ``kubectl explain`` finds nothing, and ``kubectl apply`` takes the merge
keys it was built with, because no PATCH here declares a strategic merge.

kubectl 1.27 and 1.28 ask ``/openapi/v2``, which is not here: they apply with ``--validate=false``.
"""

from __future__ import annotations

import hashlib

from kubectl_eksdoc.embedded.api.catalogue import Catalogue
from kubectl_eksdoc.embedded.api.resources import Served
from kubectl_eksdoc.model.api_objects import Doc

PARAMETERS = {
    "pretty": "string",
    "dryRun": "string",
    "fieldManager": "string",
    "fieldValidation": "string",
    "force": "boolean",
}
_OTHER_PATHS = (".well-known/openid-configuration", "api", "apis", "openid/v1/jwks", "version")


def index(catalogue: Catalogue) -> Doc:
    """The body of ``/openapi/v3``: where each document is.

    The addresses change with what is behind them: clients keep a document as long as its address stays.
    """
    return {"paths": {path: {"serverRelativeURL": _address(catalogue, path)} for path in sorted(_paths(catalogue))}}


def document(catalogue: Catalogue, path: str) -> Doc | None:
    """The body of ``/openapi/v3/{path}``, as ``apis/apps/v1``; None where `index` does not have it."""
    if path not in _paths(catalogue):
        return None
    group, version = _group_version(path)
    resources = catalogue.resources(group, version) if version else ()
    paths: Doc = {object_path(served): _operations(served) for served in resources if "patch" in served.verbs}
    return {"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "unversioned"}, "paths": paths}


def _paths(catalogue: Catalogue) -> set[str]:
    """A group has a document of its own when it is built in; one of custom resources has those of its versions."""
    built_in = {f"apis/{served.group}" for served in catalogue.served if served.group and not served.custom}
    return {*_OTHER_PATHS, *built_in, *(served.root[1:] for served in catalogue.served)}


def _group_version(path: str) -> tuple[str, str]:
    """Group and version of ``api/v1`` and ``apis/apps/v1``; both empty where the path names no version."""
    match path.split("/"):
        case ["api", version]:
            return "", version
        case ["apis", group, version]:
            return group, version
    return "", ""


def _address(catalogue: Catalogue, path: str) -> str:
    digest = hashlib.sha512(repr(document(catalogue, path)).encode()).hexdigest().upper()
    return f"/openapi/v3/{path}?hash={digest}"


def object_path(served: Served) -> str:
    """The path of a resource's objects, with the names of its parameters."""
    return f"{served.root}/{'namespaces/{namespace}/' if served.namespaced else ''}{served.plural}/{{name}}"


def _operations(served: Served) -> Doc:
    in_path = ["name", "namespace"] if served.namespaced else ["name"]
    return {
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in in_path
        ],
        "patch": {
            "parameters": [{"name": n, "in": "query", "schema": {"type": type_}} for n, type_ in PARAMETERS.items()],
            "responses": {"200": {"description": "OK"}, "201": {"description": "Created"}},
            "x-kubernetes-action": "patch",
            "x-kubernetes-group-version-kind": {
                "group": served.group,
                "version": served.version,
                "kind": served.kind,
            },
        },
    }
