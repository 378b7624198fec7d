"""Reader of the demo cluster and its AWS account: the same bytes each time, without network and clock."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from kubectl_eksdoc.model.api_objects import AppliedObjects, Doc, HelmRelease, KindUsage, ObjectName, at, named
from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
from kubectl_eksdoc.model.interruption import ReportedChanges
from kubectl_eksdoc.model.kinds import PODS, Absent, ReadState, Resource, Unknown
from kubectl_eksdoc.model.machines import MetadataOptions
from kubectl_eksdoc.model.nodes import Container, LogOf
from kubectl_eksdoc.objects.collector import Collector
from kubectl_eksdoc.objects.containers import containers_of
from kubectl_eksdoc.objects.held import HeldChanges
from kubectl_eksdoc.objects.held_answers import HeldApis
from kubectl_eksdoc.objects.single import RawObjects, decode, raws_in

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


def folder(scene: str) -> str:
    return scene or "plain"


def read(name: str) -> bytes:
    """Read a file of the snapshot. A scene that adds nothing to the plain one has no file."""
    path = files(__package__) / "data" / name
    return path.read_bytes() if path.is_file() else b"{}"


@cache
def account() -> Mapping[str, Any]:
    """Return the cluster's endpoint, the type of each AWS response, and the instances of the plain scene by node."""
    found: Mapping[str, Any] = json.loads(read("account.json"))
    return found


@cache
def held(what: str, scene: str) -> Mapping[str, Mapping[str, bytes]]:
    """Return the ``objects``, ``texts`` or ``aws`` responses of a scene by kind and name: those of the plain scene,
    except those that the scene replaces."""
    added = raws_in(read(f"{folder(scene)}/{what}.json"))
    if scene == PLAIN:
        return added
    plain = held(what, PLAIN)
    return {kind: {**plain.get(kind, {}), **added.get(kind, {})} for kind in {**plain, **added}}


class DemoReader:
    """The demo cluster as a `ports.ClusterReader`; `raw` receives all of its objects."""

    def __init__(self, raw: RawObjects | None = None, scene: str = "") -> None:
        self._raw = raw
        self._scene = scene

    def read(self, resources: Sequence[Resource]) -> Cluster:
        """Read all of `resources`; nothing is ever refused."""
        collector = Collector(Source.DEMO, self._raw)
        objects = held("objects", self._scene)
        for resource in resources:
            collector.add_page(resource, a_list(resource, objects.get(kind_of(resource), {}).values()), "the demo")
            collector.mark(resource, ReadState.READ)
        if self._raw is not None:
            add_others(self._raw, self._scene, frozenset(map(kind_of, resources)))
        return collector.cluster(IDENTITY, NOW)


def add_others(raw: RawObjects, scene: str, read: frozenset[str] = frozenset()) -> None:
    """Add objects of all kinds except those in `read_file`."""
    for kind, several in held("objects", scene).items():
        if kind not in read:
            api_version, _, name = kind.partition(" ")
            for each in several.values():
                raw.add_other(name, api_version, each)


def kind_of(resource: Resource) -> str:
    """Return the name of the resource's kind in the snapshot."""
    return f"{resource.api_version} {resource.kind}"


def a_list(resource: Resource, items: Iterable[bytes]) -> bytes:
    """Return `items` as the response to a list request."""
    head = f'{{"kind":"{resource.kind}List","apiVersion":"{resource.api_version}","metadata":{{}},"items":['
    return b"".join((head.encode(), b",".join(items), b"]}"))


# Other reads of the demo cluster.


WHERE = "the demo"


class DemoBeside:
    """A `ports.ExtraReader` of the objects and texts of a scene, decoded on request."""

    def __init__(self, scene: str) -> None:
        self._scene = scene
        self._objects = held("objects", scene)

    def one(self, of: ObjectName) -> Doc | Absent | Unknown:
        """Unknown if the namespace has no object of the kind at all, as for a dump."""
        several = self._objects.get(f"{of.api_version} {of.kind}", {})
        found = several.get(f"{of.namespace}/{of.name}")
        if found is not None:
            document: Doc = decode(found)
            return document
        if _within(several, of.namespace):
            return Absent(f"{WHERE} has no {of}")
        return _nothing(of.kind + (f" of namespace {of.namespace}" if of.namespace else ""))

    def applied_by(self, manager: str, others: bool = False) -> AppliedObjects:
        if others:  # the demo has none
            return AppliedObjects({})
        every = (each for several in self._objects.values() for each in several.values())
        docs = (decode(each) for each in every if f'"manager":"{manager}"'.encode() in each)
        return AppliedObjects({named(doc): at(doc, "metadata", "labels") or {} for doc in docs})

    def listed(self, resource: Resource, namespace: str) -> tuple[Doc, ...] | Unknown:
        found = _within(self._objects.get(kind_of(resource), {}), namespace)
        return tuple(map(decode, found)) if found else _nothing(f"{resource.kind} of namespace {namespace}")

    has_logs = True

    def containers(self, pods: Collection[str]) -> Mapping[str, tuple[Container, ...] | Absent | Unknown]:
        all_pods = self._objects[kind_of(PODS)]
        return {
            pod: containers_of(all_pods[pod]) if pod in all_pods else Absent(f"{WHERE} has no pod {pod}")
            for pod in pods
        }

    def logs(self, asked: Collection[LogOf]) -> Mapping[LogOf, str | Absent | Unknown]:
        return {log: self._log(log) for log in asked}

    def _log(self, log: LogOf) -> str | Unknown:
        text = self._text("previous log" if log.previous else "log", f"{log.namespace}/{log.pod}/{log.container}")
        return _nothing(f"log of {log.pod}") if text is None else text

    def events(self) -> Unknown:
        return _nothing("Events")

    def metrics(self, pod: str, port: int) -> Unknown:
        return Unknown(f"{WHERE} holds nothing of what {pod} counts (port {port})")

    def requested(self) -> tuple[str, ...] | Unknown:
        return self._apis.requested()

    def written(self, resources: Sequence[Resource]) -> tuple[KindUsage, ...]:
        return self._apis.written(resources)

    def releases(self) -> tuple[HelmRelease, ...] | Unknown:
        return self._apis.releases()

    def told(self) -> ReportedChanges:
        changes = HeldChanges(WHERE)
        add_others(changes, self._scene)
        return changes.told()

    @cached_property
    def _apis(self) -> HeldApis:
        apis = HeldApis(WHERE, complete=True)
        add_others(apis, self._scene)
        if counted := self._text("metrics", "/metrics"):
            apis.count(counted)
        return apis

    def _text(self, kind: str, name: str) -> str | None:
        raw = held("texts", self._scene).get(kind, {}).get(name)
        return None if raw is None else str(decode(raw))


def _within(several: Mapping[str, bytes], namespace: str) -> list[bytes]:
    return [each for key, each in several.items() if key.startswith(f"{namespace}/")]


def _nothing(what: str) -> Unknown:
    return Unknown(f"{WHERE} holds no {what}")


# Instance metadata services of the demo's nodes, by the options of their EC2 instances.


def demo_services() -> MetadataServices:
    instances = account()["instances"]
    options = {node: MetadataOptions(said["tokens"], said["hops"]) for node, said in instances.items()}
    return MetadataServices(options, {node: said["id"] for node, said in instances.items()})


# AWS account of the demo cluster: recorded responses to the requests of this tool. It cannot be changed.


Json = dict[str, Any]
Params = Mapping[str, Any]


class AwsErrorResponse(Exception):
    """AWS refused a request; `code` and `message` are those of the error response."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


def ask(scene: str, service: str, operation: str, params: Params) -> Json:
    """Return the response in botocore's shape, all pages in one, without ResponseMetadata.

    The caller owns it: each call decodes it. Raises `AwsErrorResponse` as the service would.
    """
    question = f"{service} {operation}"
    how = account()["questions"].get(question)
    if how is None:
        raise AwsErrorResponse("InvalidAction", f"The action {operation} is not valid for this web service.")
    answers = held("aws", scene).get(question, {})
    if "list" in how:
        return {**how.get("beside", {}), how["list"]: _listed(how["by"], answers, params)}
    key = key_of(how["by"], params)
    if key in answers:
        return _decoded(answers[key])
    code, message = how["refused"]
    raise AwsErrorResponse(code, message.format_map(params))


def key_of(by: Iterable[str], params: Params) -> str:
    """Return the key of a response, from the parameters that determine it."""
    return "/".join(str(params.get(name, "")) for name in by)


def _listed(by: str, answers: Mapping[str, bytes], params: Params) -> list[Json]:
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
    return [_decoded(raw) for key, raw in answers.items() if key.partition("/")[0] in named]


def _metric(query: Json, answers: Mapping[str, bytes]) -> Json:
    metric = query["MetricStat"]["Metric"]
    counted = {each["Name"]: each["Value"] for each in metric.get("Dimensions", ())}.get("Class", "")
    values = _decoded(answers.get(counted, b'{"Timestamps": [], "Values": []}'))
    return {"Id": query["Id"], "Label": metric["MetricName"], "StatusCode": "Complete", **values}


def _decoded(raw: bytes) -> Json:
    found: Json = json.loads(raw, object_hook=_meant)
    return found


def _meant(found: Json) -> Any:
    """Decode times, which JSON does not have, and documents in their own files."""
    if "$time" in found:
        return datetime.fromisoformat(found["$time"])
    return read(found["$file"]).decode() if "$file" in found else found
