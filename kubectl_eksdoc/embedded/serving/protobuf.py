"""Objects in protobuf as their JSON would be: kubectl's typed clients send nothing else since 1.32.

The envelope is runtime.Unknown behind the magic ``k8s\0`` (apimachinery, runtime/serializer/protobuf). Which kinds are
read, and how far, is said in `protobuf_forms`; what says more than that is refused, not cut short.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubectl_eksdoc.model.api_objects import Doc

MAGIC = b"k8s\0"
DEEPEST = 32
"""Messages in messages."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class NotUnderstood(ValueError):
    """It is no such message, or one that is not read here."""


Wire = int | bytes
"""A field's value as it comes: a number, or the bytes of a text, a message or an entry of a map."""

Read = Callable[[Wire, int], Any]
"""The JSON value, None for one that JSON leaves out; the number is how deep the field lies."""


@dataclass(frozen=True, slots=True)
class Field:
    """`many`: it may be there several times, and is a list. `entries`: each time with one entry of an object."""

    name: str
    read: Read
    many: bool = False
    entries: bool = False


Form = Mapping[int, Field]
"""A message's fields by their numbers."""


def decode(body: bytes, kinds: Mapping[str, Form]) -> Doc:
    """The object in a protobuf body; `kinds` are those that are read, as ``Kind`` or ``group/version/Kind``.

    Raises:
        NotUnderstood
    """
    if not body.startswith(MAGIC):
        raise NotUnderstood("no protobuf of Kubernetes")
    envelope = dict(_fields(body[len(MAGIC) :]))
    type_meta = {number: text(value) for number, value in _fields(_bytes(envelope.get(1, b"")))}
    version, kind = type_meta.get(1, ""), type_meta.get(2, "")
    form = kinds.get(f"{version}/{kind}", kinds.get(kind))
    if form is None:
        raise NotUnderstood(f"a {kind or 'nameless kind'} in protobuf is not read here")
    return {"kind": kind, "apiVersion": version, **message(envelope.get(2, b""), form, 0)}


def message(value: Wire, form: Form, depth: int) -> Doc:
    """
    Raises:
        NotUnderstood: also where a field says something that `form` does not have.
    """
    if depth > DEEPEST:
        raise NotUnderstood("it is too deep")
    made: Doc = {}
    for number, each in _fields(_bytes(value)):
        field = form.get(number)
        if field is None:
            if each and _says_something(each, depth + 1):
                raise NotUnderstood(f"field {number} is not read here")
            continue
        found = field.read(each, depth + 1)
        if found is None:
            continue
        if field.many:
            made.setdefault(field.name, []).append(found)
        elif field.entries:
            made.setdefault(field.name, {}).update(found)
        else:
            made[field.name] = found
    return made


def text(value: Wire) -> str:
    try:
        return _bytes(value).decode()
    except UnicodeDecodeError as error:
        raise NotUnderstood("a text is no UTF-8") from error


def base64_of(value: Wire) -> str:
    return b64encode(_bytes(value)).decode()


def number(value: Wire) -> int:
    """int64 as protobuf has negative ones."""
    if not isinstance(value, int):
        raise NotUnderstood("a number is expected")
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def _says_something(value: Wire, depth: int) -> bool:
    """Whether it is more than a struct of zeros, which Go writes wherever it has no pointer."""
    if isinstance(value, int) or depth > DEEPEST:
        return True
    try:
        return any(each and _says_something(each, depth + 1) for _, each in _fields(value))
    except NotUnderstood:
        return True


def _fields(body: bytes) -> Iterator[tuple[int, Wire]]:
    at = 0
    while at < len(body):
        key, at = _varint(body, at)
        field, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _varint(body, at)
            yield field, value
            continue
        if kind == _BYTES:
            size, at = _varint(body, at)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise NotUnderstood(f"field {field} is of an unknown type")
        if at + size > len(body):
            raise NotUnderstood("it ends within a field")
        yield field, body[at : at + size]
        at += size


def _varint(body: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(body) and shift < 70:
        byte = body[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise NotUnderstood("it ends within a number")


def _bytes(value: Wire) -> bytes:
    if not isinstance(value, bytes):
        raise NotUnderstood("a message is expected, not a number")
    return value


# The kinds that are read from protobuf: reviews, evictions, deletions, what ``kubectl create`` and ``autoscale`` make.
#
# Field numbers are those of the generated.proto files of k8s.io/api and apimachinery. Fields that are not here are
# those that these commands leave empty.


def decode_form(body: bytes) -> Doc:
    """
    Raises:
        NotUnderstood
    """
    return decode(body, KINDS)


def _word(name: str) -> Field:
    return Field(name, lambda value, _: text(value) or None)


def _words(name: str) -> Field:
    return Field(name, lambda value, _: text(value), many=True)


def _number(name: str) -> Field:
    """One that is a pointer in Go: zero is something else than nothing."""
    return Field(name, lambda value, _: number(value))


def _count(name: str) -> Field:
    return Field(name, lambda value, _: number(value) or None)


def _flag(name: str) -> Field:
    return Field(name, lambda value, _: bool(number(value)) or None)


def _one(name: str, form: Form) -> Field:
    return Field(name, lambda value, depth: message(value, form, depth))


def _many(name: str, form: Form) -> Field:
    return Field(name, lambda value, depth: message(value, form, depth), many=True)


def _texts(name: str) -> Field:
    """A map of texts."""
    return Field(name, _entry, entries=True)


def _secrets(name: str) -> Field:
    """A map of bytes, which JSON has in base64."""
    return Field(name, _bytes_entry, entries=True)


def _amount(name: str) -> Field:
    """An IntOrString."""
    return Field(name, _int_or_string)


def _quantities(name: str) -> Field:
    return Field(name, _quantity, entries=True)


def _entry(value: Wire, depth: int) -> Doc:
    entry = message(value, {1: _word("key"), 2: _word("value")}, depth)
    return {entry.get("key", ""): entry.get("value", "")}


def _bytes_entry(value: Wire, depth: int) -> Doc:
    entry = message(value, {1: _word("key"), 2: Field("value", lambda each, _: base64_of(each))}, depth)
    return {entry.get("key", ""): entry.get("value", "")}


def _quantity(value: Wire, depth: int) -> Doc:
    entry = message(value, {1: _word("key"), 2: _one("value", {1: _word("string")})}, depth)
    return {entry.get("key", ""): entry.get("value", {}).get("string", "0")}


def _int_or_string(value: Wire, depth: int) -> int | str:
    given = message(value, {1: _count("type"), 2: _number("int"), 3: _word("string")}, depth)
    return str(given.get("string", "")) if given.get("type") else int(given.get("int", 0))


_OWNER: Form = {
    1: _word("kind"),
    3: _word("name"),
    4: _word("uid"),
    5: _word("apiVersion"),
    6: _flag("controller"),
    7: _flag("blockOwnerDeletion"),
}
_META: Form = {
    1: _word("name"),
    2: _word("generateName"),
    3: _word("namespace"),
    5: _word("uid"),
    6: _word("resourceVersion"),
    11: _texts("labels"),
    12: _texts("annotations"),
    13: _many("ownerReferences", _OWNER),
    14: _words("finalizers"),
}
_SELECTOR: Form = {
    1: _texts("matchLabels"),
    2: _many("matchExpressions", {1: _word("key"), 2: _word("operator"), 3: _words("values")}),
}
_DELETE_OPTIONS: Form = {
    1: _number("gracePeriodSeconds"),
    2: _one("preconditions", {1: _word("uid"), 2: _word("resourceVersion")}),
    3: _flag("orphanDependents"),
    4: _word("propagationPolicy"),
    5: _words("dryRun"),
    6: _flag("ignoreStoreReadErrorWithClusterBreakingPotential"),
}
_RESOURCE: Form = {
    1: _word("namespace"),
    2: _word("verb"),
    3: _word("group"),
    4: _word("version"),
    5: _word("resource"),
    6: _word("subresource"),
    7: _word("name"),
}
_ACCESS: Form = {
    1: _one("resourceAttributes", _RESOURCE),
    2: _one("nonResourceAttributes", {1: _word("path"), 2: _word("verb")}),
}
_CONTAINER: Form = {
    1: _word("name"),
    2: _word("image"),
    3: _words("command"),
    4: _words("args"),
    5: _word("workingDir"),
    6: _many(
        "ports",
        {1: _word("name"), 2: _count("hostPort"), 3: _count("containerPort"), 4: _word("protocol"), 5: _word("hostIP")},
    ),
    7: _many("env", {1: _word("name"), 2: _word("value")}),
    8: _one("resources", {1: _quantities("limits"), 2: _quantities("requests")}),
    13: _word("terminationMessagePath"),
    14: _word("imagePullPolicy"),
    20: _word("terminationMessagePolicy"),
}
_POD: Form = {
    2: _many("containers", _CONTAINER),
    3: _word("restartPolicy"),
    4: _number("terminationGracePeriodSeconds"),
    6: _word("dnsPolicy"),
    7: _texts("nodeSelector"),
    8: _word("serviceAccountName"),
    14: _one("securityContext", {}),
    19: _word("schedulerName"),
    24: _word("priorityClassName"),
}
_TEMPLATE: Form = {1: _one("metadata", _META), 2: _one("spec", _POD)}
_ROLLING: Form = {1: _amount("maxUnavailable"), 2: _amount("maxSurge")}
_DEPLOYMENT: Form = {
    1: _number("replicas"),
    2: _one("selector", _SELECTOR),
    3: _one("template", _TEMPLATE),
    4: _one("strategy", {1: _word("type"), 2: _one("rollingUpdate", _ROLLING)}),
    5: _count("minReadySeconds"),
    6: _number("revisionHistoryLimit"),
    7: _flag("paused"),
    9: _number("progressDeadlineSeconds"),
}
_JOB: Form = {
    1: _number("parallelism"),
    2: _number("completions"),
    3: _number("activeDeadlineSeconds"),
    4: _one("selector", _SELECTOR),
    5: _flag("manualSelector"),
    6: _one("template", _TEMPLATE),
    7: _number("backoffLimit"),
    8: _number("ttlSecondsAfterFinished"),
    9: _word("completionMode"),
    10: _flag("suspend"),
    14: _word("podReplacementPolicy"),
}
_CRON_JOB: Form = {
    1: _word("schedule"),
    2: _number("startingDeadlineSeconds"),
    3: _word("concurrencyPolicy"),
    4: _flag("suspend"),
    5: _one("jobTemplate", {1: _one("metadata", _META), 2: _one("spec", _JOB)}),
    6: _number("successfulJobsHistoryLimit"),
    7: _number("failedJobsHistoryLimit"),
    8: _word("timeZone"),
}
_PORT: Form = {
    1: _word("name"),
    2: _word("protocol"),
    3: _count("port"),
    4: _amount("targetPort"),
    5: _count("nodePort"),
    6: _word("appProtocol"),
}
_SERVICE: Form = {
    1: _many("ports", _PORT),
    2: _texts("selector"),
    3: _word("clusterIP"),
    4: _word("type"),
    7: _word("sessionAffinity"),
    10: _word("externalName"),
    11: _word("externalTrafficPolicy"),
}
_RULE: Form = {
    1: _words("verbs"),
    2: _words("apiGroups"),
    3: _words("resources"),
    4: _words("resourceNames"),
    5: _words("nonResourceURLs"),
}
_SUBJECT: Form = {1: _word("kind"), 2: _word("apiGroup"), 3: _word("name"), 4: _word("namespace")}
_BINDING: Form = {
    1: _one("metadata", _META),
    2: _many("subjects", _SUBJECT),
    3: _one("roleRef", {1: _word("apiGroup"), 2: _word("kind"), 3: _word("name")}),
}
_ROLE: Form = {1: _one("metadata", _META), 2: _many("rules", _RULE)}
_BUDGET: Form = {
    1: _amount("minAvailable"),
    2: _one("selector", _SELECTOR),
    3: _amount("maxUnavailable"),
    4: _word("unhealthyPodEvictionPolicy"),
}
_TARGET: Form = {
    1: _word("type"),
    2: _one("value", {1: _word("string")}),
    3: _one("averageValue", {1: _word("string")}),
    4: _number("averageUtilization"),
}
_METRIC: Form = {1: _word("type"), 4: _one("resource", {1: _word("name"), 2: _one("target", _TARGET)})}
_AUTOSCALED: Form = {
    1: _one("scaleTargetRef", {1: _word("kind"), 2: _word("name"), 3: _word("apiVersion")}),
    2: _number("minReplicas"),
    3: _count("maxReplicas"),
}


def _whole(spec: Form) -> Form:
    return {1: _one("metadata", _META), 2: _one("spec", spec)}


KINDS: Mapping[str, Form] = {
    "SelfSubjectAccessReview": _whole(_ACCESS),
    "SelfSubjectRulesReview": _whole({1: _word("namespace")}),
    "SelfSubjectReview": {1: _one("metadata", _META)},
    "DeleteOptions": _DELETE_OPTIONS,
    "Eviction": {1: _one("metadata", _META), 2: _one("deleteOptions", _DELETE_OPTIONS)},
    "Namespace": _whole({1: _words("finalizers")}),
    "ConfigMap": {1: _one("metadata", _META), 2: _texts("data"), 4: _flag("immutable")},
    "Secret": {
        1: _one("metadata", _META),
        2: _secrets("data"),
        3: _word("type"),
        4: _texts("stringData"),
        5: _flag("immutable"),
    },
    "ResourceQuota": _whole({1: _quantities("hard"), 2: _words("scopes")}),
    "Service": _whole(_SERVICE),
    "Job": _whole(_JOB),
    "CronJob": _whole(_CRON_JOB),
    "Role": _ROLE,
    "ClusterRole": _ROLE,
    "RoleBinding": _BINDING,
    "ClusterRoleBinding": _BINDING,
    "PriorityClass": {
        1: _one("metadata", _META),
        2: _number("value"),
        3: _flag("globalDefault"),
        4: _word("description"),
        5: _word("preemptionPolicy"),
    },
    "ServiceAccount": {1: _one("metadata", _META)},
    "PodDisruptionBudget": _whole(_BUDGET),
    "Deployment": _whole(_DEPLOYMENT),
    "autoscaling/v1/HorizontalPodAutoscaler": _whole({**_AUTOSCALED, 4: _number("targetCPUUtilizationPercentage")}),
    "autoscaling/v2/HorizontalPodAutoscaler": _whole({**_AUTOSCALED, 4: _many("metrics", _METRIC)}),
}
