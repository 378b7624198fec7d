"""What forbids to send an update, and what must be acknowledged first. Judged is the plan of what is sent."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, at, named
from kubectl_eksdoc.model.findings import Finding, Severity, Status
from kubectl_eksdoc.model.nodes import Pod

from .judging import calls
from .plan import AddonPlan
from .prediction import AddonUpdateRequest, Fate, FieldChange, Mode

_ACTIVE = ("", "ACTIVE")
_MENDABLE = ("UPDATE_FAILED", "DEGRADED")
"""EKS takes another update then, and the rollback from a failed one is one; it must be acknowledged."""

_MOST = 5


@frozen
class Guard:
    """Why nothing is sent, a clause, and what to do instead, a sentence."""

    why: str
    hint: str


def refusals(plan: AddonPlan, on_purpose: bool) -> tuple[Guard, ...]:
    """All that forbids it; () if nothing does. `on_purpose`: as in `Sending`."""
    return (*_of_addon(plan), *_of_version(plan), *_of_fields(plan, on_purpose))


def to_acknowledge(plan: AddonPlan) -> tuple[Finding, ...]:
    """What nobody may pass over: what is critical, what is not known, what is taken away as a whole, and an add-on that
    is not in order. As the plan sorts them."""
    return tuple(each for each in plan.findings if _weighs(each))


def acknowledgement(plan: AddonPlan) -> str:
    """What is typed for it: which add-on goes where."""
    return f"{plan.facts.addon.name} {plan.facts.target.version}"


def changing(plan: AddonPlan) -> tuple[FieldChange, ...]:
    """The fields that are known to become other than they are, by object and field."""
    fates = (Fate.RESET, Fate.REMOVED, Fate.FOLLOWS)
    return tuple(change for change in plan.changes if change.fate(plan.asked.mode) in fates)


def is_nothing(plan: AddonPlan) -> bool:
    """The version stays, the values stay, and nothing is known or feared to change."""
    facts, values = plan.facts, plan.asked.values
    same_values = values is None or values == facts.values
    return facts.addon.version == facts.target.version and same_values and not plan.changes and not plan.findings


def _weighs(finding: Finding) -> bool:
    if finding.status is Status.UNKNOWN or finding.code.name in ("addon-values-dropped", "addon-not-active"):
        return True
    return finding.status is Status.FAIL and finding.severity is Severity.CRITICAL


def _of_addon(plan: AddonPlan) -> Iterator[Guard]:
    addon = plan.facts.addon
    if addon.status == "UPDATING":
        yield Guard(
            f"another update of {addon.name} is in progress",
            f"Wait until it has ended, and look again: aws eks describe-addon --addon-name {addon.name}.",
        )
    elif addon.status not in (*_ACTIVE, *_MENDABLE):
        issues = "".join(f"; {each.code}: {each.message}" for each in addon.issues)
        yield Guard(f"{addon.name} is {addon.status}{issues}", "Fix that first: EKS accepts no update of it now.")


def _of_version(plan: AddonPlan) -> Iterator[Guard]:
    facts = plan.facts
    name, target = facts.addon.name, facts.target.version
    if facts.offered is False:
        yield Guard(
            f"EKS does not offer {target} for Kubernetes {facts.cluster.version}",
            f"Name one that it offers: aws eks describe-addon-versions --addon-name {name}.",
        )
    for each in plan.findings:
        if each.code.name == "addon-update-refused":
            yield Guard(each.message, "\n".join(remedy.text for remedy in each.remedy))
        if each.code.name == "addon-values-refused" and each.status is Status.FAIL and each.severity is Severity.HIGH:
            yield Guard(each.message, "\n".join(remedy.text for remedy in each.remedy))


def _of_fields(plan: AddonPlan, on_purpose: bool) -> Iterator[Guard]:
    mode = plan.asked.mode
    if mode is Mode.NONE and plan.conflict:
        fields = _named(change for change in plan.changes if change.fate(mode) is Fate.CONFLICT)
        yield Guard(
            f"with NONE it would fail for a conflict with {fields}",
            "--resolve-conflicts PRESERVE leaves them to their current manager, OVERWRITE takes them.",
        )
    lost = [change for change in plan.changes if change.at_risk and change.fate(mode) in (Fate.RESET, Fate.REMOVED)]
    if lost and not on_purpose:
        yield Guard(
            f"with {mode.value} it would take {_named(iter(lost))}, and no configuration value that is known keeps it",
            "--resolve-conflicts PRESERVE leaves it as it is; --as-asked sends the update all the same.",
        )


def _named(changes: Iterator[FieldChange]) -> str:
    names = [calls(change.field) for change in changes]
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more


# How far a workload's rollout is. Source: kubectl pkg/polymorphichelpers/rollout_status.go.


WORKLOADS = ("DaemonSet", "Deployment")


@frozen
class RolloutState:
    """`updated` of `desired` pods are of the newest template, `available` of them can be used. `by_hand`: pods are
    replaced when somebody deletes them. `stuck`: why the server has given it up, a clause, "" where it has not."""

    of: ObjectName
    desired: int
    updated: int
    available: int
    seen: bool  # its controller has looked at the newest template
    old: int = 0  # pods of an older template that are still there
    by_hand: bool = False
    stuck: str = ""

    @property
    def done(self) -> bool:
        if self.by_hand:
            return self.seen
        enough = self.updated >= self.desired and self.available >= self.desired
        return self.seen and enough and not self.old

    def __str__(self) -> str:
        """``DaemonSet.apps aws-node: 3 of 14 pods are new, 12 available``."""
        if not self.seen:
            return f"{self.of}: its controller has not processed it yet"
        if self.by_hand:
            return f"{self.of}: {self.updated} of {self.desired} pods are new, the others once they are deleted"
        return f"{self.of}: {self.updated} of {self.desired} pods are new, {self.available} available"


def rollout(doc: Doc) -> RolloutState | None:
    """None: it is no workload."""
    kind = doc.get("kind")
    if kind not in WORKLOADS:
        return None
    seen = _number(doc, "status", "observedGeneration") >= _number(doc, "metadata", "generation")
    return _daemon_set(doc, seen) if kind == "DaemonSet" else _deployment(doc, seen)


def _daemon_set(doc: Doc, seen: bool) -> RolloutState:
    return RolloutState(
        named(doc),
        _number(doc, "status", "desiredNumberScheduled"),
        _number(doc, "status", "updatedNumberScheduled"),
        _number(doc, "status", "numberAvailable"),
        seen,
        by_hand=at(doc, "spec", "updateStrategy", "type") == "OnDelete",
    )


def _deployment(doc: Doc, seen: bool) -> RolloutState:
    wanted = at(doc, "spec", "replicas")
    updated = _number(doc, "status", "updatedReplicas")
    stuck = ""
    for each in at(doc, "status", "conditions") or ():
        if each.get("type") == "Progressing" and each.get("reason") == "ProgressDeadlineExceeded":
            stuck = str(each.get("message") or "it has exceeded its progress deadline")
    return RolloutState(
        named(doc),
        wanted if isinstance(wanted, int) else 1,
        updated,
        _number(doc, "status", "availableReplicas"),
        seen,
        old=max(0, _number(doc, "status", "replicas") - updated),
        stuck=stuck,
    )


def _number(doc: Doc, *path: str) -> int:
    """The API leaves out what is 0."""
    found = at(doc, *path)
    return found if isinstance(found, int) else 0


def not_ready(pods: tuple[Pod, ...], of: ObjectName) -> tuple[str, ...]:
    """Pods of the workload that are not Ready, each with why, sorted: ``aws-node-x2c on node-1: CrashLoopBackOff``."""
    found = []
    for pod in pods:
        if pod.namespace != of.namespace or pod.ready or pod.finished or not _is_of(pod, of):
            continue
        where = f" on {pod.node}" if pod.node else ""
        found.append(f"{pod.name}{where}: {pod.not_ready_because or 'not Ready yet'}")
    return tuple(sorted(found))


def _is_of(pod: Pod, of: ObjectName) -> bool:
    """A Deployment's pods belong to its ReplicaSets, which are named ``deployment-hash``."""
    owner = pod.owner
    if owner is None:
        return False
    if of.kind == "Deployment":
        return owner.kind == "ReplicaSet" and owner.name.rpartition("-")[0] == of.name
    return (owner.kind, owner.name) == (of.kind, of.name)


# What is sent: the update as it was asked for, or with the values that keep what somebody has set.


@frozen
class Sending:
    """`asked` is what the call says. `keeps`: the fields for whose sake it has values that nobody gave. `on_purpose`:
    the user said what is to be sent, so that what is lost is meant to be."""

    asked: AddonUpdateRequest
    keeps: tuple[FieldChange, ...] = ()
    on_purpose: bool = False


def sending(plan: AddonPlan, as_asked: bool) -> Sending:
    """Nobody loses anything for having said nothing: without values of the user's, the proposed ones go with the call.

    The mode stays as it was asked for: with these values nothing is in conflict, and NONE refuses what was not
    foreseen.
    """
    if as_asked or plan.asked.values is not None:
        return Sending(plan.asked, on_purpose=True)
    way = plan.way_out
    if way is None or not way.usable:
        return Sending(plan.asked)
    return Sending(AddonUpdateRequest(plan.asked.mode, way.values), way.keeps)
