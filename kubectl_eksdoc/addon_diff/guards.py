"""Guards of an add-on update: reasons not to send it, and findings to acknowledge first, by the plan of what is
sent."""

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
"""EKS accepts another update in these states, and the rollback of a failed update is one; it must be acknowledged."""

_MOST = 5


@frozen
class Guard:
    """The reason why nothing is sent, a clause, and what to do instead, a sentence."""

    why: str
    hint: str


def refusals(plan: AddonPlan, on_purpose: bool) -> tuple[Guard, ...]:
    """All guards of the update, () for none. `is_intended`: as in `UpdateToSend`."""
    return (*_of_addon(plan), *_of_version(plan), *_of_fields(plan, on_purpose))


def to_acknowledge(plan: AddonPlan) -> tuple[Finding, ...]:
    """Findings that a user must acknowledge: critical and unknown ones, dropped values, an add-on that is not active.
    In the plan's order."""
    return tuple(each for each in plan.findings if _weighs(each))


def acknowledgement(plan: AddonPlan) -> str:
    """The text to type as an acknowledgement: the add-on and its target version."""
    return f"{plan.facts.addon.name} {plan.facts.target.version}"


def changing(plan: AddonPlan) -> tuple[FieldChange, ...]:
    """Fields that are known to change, by object and field."""
    fates = (Fate.RESET, Fate.REMOVED, Fate.FOLLOWS)
    return tuple(change for change in plan.changes if change.fate(plan.asked.mode) in fates)


def is_nothing(plan: AddonPlan) -> bool:
    """Version and values stay the same, and no change or finding is predicted."""
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


# Progress of a workload's rollout. Source: kubectl pkg/polymorphichelpers/rollout_status.go.


WORKLOADS = ("DaemonSet", "Deployment")


@frozen
class RolloutState:
    """Of `desired` pods, `updated` have the newest template and `available` are available. `by_hand`: pods are replaced
    only when they are deleted. `stuck`: why the API server reports the rollout as failed, a clause, "" if it does
    not."""

    of: ObjectName
    desired: int
    updated: int
    available: int
    seen: bool  # its controller has processed the newest template
    old: int = 0  # pods of older templates that still exist
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
    """None if the object is no workload."""
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
    """The API omits zeros."""
    found = at(doc, *path)
    return found if isinstance(found, int) else 0


def not_ready(pods: tuple[Pod, ...], of: ObjectName) -> tuple[str, ...]:
    """Pods of the workload that are not Ready, each with the reason, sorted:
    ``aws-node-x2c on node-1: CrashLoopBackOff``."""
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


# The update that is sent: as requested, or with the values that keep what other clients have set.


@frozen
class Sending:
    """`request` is the request that is sent. `keeps`: the fields that it keeps with values that the user did not give.
    `is_intended`: the user gave the values, so lost fields are intended."""

    asked: AddonUpdateRequest
    keeps: tuple[FieldChange, ...] = ()
    on_purpose: bool = False


def sending(plan: AddonPlan, as_asked: bool) -> Sending:
    """Choose the update to send: if the user gives no values, the proposed ones are sent, so that no field is lost.

    The mode stays as requested: with these values no field conflicts, and NONE refuses unforeseen conflicts.
    """
    if as_asked or plan.asked.values is not None:
        return Sending(plan.asked, on_purpose=True)
    way = plan.way_out
    if way is None or not way.usable:
        return Sending(plan.asked)
    return Sending(AddonUpdateRequest(plan.asked.mode, way.values), way.keeps)
