"""Guards of an add-on update: reasons not to send it, and findings to acknowledge first, by the plan of what is
sent."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, nested_field, object_name
from kubectl_eksdoc.model.findings import Finding, Severity, Status
from kubectl_eksdoc.model.nodes import Pod

from .judging import field_name
from .plan import AddonPlan
from .prediction import AddonUpdateRequest, Fate, FieldChange, Mode

_ACTIVE_STATUSES = ("", "ACTIVE")
_UPDATABLE_STATUSES = ("UPDATE_FAILED", "DEGRADED")
"""EKS accepts another update in these states, and the rollback of a failed update is one; it must be acknowledged."""

_MAX_NAMES = 5


@frozen
class Guard:
    """The reason why nothing is sent, a clause, and what to do instead, a sentence."""

    why: str
    hint: str


def find_guards(plan: AddonPlan, is_intended: bool) -> tuple[Guard, ...]:
    """All guards of the update, () for none. `is_intended`: as in `UpdateToSend`."""
    return (*_addon_guards(plan), *_version_guards(plan), *_field_guards(plan, is_intended))


def findings_to_acknowledge(plan: AddonPlan) -> tuple[Finding, ...]:
    """Findings that a user must acknowledge: critical and unknown ones, dropped values, an add-on that is not active.
    In the plan's order."""
    return tuple(each for each in plan.findings if _must_be_acknowledged(each))


def acknowledgement_text(plan: AddonPlan) -> str:
    """The text to type as an acknowledgement: the add-on and its target version."""
    return f"{plan.facts.addon.name} {plan.facts.target.version}"


def changing_fields(plan: AddonPlan) -> tuple[FieldChange, ...]:
    """Fields that are known to change, by object and field."""
    fates = (Fate.RESET, Fate.REMOVED, Fate.FOLLOWS)
    return tuple(change for change in plan.changes if change.fate(plan.request.mode) in fates)


def is_without_effect(plan: AddonPlan) -> bool:
    """Version and values stay the same, and no change or finding is predicted."""
    facts, values = plan.facts, plan.request.values
    same_values = values is None or values == facts.values
    return facts.addon.version == facts.target.version and same_values and not plan.changes and not plan.findings


def _must_be_acknowledged(finding: Finding) -> bool:
    if finding.status is Status.UNKNOWN or finding.code.name in ("addon-values-dropped", "addon-not-active"):
        return True
    return finding.status is Status.FAIL and finding.severity is Severity.CRITICAL


def _addon_guards(plan: AddonPlan) -> Iterator[Guard]:
    addon = plan.facts.addon
    if addon.status == "UPDATING":
        yield Guard(
            f"another update of {addon.name} is in progress",
            f"Wait until it has ended, and look again: aws eks describe-addon --addon-name {addon.name}.",
        )
    elif addon.status not in (*_ACTIVE_STATUSES, *_UPDATABLE_STATUSES):
        issues = "".join(f"; {each.code}: {each.message}" for each in addon.issues)
        yield Guard(f"{addon.name} is {addon.status}{issues}", "Fix that first: EKS accepts no update of it now.")


def _version_guards(plan: AddonPlan) -> Iterator[Guard]:
    facts = plan.facts
    name, target = facts.addon.name, facts.target.version
    if facts.offered is False:
        yield Guard(
            f"EKS does not offer {target} for Kubernetes {facts.cluster.version}",
            f"Name one that it offers: aws eks describe-addon-versions --addon-name {name}.",
        )
    for finding in plan.findings:
        if finding.code.name == "addon-update-refused":
            yield Guard(finding.message, "\n".join(remedy.text for remedy in finding.remedy))
        if (
            finding.code.name == "addon-values-refused"
            and finding.status is Status.FAIL
            and finding.severity is Severity.HIGH
        ):
            yield Guard(finding.message, "\n".join(remedy.text for remedy in finding.remedy))


def _field_guards(plan: AddonPlan, is_intended: bool) -> Iterator[Guard]:
    mode = plan.request.mode
    if mode is Mode.NONE and plan.conflict:
        fields = _names(change for change in plan.changes if change.fate(mode) is Fate.CONFLICT)
        yield Guard(
            f"with NONE it would fail for a conflict with {fields}",
            "--resolve-conflicts PRESERVE leaves them to their current manager, OVERWRITE takes them.",
        )
    lost = [change for change in plan.changes if change.at_risk and change.fate(mode) in (Fate.RESET, Fate.REMOVED)]
    if lost and not is_intended:
        yield Guard(
            f"with {mode.value} it would take {_names(iter(lost))}, and no configuration value that is known keeps it",
            "--resolve-conflicts PRESERVE leaves it as it is; --as-asked sends the update all the same.",
        )


def _names(changes: Iterator[FieldChange]) -> str:
    names = [field_name(change.field) for change in changes]
    suffix = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + suffix


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
    is_observed: bool  # its controller has processed the newest template
    old_pods: int = 0  # pods of older templates that still exist
    by_hand: bool = False
    stuck: str = ""

    @property
    def done(self) -> bool:
        if self.by_hand:
            return self.is_observed
        enough = self.updated >= self.desired and self.available >= self.desired
        return self.is_observed and enough and not self.old_pods

    def __str__(self) -> str:
        """``DaemonSet.apps aws-node: 3 of 14 pods are new, 12 available``."""
        if not self.is_observed:
            return f"{self.of}: its controller has not processed it yet"
        if self.by_hand:
            return f"{self.of}: {self.updated} of {self.desired} pods are new, the others once they are deleted"
        return f"{self.of}: {self.updated} of {self.desired} pods are new, {self.available} available"


def rollout_state(doc: Doc) -> RolloutState | None:
    """None if the object is no workload."""
    kind = doc.get("kind")
    if kind not in WORKLOADS:
        return None
    is_observed = _number_at(doc, "status", "observedGeneration") >= _number_at(doc, "metadata", "generation")
    return _daemon_set_state(doc, is_observed) if kind == "DaemonSet" else _deployment_state(doc, is_observed)


def _daemon_set_state(doc: Doc, is_observed: bool) -> RolloutState:
    return RolloutState(
        object_name(doc),
        _number_at(doc, "status", "desiredNumberScheduled"),
        _number_at(doc, "status", "updatedNumberScheduled"),
        _number_at(doc, "status", "numberAvailable"),
        is_observed,
        by_hand=nested_field(doc, "spec", "updateStrategy", "type") == "OnDelete",
    )


def _deployment_state(doc: Doc, is_observed: bool) -> RolloutState:
    replicas = nested_field(doc, "spec", "replicas")
    updated = _number_at(doc, "status", "updatedReplicas")
    stuck = ""
    for each in nested_field(doc, "status", "conditions") or ():
        if each.get("type") == "Progressing" and each.get("reason") == "ProgressDeadlineExceeded":
            stuck = str(each.get("message") or "it has exceeded its progress deadline")
    return RolloutState(
        object_name(doc),
        replicas if isinstance(replicas, int) else 1,
        updated,
        _number_at(doc, "status", "availableReplicas"),
        is_observed,
        old_pods=max(0, _number_at(doc, "status", "replicas") - updated),
        stuck=stuck,
    )


def _number_at(doc: Doc, *path: str) -> int:
    """The API omits zeros."""
    number = nested_field(doc, *path)
    return number if isinstance(number, int) else 0


def pods_not_ready(pods: tuple[Pod, ...], object_ref: ObjectName) -> tuple[str, ...]:
    """Pods of the workload that are not Ready, each with the reason, sorted:
    ``aws-node-x2c on node-1: CrashLoopBackOff``."""
    lines = []
    for pod in pods:
        if pod.namespace != object_ref.namespace or pod.ready or pod.finished or not _belongs_to(pod, object_ref):
            continue
        location = f" on {pod.node}" if pod.node else ""
        lines.append(f"{pod.name}{location}: {pod.not_ready_because or 'not Ready yet'}")
    return tuple(sorted(lines))


def _belongs_to(pod: Pod, object_ref: ObjectName) -> bool:
    """A Deployment's pods belong to its ReplicaSets, which are named ``deployment-hash``."""
    owner = pod.owner
    if owner is None:
        return False
    if object_ref.kind == "Deployment":
        return owner.kind == "ReplicaSet" and owner.name.rpartition("-")[0] == object_ref.name
    return (owner.kind, owner.name) == (object_ref.kind, object_ref.name)


# The update that is sent: as requested, or with the values that keep what other clients have set.


@frozen
class UpdateToSend:
    """`request` is the request that is sent. `keeps`: the fields that it keeps with values that the user did not give.
    `is_intended`: the user gave the values or asked for none to be added (--as-asked), so lost fields are intended."""

    request: AddonUpdateRequest
    keeps: tuple[FieldChange, ...] = ()
    is_intended: bool = False


def choose_update(plan: AddonPlan, is_as_asked: bool) -> UpdateToSend:
    """Choose the update to send: if the user gives no values and proposed ones are usable, these are sent, so that
    nobody loses a field by giving none. `is_as_asked`: send the request unchanged.

    The mode stays as requested: with these values no field conflicts, and NONE refuses unforeseen conflicts.
    """
    if is_as_asked or plan.request.values is not None:
        return UpdateToSend(plan.request, is_intended=True)
    proposed = plan.way_out
    if proposed is None or not proposed.is_usable:
        return UpdateToSend(plan.request)
    return UpdateToSend(AddonUpdateRequest(plan.request.mode, proposed.values), proposed.keeps)
