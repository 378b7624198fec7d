"""Decoding, admission and validation of an object before it is written: only rules that matter for drains, and that
keep unreadable objects out of the store.

Source: pkg/apis/{policy,core,apps}/validation/validation.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from kubectl_eksdoc.kubernetes.api import resources, shapes, workload_validation
from kubectl_eksdoc.kubernetes.api.resources import bad_request
from kubectl_eksdoc.kubernetes.api.workload_validation import REQUIRED, FieldProblem, budget_problems
from kubectl_eksdoc.kubernetes.guards import pod_security_refusal
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from kubectl_eksdoc.objects.single import FactDecoder, InvalidObjectKind, encode
from kubectl_eksdoc.simulator.store import BUDGETS, NAMESPACES, Store

from ..catalogue import DEFINITIONS, missing_definition_fields
from .bodies import check_shape, validation_refusal
from .requests import ServedTarget


def validated(target: ServedTarget, live: Doc | None, doc: Doc) -> Doc:
    """Return the object as it may be written over `live` (None: it is new).

    Raises:
        ApiRefusal: 400 and 422.
    """
    check_shape(shapes.resource_shape(target.resource), doc, target.served.kind, target.served.version)
    if live is None:
        _check_name(target, doc)
    _check_required(target, doc)
    _check_readable(target, doc)
    budgeted = budget_problems(doc.get("spec") or {}) if target.resource == BUDGETS else ()
    if not target.subresource and (problems_found := [*budgeted, *validation_problems(target.resource, live, doc)]):
        raise validation_refusal(target.served, str(nested_field(doc, "metadata", "name") or ""), problems_found)
    return doc


_CONDITIONAL = (
    BUDGETS,
    DEFINITIONS,
    "leases.coordination.k8s.io",
    "csinodes.storage.k8s.io",
    "volumeattachments.storage.k8s.io",
)
"""Kinds that can only be updated with a known version, besides all custom kinds (AllowUnconditionalUpdate)."""


def check_unconditional(target: ServedTarget) -> None:
    """Check whether an update may omit the version; holders that compete for a lease must not.

    Raises:
        ApiRefusal: 422.
    """
    if target.resource in _CONDITIONAL or target.served.custom:
        # The storage layer uses the resource in place of the kind (store.go, Update).
        named = replace(target.served, kind=target.served.plural)
        raise validation_refusal(
            named, target.name, [FieldProblem("metadata.resourceVersion", 0, "must be specified for an update")]
        )


def validation_problems(resource: str, live: Doc | None, doc: Doc) -> tuple[FieldProblem, ...]:
    """Return the validation problems of `doc` when it is written over `live` (None: it is new)."""
    if resource == "pods":
        return workload_validation.pod_problems(live, doc)
    return workload_validation.workload_problems(resource, live, doc)


def _check_readable(target: ServedTarget, doc: Doc) -> None:
    """Refuse an object that cannot be decoded as its kind: it would cause errors for good, even when it is deleted.

    Raises:
        ApiRefusal: 400.
    """
    resource = next((each for each in kinds.ALL if each.full_name == target.resource), None)
    if resource is None:
        return
    meta = {"name": "-", **(doc.get("metadata") or {}), "uid": "-"}
    try:
        _facts().fact(resource, encode({**doc, "metadata": meta}))
    except InvalidObjectKind as error:
        kind = target.served.kind
        message = f'{kind} in version "{target.served.version}" cannot be handled as a {kind}: {error}'
        raise bad_request(message) from error


@cache
def _facts() -> FactDecoder:
    return FactDecoder()


_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_NAMED = ("namespaces", "services")
_UNRESTRICTED_NAMES = ".rbac.authorization.k8s.io"
"""Names of roles and bindings only need to be path segments."""


def _check_name(target: ServedTarget, doc: Doc) -> None:
    """A name is a DNS subdomain, of some kinds a label (apimachinery pkg/util/validation/validation.go)."""
    name = str(nested_field(doc, "metadata", "name") or "")
    if not name or target.resource.endswith(_UNRESTRICTED_NAMES):
        return
    if target.resource in _LABEL_NAMED:
        form, max_length, rule_text = _LABEL, 63, _LABEL_RULE
    else:
        form, max_length, rule_text = _SUBDOMAIN, 253, _SUBDOMAIN_RULE
    if len(name) > max_length:
        rule_text = f"must be no more than {max_length} bytes"
    elif form.fullmatch(name):
        return
    raise validation_refusal(target.served, name, [FieldProblem("metadata.name", name, rule_text)])


_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def _check_required(target: ServedTarget, doc: Doc) -> None:
    if target.subresource == "status":
        return
    if fields := missing_fields(target.resource, doc):
        name = str(nested_field(doc, "metadata", "name") or "")
        raise validation_refusal(target.served, name, [FieldProblem(field, None, "", REQUIRED) for field in fields])


def missing_fields(resource: str, doc: Doc) -> list[str]:
    """Return missing fields that controllers and kubelets need, as ``spec.selector``."""
    missing_paths = [".".join(path) for path in _REQUIRED.get(resource, ()) if not nested_field(doc, *path)]
    return [*missing_paths, *missing_definition_fields(doc)] if resource == DEFINITIONS else missing_paths


_TEMPLATE = ("spec", "template", "spec", "containers")
_APPS = (("spec", "selector"), ("spec", "template", "metadata", "labels"), _TEMPLATE)
_REQUIRED: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "pods": (("spec", "containers"),),
    "deployments.apps": _APPS,
    "replicasets.apps": _APPS,
    "statefulsets.apps": _APPS,
    "daemonsets.apps": _APPS,
}


# The admission plugin PodSecurity: pods that violate the level of their namespace are not created.
#
# Source: k8s.io/pod-security-admission admission/admission.go (EvaluatePod). Only the label ``enforce`` counts, in its
# latest version; there are no exemptions, warnings or audit.


ENFORCED = "pod-security.kubernetes.io/enforce"


def check_pod_security(store: Store, namespace: str, name: str, spec: Doc) -> None:
    """Check a pod against the level of its namespace.

    Raises:
        ApiRefusal: 403, the level forbids the pod.
    """
    namespace_item = store.get(NAMESPACES, ("", namespace))
    labels = (nested_field(namespace_item.meta, "labels") if namespace_item is not None else None) or {}
    if violation := pod_security_refusal(str(labels.get(ENFORCED, "")), spec):
        raise resources.forbidden(kinds.PODS, name, violation)
