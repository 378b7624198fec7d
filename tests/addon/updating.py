"""Carry out an add-on update on documents in memory: by the stand-in of EKS, in virtual time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from kubectl_eksdoc.addon_diff.apply import AddonUpdate, AddonUpdatePorts, FollowedUpdate
from kubectl_eksdoc.addon_diff.outcome import AddonUpdateResult, ServiceHealth, expected_update, to_document
from kubectl_eksdoc.addon_diff.prediction import AddonUpdateRequest, Mode
from kubectl_eksdoc.addon_diff.read import PreparedAddonUpdate, prepare_update
from kubectl_eksdoc.addon_diff.report.update import as_json
from kubectl_eksdoc.aws.addon_side import chart_defaults
from kubectl_eksdoc.changes.engine import ChangeEnvironment, execute_change, start_change
from kubectl_eksdoc.errors import AwsError, ClusterError
from kubectl_eksdoc.model.addons import (
    Addon,
    AddonUpdateFacts,
    AddonVersionDetails,
    EksAddonUpdate,
    HealthIssue,
    UpdateCall,
)
from kubectl_eksdoc.model.api_objects import Doc, ObjectName
from kubectl_eksdoc.model.eks import EksCluster, TargetGroup
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.knowledge import to_json
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.session.session import ObservedSession
from tests.addon.stand_in.service import AddonService
from tests.addon_diff.incident import RBAC, beside
from tests.builders import NOW, a_cluster, a_node, a_pod
from tests.sessions import AppliesNothing, sees

CLUSTER = EksCluster("shop", "arn:aws:eks:eu-west-1:111122223333:cluster/shop", "1.33", "", "ACTIVE", "", "")
PODS = (a_pod("payment", node="n-0"),)
ID = "8d1a-update"


@dataclass
class Time:
    """A virtual clock. `then`: actions by the second at which they happen. Mutable."""

    s: float = 0.0
    then: list[tuple[float, Callable[[], object]]] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.s

    def now(self) -> datetime:
        return NOW + timedelta(seconds=self.s)

    def sleep(self, seconds: float) -> None:
        self.s += seconds
        due = [each for each in self.then if each[0] <= self.s]
        self.then = [each for each in self.then if each[0] > self.s]
        for _, happens in due:
            happens()


@dataclass
class FakeEks:
    """An `AddonUpdateApi` whose updates the stand-in carries out `takes_s` after the request. Mutable."""

    service: AddonService
    time: Time
    takes_s: float = 20.0
    refuses: Exception | None = None
    silent_until_s: float = 0.0
    may_describe: bool = True
    before_it_begins: Callable[[], object] = lambda: None
    calls: list[UpdateCall] = field(default_factory=list)
    _update: EksAddonUpdate | None = None
    _began_s: float = 0.0

    def start_update(self, call: UpdateCall) -> EksAddonUpdate:
        if self.refuses is not None:
            raise self.refuses
        self.before_it_begins()
        self.calls.append(call)
        self._began_s = self.time.s
        self._update = EksAddonUpdate(ID, "AddonUpdate", "InProgress")
        return self._update

    def read_update(self, ident: str) -> EksAddonUpdate | Unknown | Absent:
        assert ident == ID
        if self.time.s < self.silent_until_s:
            raise AwsError("cannot ask eks in eu-west-1: no route")
        self._go_on()
        assert self._update is not None
        return self._update if self.may_describe else Unknown("IAM does not allow it", "eks:DescribeUpdate")

    def read_addon(self) -> Addon:
        self._go_on()
        status = {"InProgress": "UPDATING", "Failed": "UPDATE_FAILED"}.get(self._status, "ACTIVE")
        return Addon("vpc-cni", self.service.version, status, self.service.values)

    @property
    def _status(self) -> str:
        return "" if self._update is None else self._update.status

    def _go_on(self) -> None:
        if self._status != "InProgress" or self.time.s - self._began_s < self.takes_s:
            return
        assert self._update is not None
        (call,) = self.calls
        outcome = self.service.update(
            call.version,
            resolve_conflicts=call.mode,  # type: ignore[arg-type]
            configuration_values=call.values,
        )
        errors = tuple(HealthIssue(each.code, each.message, each.resources) for each in outcome.errors)
        self._update = replace(self._update, status=outcome.status, errors=errors)


@dataclass
class FakeObjects(AppliesNothing):
    """An `Objects` of the stand-in's documents, with a controller that replaces all pods at once, unless `stands` says
    how many are. Mutable."""

    service: AddonService
    stands: int | None = None
    away: bool = False
    gone: bool = False
    forbids: bool = False

    def read_object(self, of: ObjectName) -> Doc | Absent | Unknown:
        if self.away:
            raise ClusterError("no route to the cluster")
        if self.forbids:
            return Unknown("RBAC forbids it", "get daemonsets.apps")
        doc = self.service.objects.get(of.kind, of.name)
        if of.kind in RBAC:  # the stand-in makes none
            return next(each for each in beside(self.service.version) if each["kind"] == of.kind)
        if doc is None or (self.gone and of.kind == "ConfigMap"):
            return Absent(f"no {of}")
        if of.kind != "DaemonSet":
            return doc
        new = 3 if self.stands is None else self.stands
        status = {
            "observedGeneration": doc["metadata"].get("generation", 0),
            "desiredNumberScheduled": 3,
            "updatedNumberScheduled": new,
            "numberAvailable": new,
        }
        return {**doc, "status": status}


@dataclass
class Kept:
    """A `changes.engine._Journal` in memory; everything in it is JSON. Mutable."""

    entries: list[Doc] = field(default_factory=list)

    def write(self, entry: Doc) -> None:
        self.entries.append(json.loads(json.dumps(entry)))


@dataclass
class Case:
    """vpc-cni as `service` has it, and the cluster in which it is updated. Mutable."""

    service: AddonService
    to: str
    mode: str = "NONE"
    values: Doc | None = None
    as_asked: bool = False
    status: str = "ACTIVE"
    steps: tuple[str, ...] = ()
    time: Time = field(default_factory=Time)
    told: int = 0
    pods: tuple[Pod, ...] | Unknown = PODS
    groups: Callable[[str], TargetGroup | Unknown] = lambda arn: Unknown("not asked")

    def __post_init__(self) -> None:
        self.eks = FakeEks(self.service, self.time)
        self.objects = FakeObjects(self.service)
        self.journal = Kept()
        self.lines: list[str] = []

    def at(self, second: float, **objects: object) -> None:
        """An action on the cluster's objects at that second."""
        self.time.then.append((second, lambda: vars(self.objects).update(objects)))

    def ready(self) -> PreparedAddonUpdate:
        unknown = Unknown("not published")
        side = AddonUpdateFacts(
            Addon("vpc-cni", self.service.version, self.status, self.service.values),
            AddonVersionDetails(self.service.version, chart_defaults("vpc-cni", self.service.version), unknown),
            AddonVersionDetails(self.to, chart_defaults("vpc-cni", self.to), unknown),
            json.loads(self.service.values or "{}"),
            True,
            self.steps or (self.to,),
        )
        asked = AddonUpdateRequest(Mode(self.mode), self.values)
        cluster = a_cluster(nodes=[a_node("n-0")], pods=list(PODS))
        session = ObservedSession(cluster, sees(CLUSTER), self.objects)  # type: ignore[arg-type]
        return prepare_update(session, side, asked, self.as_asked)

    def world(self, watch_s: float = 1800.0) -> ChangeEnvironment:
        return ChangeEnvironment(
            self.journal, self.time, self.time.sleep, lambda: self.told, self.lines.append, watch_s
        )

    def ports(self) -> AddonUpdatePorts:
        return AddonUpdatePorts(self.eks, self.objects, lambda: self.pods, self.groups)

    def following(self, ready: PreparedAddonUpdate, **more: object) -> FollowedUpdate:
        return replace(FollowedUpdate(expected_update(ready.plan, ready.update_to_send.keeps)), **more)  # type: ignore[arg-type]

    def call(self, ready: PreparedAddonUpdate) -> UpdateCall:
        asked = ready.update_to_send.request
        values = None if asked.values is None else as_json(asked.values)
        return UpdateCall("vpc-cni", self.to, asked.mode.value, values, "token")

    def done(self, watch_s: float = 1800.0, **more: object) -> AddonUpdateResult:
        ready, world, ports = self.ready(), self.world(watch_s), self.ports()
        following = self.following(ready, **more)
        call, health = self.call(ready), following.health_before(ports)
        update = AddonUpdate(call, following, ports, world, health)
        begun = {"run": "r-1", "expected": to_document(following.expected, call.token), "health": to_json(health)}
        return start_change(update, begun, world)

    def again(
        self, ident: str, following: FollowedUpdate, health: Mapping[str, ServiceHealth] = {}
    ) -> AddonUpdateResult:
        """Another process follows the update."""
        world = self.world()
        return execute_change(AddonUpdate(ident, following, self.ports(), world, health), world)
