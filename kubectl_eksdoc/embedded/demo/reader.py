"""Reader of the demo cluster and its AWS account: the same bytes each time, without network and clock."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from kubectl_eksdoc.model.api_objects import (
    AppliedObjects,
    Doc,
    HelmRelease,
    KindUsage,
    ObjectName,
    nested_field,
    object_name,
)
from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
from kubectl_eksdoc.model.interruption import ReportedChanges
from kubectl_eksdoc.model.kinds import PODS, Absent, ReadState, Resource, Unknown
from kubectl_eksdoc.model.machines import MetadataOptions
from kubectl_eksdoc.model.nodes import Container, LogKey
from kubectl_eksdoc.objects.collector import FactCollector
from kubectl_eksdoc.objects.containers import decode_containers
from kubectl_eksdoc.objects.dump_readers import DumpChangeReader
from kubectl_eksdoc.objects.single import RawObjects, decode_json, decode_raws
from kubectl_eksdoc.objects.snapshot_answers import DumpApiUsage

from ..probed import MetadataServices

# Files of the snapshot, its cluster and its time.


NOW = datetime(2026, 11, 20, 8, 51, 0, tzinfo=timezone.utc)
"""The observation time of the demo cluster, always."""

IDENTITY = Identity("demo", "demo-shop", "111122223333", "ap-northeast-2", "v1.33")

DEFAULT_NODEGROUP = "blue"
"""The node group that the demo's upgrade drains."""

PLAIN = ""
SCENES = (PLAIN, "check", "imds-probe", "interruption")
"""Scenes, each named after the command that uses it; all other commands use the plain one."""


def scene_folder(scene: str) -> str:
    return scene or "plain"


def read_file(name: str) -> bytes:
    """Read a file of the snapshot. A scene that adds nothing to the plain one has no file."""
    path = files(__package__) / "data" / name
    return path.read_bytes() if path.is_file() else b"{}"


@cache
def account() -> Mapping[str, Any]:
    """Return the cluster's endpoint, the type of each AWS response, and the instances of the plain scene by node."""
    document: Mapping[str, Any] = json.loads(read_file("account.json"))
    return document


@cache
def scene_responses(category: str, scene: str) -> Mapping[str, Mapping[str, bytes]]:
    """Return the ``objects``, ``texts`` or ``aws`` responses of a scene by kind and name: those of the plain scene,
    except those that the scene replaces."""
    added = decode_raws(read_file(f"{scene_folder(scene)}/{category}.json"))
    if scene == PLAIN:
        return added
    plain = scene_responses(category, PLAIN)
    return {kind: {**plain.get(kind, {}), **added.get(kind, {})} for kind in {**plain, **added}}


class DemoReader:
    """The demo cluster as a `ports.ClusterReader`; `raw` receives all of its objects."""

    def __init__(self, raw: RawObjects | None = None, scene: str = "") -> None:
        self._raw = raw
        self._scene = scene

    def read(self, resources: Sequence[Resource]) -> Cluster:
        """Read all of `resources`; nothing is ever refused."""
        collector = FactCollector(Source.DEMO, self._raw)
        objects = scene_responses("objects", self._scene)
        for resource in resources:
            collector.add_page(
                resource, list_document(resource, objects.get(snapshot_kind(resource), {}).values()), "the demo"
            )
            collector.set_state(resource, ReadState.READ)
        if self._raw is not None:
            add_other_objects(self._raw, self._scene, frozenset(map(snapshot_kind, resources)))
        return collector.cluster(IDENTITY, NOW)


def add_other_objects(raw: RawObjects, scene: str, read: frozenset[str] = frozenset()) -> None:
    """Add objects of all kinds except those in `read`."""
    for kind, objects in scene_responses("objects", scene).items():
        if kind not in read:
            api_version, _, name = kind.partition(" ")
            for each in objects.values():
                raw.add_other(name, api_version, each)


def snapshot_kind(resource: Resource) -> str:
    """Return the name of the resource's kind in the snapshot."""
    return f"{resource.api_version} {resource.kind}"


def list_document(resource: Resource, items: Iterable[bytes]) -> bytes:
    """Return `items` as the response to a list request."""
    head = f'{{"kind":"{resource.kind}List","apiVersion":"{resource.api_version}","metadata":{{}},"items":['
    return b"".join((head.encode(), b",".join(items), b"]}"))


# Other reads of the demo cluster.


SOURCE_NAME = "the demo"


class DemoExtraReader:
    """A `ports.ExtraReader` of the objects and texts of a scene, decoded on request."""

    def __init__(self, scene: str) -> None:
        self._scene = scene
        self._objects = scene_responses("objects", scene)

    def read_object(self, object_name: ObjectName) -> Doc | Absent | Unknown:
        """Unknown if the namespace has no object of the kind at all, as for a dump."""
        objects = self._objects.get(f"{object_name.api_version} {object_name.kind}", {})
        raw = objects.get(f"{object_name.namespace}/{object_name.name}")
        if raw is not None:
            document: Doc = decode_json(raw)
            return document
        if _in_namespace(objects, object_name.namespace):
            return Absent(f"{SOURCE_NAME} has no {object_name}")
        return _unknown(object_name.kind + (f" of namespace {object_name.namespace}" if object_name.namespace else ""))

    def applied_by(self, manager: str, other_kinds: bool = False) -> AppliedObjects:
        if other_kinds:  # the demo has none
            return AppliedObjects({})
        every = (each for objects in self._objects.values() for each in objects.values())
        docs = (decode_json(each) for each in every if f'"manager":"{manager}"'.encode() in each)
        return AppliedObjects({object_name(doc): nested_field(doc, "metadata", "labels") or {} for doc in docs})

    def list_history(self, resource: Resource, namespace: str) -> tuple[Doc, ...] | Unknown:
        objects = _in_namespace(self._objects.get(snapshot_kind(resource), {}), namespace)
        return tuple(map(decode_json, objects)) if objects else _unknown(f"{resource.kind} of namespace {namespace}")

    has_logs = True

    def containers(self, pods: Collection[str]) -> Mapping[str, tuple[Container, ...] | Absent | Unknown]:
        all_pods = self._objects[snapshot_kind(PODS)]
        return {
            pod: decode_containers(all_pods[pod]) if pod in all_pods else Absent(f"{SOURCE_NAME} has no pod {pod}")
            for pod in pods
        }

    def logs(self, requests: Collection[LogKey]) -> Mapping[LogKey, str | Absent | Unknown]:
        return {log: self._log(log) for log in requests}

    def _log(self, log: LogKey) -> str | Unknown:
        text = self._text("previous log" if log.previous else "log", f"{log.namespace}/{log.pod}/{log.container}")
        return _unknown(f"log of {log.pod}") if text is None else text

    def events(self) -> Unknown:
        return _unknown("Events")

    def metrics(self, pod: str, port: int) -> Unknown:
        return Unknown(f"{SOURCE_NAME} holds nothing of what {pod} counts (port {port})")

    def requested(self) -> tuple[str, ...] | Unknown:
        return self._apis.requested()

    def written(self, resources: Sequence[Resource]) -> tuple[KindUsage, ...]:
        return self._apis.written(resources)

    def releases(self) -> tuple[HelmRelease, ...] | Unknown:
        return self._apis.releases()

    def reported_changes(self) -> ReportedChanges:
        changes = DumpChangeReader(SOURCE_NAME)
        add_other_objects(changes, self._scene)
        return changes.reported_changes()

    @cached_property
    def _apis(self) -> DumpApiUsage:
        apis = DumpApiUsage(SOURCE_NAME, complete=True)
        add_other_objects(apis, self._scene)
        if counted := self._text("metrics", "/metrics"):
            apis.add_metrics(counted)
        return apis

    def _text(self, kind: str, name: str) -> str | None:
        raw = scene_responses("texts", self._scene).get(kind, {}).get(name)
        return None if raw is None else str(decode_json(raw))


def _in_namespace(objects: Mapping[str, bytes], namespace: str) -> list[bytes]:
    return [each for key, each in objects.items() if key.startswith(f"{namespace}/")]


def _unknown(missing: str) -> Unknown:
    return Unknown(f"{SOURCE_NAME} holds no {missing}")


# Instance metadata services of the demo's nodes, by the options of their EC2 instances.


def demo_services() -> MetadataServices:
    instances = account()["instances"]
    options = {node: MetadataOptions(instance["tokens"], instance["hops"]) for node, instance in instances.items()}
    return MetadataServices(options, {node: instance["id"] for node, instance in instances.items()})


# AWS account of the demo cluster: recorded responses to the requests of this tool. It cannot be changed.


Json = dict[str, Any]
Params = Mapping[str, Any]


class AwsErrorResponse(Exception):
    """AWS refused a request; `code` and `message` are those of the error response."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


def aws_response(scene: str, service: str, operation: str, params: Params) -> Json:
    """Return the response in botocore's shape, all pages in one, without ResponseMetadata.

    The caller owns it: each call decodes it. Raises `AwsErrorResponse` as the service would.
    """
    question = f"{service} {operation}"
    question_type = account()["questions"].get(question)
    if question_type is None:
        raise AwsErrorResponse("InvalidAction", f"The action {operation} is not valid for this web service.")
    answers = scene_responses("aws", scene).get(question, {})
    if "list" in question_type:
        return {
            **question_type.get("beside", {}),
            question_type["list"]: _list_items(question_type["by"], answers, params),
        }
    key = response_key(question_type["by"], params)
    if key in answers:
        return _decode(answers[key])
    code, message = question_type["refused"]
    raise AwsErrorResponse(code, message.format_map(params))


def response_key(by: Iterable[str], params: Params) -> str:
    """Return the key of a response, from the parameters that determine it."""
    return "/".join(str(params.get(name, "")) for name in by)


def _list_items(by: str, answers: Mapping[str, bytes], params: Params) -> list[Json]:
    """Return the items of a list that the request names: their keys begin with the name. Metrics without values are
    kept."""
    if by == "MetricDataQueries":
        return [_metric(each, answers) for each in params[by]]
    if by == "Filters":
        (named,) = (each["Values"] for each in params[by])
    elif by == "LookupAttributes":
        named = [each["AttributeValue"] for each in params[by]]
    elif by == "filter":
        named = params[by].get("kubernetesVersions", ())
    else:
        named = params[by]
    return [_decode(raw) for key, raw in answers.items() if key.partition("/")[0] in named]


def _metric(query: Json, answers: Mapping[str, bytes]) -> Json:
    metric = query["MetricStat"]["Metric"]
    counted = {each["Name"]: each["Value"] for each in metric.get("Dimensions", ())}.get("Class", "")
    values = _decode(answers.get(counted, b'{"Timestamps": [], "Values": []}'))
    return {"Id": query["Id"], "Label": metric["MetricName"], "StatusCode": "Complete", **values}


def _decode(raw: bytes) -> Json:
    value: Json = json.loads(raw, object_hook=_decode_special)
    return value


def _decode_special(value: Json) -> Any:
    """Decode times, which JSON does not have, and documents in their own files."""
    if "$time" in value:
        return datetime.fromisoformat(value["$time"])
    return read_file(value["$file"]).decode() if "$file" in value else value
