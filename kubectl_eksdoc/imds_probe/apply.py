"""Execution of a metadata fix: options of running instances, a launch template with its node group, an EC2NodeClass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from kubectl_eksdoc.amazon.group_updates import UpdateStage, stage_of_update
from kubectl_eksdoc.amazon.metadata_service import ImdsReach
from kubectl_eksdoc.changes.engine import ChangeEnvironment, ChangeKind, SentSteps, Step
from kubectl_eksdoc.errors import AwsDenied, AwsError, AwsMissing, AwsRefused, ClusterError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.addons import EksAddonUpdate, HealthIssue
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.change_journal import ChangePart, PartOutcome
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.machines import Instance, NodeGroup
from kubectl_eksdoc.model.metadata import (
    InstanceOptionsChange,
    InstancesFix,
    LaunchTemplateFix,
    MetadataFix,
    NodeClassFix,
)
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.ports import ProbeNamespace
from kubectl_eksdoc.probes.pods import ProbeClock

from .probe import prepare_probe, run_probe
from .probe_result import ProbedNode, ProbeSettings
from .run import FixDone, class_patch, instance_part, node_class_part, node_group_part, node_part, stage_by_node_group

# Ports to AWS and the cluster, implemented by `aws` and `kube`.


class MetadataAws(Protocol):
    """AWS requests that change metadata options. Every method may raise AwsError: no request is possible now."""

    def instances(self, ids: Sequence[str]) -> Mapping[str, Instance | Absent | Unknown]:
        """By instance ID."""
        ...

    def group(self, name: str) -> NodeGroup | Absent | Unknown:
        """A managed node group."""
        ...

    def set_options(self, act: InstanceOptionsChange, dry: bool = False) -> None:
        """Change the options; EC2 applies the accepted change shortly after. `dry`: only check whether EC2 would accept
        it.

        Raises:
            AwsDenied, AwsRefused, AwsMissing, AwsThrottled, AwsLogin: nothing was changed; the error says why.
            AwsError: whether the options were changed is unknown.
        """
        ...

    def new_version(self, act: LaunchTemplateFix, token: str, dry: bool = False) -> int:
        """Create a template version and return its number, 0 for a dry run; a repeated `token` returns the same
        version. Raises: as `set_options`."""
        ...

    def version_of(self, act: LaunchTemplateFix, token: str) -> int | Unknown:
        """The number of the version that was created with `token`, 0 for none."""
        ...

    def update_group(self, act: LaunchTemplateFix, number: int, token: str) -> EksAddonUpdate:
        """Start the update; a repeated `token` returns the same update. Raises: as `set_options`."""
        ...

    def update_to(self, act: LaunchTemplateFix, number: int) -> str | Unknown:
        """The ID of the group's update to that template version, "" if there is none."""
        ...

    def update(self, group: str, ident: str) -> EksAddonUpdate | Unknown | Absent:
        """The state of an update, by EKS's ID."""
        ...


class NodeClasses(Protocol):
    """EC2NodeClasses of Karpenter, by name. Every method may raise ClusterError: the cluster cannot be reached."""

    def one(self, name: str) -> Doc | Absent | Unknown:
        """`Unknown.missing` is the missing right."""
        ...

    def patch(self, name: str, body: Doc, dry: bool = False) -> Doc:
        """Patch the object and return its new state. `body`: a merge patch; a resourceVersion restricts it to that
        version.

        Raises:
            Drifted: the object has changed since; nothing was changed.
            Forbidden, Unauthorized: the patch is not allowed.
            ClusterError: the patch failed, or its result is unknown.
        """
        ...


@frozen
class FixPorts:
    """`read_members`: the current nodes of a group by name, each with its instance. `test_pods`: tests the access from
    pods on nodes, by name; None without test pods."""

    aws: MetadataAws
    classes: NodeClasses
    read_members: Callable[[str], Mapping[str, Instance | Absent | Unknown] | Unknown]
    test_pods: Callable[[Sequence[str]], tuple[ChangePart, ...]] | None = None


def build_fix(action: MetadataFix, token: str, ports: FixPorts, world: ChangeEnvironment) -> ChangeKind[FixDone]:
    """`token` identifies this fix to EC2 and EKS."""
    match action:
        case InstancesFix():
            return _OnInstances(action, ports, world)
        case LaunchTemplateFix():
            return _OnTemplate(action, token, ports, world)
        case NodeClassFix():
            return _OnClass(action, ports, world)


class _Fix(ChangeKind[FixDone]):
    def journal_record(self, result: FixDone) -> Doc:
        """An unknown part does not count as applied."""
        parts = [{"what": part.what, "became": part.became.value, "why": part.why} for part in result.parts]
        return {"whole": result.whole and not result.parts_with(PartOutcome.UNKNOWN), "parts": parts}


def _with_proofs(result: FixDone, nodes: tuple[str, ...], ports: FixPorts) -> FixDone:
    """`nodes` have the new options."""
    return replace(result, proofs=ports.test_pods(nodes)) if ports.test_pods is not None and result.whole else result


# Options of running instances: one call for each, until all are applied.


PENDING_VISIBLE_S = 60.0
"""EC2 shows an accepted change as pending within seconds: if the options are unchanged after this time, it was not
accepted."""


class _OnInstances(_Fix):
    def __init__(self, action: InstancesFix, ports: FixPorts, world: ChangeEnvironment) -> None:
        self._action, self._ports, self._world = action, ports, world
        self._instances: Mapping[str, Instance | Absent | Unknown] = {}
        self._pending: set[str] = set()
        self._reported: set[str] = set()
        self._last_pending_s: float | None = None

    def steps(self, sent: SentSteps) -> Iterator[Step]:
        self._read()
        for change in self._action.each:
            if instance_part(change, self._instances[change.instance]).became is PartOutcome.PENDING:
                self._pending.add(change.instance)  # sent by an interrupted process
            yield self._step(change)

    def _step(self, change: InstanceOptionsChange) -> Step:
        def send() -> Doc:
            self._ports.aws.set_options(change)
            self._world.report(f"{change}: asked for")
            return {}

        return Step(
            change.instance, lambda: instance_part(change, self._instances[change.instance]), send, is_independent=True
        )

    def _read(self) -> None:
        self._instances = self._ports.aws.instances([each.instance for each in self._action.each])

    def has_finished(self, sent: SentSteps) -> bool:
        sent_changes = [each for each in self._action.each if each.instance in {*sent.responses, *self._pending}]
        if not sent_changes:
            return True
        self._read()
        parts = [instance_part(each, self._instances[each.instance]) for each in sent_changes]
        for part in parts:
            if part.became is PartOutcome.DONE and str(part) not in self._reported:
                self._reported.add(str(part))
                self._world.report(str(part))
        now_s = self._world.clock.monotonic()
        if any(part.became is PartOutcome.PENDING for part in parts):
            self._last_pending_s = now_s
            return False
        self._last_pending_s = now_s if self._last_pending_s is None else self._last_pending_s
        return now_s - self._last_pending_s >= PENDING_VISIBLE_S or not any(
            part.became is PartOutcome.AS_BEFORE for part in parts
        )

    def result(self, sent: SentSteps) -> FixDone:
        try:
            self._read()
        except AwsError as error:
            self._instances = {each.instance: Unknown(error.message) for each in self._action.each}
        parts = {each.instance: self._part(each, sent) for each in self._action.each}
        applied_states = (PartOutcome.DONE, PartOutcome.PENDING)
        changed = tuple(
            ident for ident, part in parts.items() if part.became in applied_states and sent.may_have_made(ident)
        )
        result = FixDone(self._action, sent.seconds, tuple(parts.values()), sent.incomplete_reason, changed=changed)
        return _with_proofs(result, self._action.nodes, self._ports)

    def _part(self, change: InstanceOptionsChange, sent: SentSteps) -> ChangePart:
        part = instance_part(change, self._instances[change.instance])
        if part.became is not PartOutcome.AS_BEFORE:
            return part
        if change.instance in sent.past.accepted:
            return replace(part, became=PartOutcome.SET_BACK)
        return replace(part, why=sent.refusals.get(change.instance) or part.why)


# A patch of an EC2NodeClass, restricted to the version that was read.


class _OnClass(_Fix):
    def __init__(self, action: NodeClassFix, ports: FixPorts, world: ChangeEnvironment) -> None:
        self._action, self._classes, self._world = action, ports.classes, world
        self._name = f"EC2NodeClass {action.name}"
        self._body: Doc = {}

    def steps(self, sent: SentSteps) -> Iterator[Step]:
        yield Step(self._name, self._read, self._send, dry_run=self._dry_run)

    def _read(self) -> ChangePart:
        document = self._classes.one(self._action.name)
        if not isinstance(document, (Absent, Unknown)):
            self._body = class_patch(self._action, document)
        return node_class_part(self._action, document)

    def _dry_run(self) -> None:
        self._classes.patch(self._action.name, self._body, dry=True)
        self._world.report(f"{self._name}: the API server would take it (dry run)")

    def _send(self) -> Doc:
        self._classes.patch(self._action.name, self._body)
        return {}

    def result(self, sent: SentSteps) -> FixDone:
        try:
            part = self._read()
        except ClusterError as error:  # the change is reported although its result is unknown
            part = ChangePart(self._name, PartOutcome.UNKNOWN, error.message)
        if part.became is PartOutcome.AS_BEFORE and self._name in sent.past.accepted:
            part = replace(part, became=PartOutcome.SET_BACK)
        self._world.report(str(part))
        changed = (self._action.name,) if sent.may_have_made(self._name) and part.became is PartOutcome.DONE else ()
        return FixDone(self._action, sent.seconds, (part,), sent.incomplete_reason, changed=changed)


# A new version of a launch template, and the update of its node group, followed until EKS has ended it.


_VERSION_STEP, _UPDATE_STEP = "version", "update"


class _OnTemplate(_Fix):
    def __init__(self, action: LaunchTemplateFix, token: str, ports: FixPorts, world: ChangeEnvironment) -> None:
        self._action, self._token, self._ports, self._aws, self._world = action, token, ports, ports.aws, world
        self._number, self._update = action.to, ""
        self._stage, self._errors, self._reported = UpdateStage.ASKED, tuple[HealthIssue, ...](), ""

    def steps(self, sent: SentSteps) -> Iterator[Step]:
        progress = sent.past
        self._update = str(progress.answer(_UPDATE_STEP, "update") or "")
        if not self._action.to:
            self._number = int(str(progress.answer(_VERSION_STEP, "number") or 0))
            is_known = bool(self._number)
            yield Step(_VERSION_STEP, self._read_version, self._new_version)
            self._update = self._update or (self._find_update() if is_known else "")
        unused_text = "" if self._action.to else f"; version {self._number} of its launch template is unused"
        unsure_hint = "If it has, it continues in EKS. --resume looks for it first, and starts no second one."
        yield Step(
            _UPDATE_STEP,
            self._read_group,
            self._start_update,
            uncertain_hint=unsure_hint,
            drift_hint=f"It was not changed{unused_text}.",
        )

    def _read_version(self) -> ChangePart:
        """A version whose response was lost is found again by its token."""
        if not self._number:
            found_number = self._aws.version_of(self._action, self._token)
            if isinstance(found_number, int) and found_number:
                self._number = found_number
                self._world.note({"entry": "asked", "what": _VERSION_STEP, "number": found_number})
        name = f"launch template {self._action.id} version {self._number or 'to be made'}"
        return ChangePart(name, PartOutcome.DONE if self._number else PartOutcome.AS_BEFORE)

    def _new_version(self) -> Doc:
        self._number = self._aws.new_version(self._action, self._token)
        self._world.report(
            f"launch template {self._action.id}: version {self._number} is made, and used by nothing yet"
        )
        return {"number": self._number}

    def _find_update(self) -> str:
        """The ID of an update whose response was lost."""
        update_id = self._aws.update_to(self._action, self._number)
        if isinstance(update_id, Unknown):
            self._world.report(
                f"node group {self._action.group}: whether the update has begun is not known: {update_id.why} "
                f"({update_id.missing}). It is asked for again with the same token, by which EKS begins it once"
            )
            return ""
        if update_id:
            self._world.note({"entry": "asked", "what": _UPDATE_STEP, "update": update_id})
        return update_id

    def _read_group(self) -> ChangePart:
        part = node_group_part(self._action, self._number, self._aws.group(self._action.group))
        return ChangePart(part.what, PartOutcome.PENDING, f"update {self._update}") if self._update else part

    def _start_update(self) -> Doc:
        self._update = self._aws.update_group(self._action, self._number, self._token).id
        self._world.report(
            f"node group {self._action.group}: update {self._update} to version {self._number} has begun"
        )
        return {"update": self._update}

    def has_finished(self, sent: SentSteps) -> bool:
        if not self._update:
            self._stage = UpdateStage.SUCCESSFUL if not sent.incomplete_reason else UpdateStage.ASKED
            return True
        self._errors = ()
        try:
            update = self._aws.update(self._action.group, self._update)
            if isinstance(update, EksAddonUpdate):
                self._stage, self._errors, note = stage_of_update(update), update.errors, ""
            else:
                self._stage = stage_by_node_group(self._aws.group(self._action.group), self._number, self._stage)
                note = f" (by the node group itself: {update.why})"
            line = f"update {self._update}: {self._stage.value}{note}"
        except AwsError as error:
            line = f"AWS does not answer; the update continues in EKS: {error.message}"
        if line != self._reported:
            self._reported = line
            self._world.report(line)
        return self._stage.has_ended

    def result(self, sent: SentSteps) -> FixDone:
        action, stage = self._action, self._stage
        part = self._final_part()
        if part.became is PartOutcome.AS_BEFORE and stage is UpdateStage.SUCCESSFUL:
            part = replace(part, became=PartOutcome.SET_BACK)
        node_names, nodes = self._read_nodes() if stage is UpdateStage.SUCCESSFUL and not action.to else ((), ())
        limit = "as it was before the fix" if action.to else f"hop limit {action.hop_limit}"
        version_part = ChangePart(f"launch template {action.id} version {self._number}", PartOutcome.DONE, limit)
        changed = (action.group,) if part.became in (PartOutcome.DONE, PartOutcome.PENDING) else ()
        parts, update, errors = ((version_part, part) if self._number else (part,)), self._update, self._errors
        result = FixDone(
            action,
            sent.seconds,
            parts,
            sent.incomplete_reason,
            self._number,
            update,
            stage,
            errors,
            nodes,
            node_names,
            changed=changed,
        )
        return _with_proofs(result, node_names, self._ports)

    def _final_part(self) -> ChangePart:
        try:
            part = node_group_part(self._action, self._number, self._aws.group(self._action.group))
        except AwsError as error:
            return ChangePart(f"node group {self._action.group}", PartOutcome.UNKNOWN, error.message)
        is_pending = part.became is PartOutcome.AS_BEFORE and not self._stage.has_ended and bool(self._update)
        return replace(part, became=PartOutcome.PENDING) if is_pending else part

    def _read_nodes(self) -> tuple[tuple[str, ...], tuple[ChangePart, ...]]:
        """The names of the group's nodes, and their current state."""
        group = self._action.group
        try:
            members = self._ports.read_members(group)
        except AwsError as error:
            members = Unknown(error.message)
        if isinstance(members, Unknown):
            return (), (ChangePart(f"nodes of {group}", PartOutcome.UNKNOWN, members.why),)
        names = tuple(sorted(members))
        return names, tuple(node_part(name, self._action.hop_limit, members[name]) for name in names)


# A dry run of a fix against AWS and the cluster: nothing is changed.


def dry_run(action: MetadataFix, token: str, aws: MetadataAws, classes: NodeClasses) -> tuple[bool, tuple[str, ...]]:
    """Whether all changes would be accepted, and a line for each.

    Raises:
        AwsError, ClusterError: no request is possible.
    """
    results = list(_dry_run_lines(action, token, aws, classes))
    return all(is_accepted for is_accepted, _ in results), tuple(line for _, line in results)


def _dry_run_lines(
    action: MetadataFix, token: str, aws: MetadataAws, classes: NodeClasses
) -> Iterator[tuple[bool, str]]:
    match action:
        case InstancesFix(changes):
            for change in changes:
                try:
                    aws.set_options(change, dry=True)
                    yield True, f"{change}: EC2 would take it"
                except (AwsDenied, AwsMissing, AwsRefused) as error:
                    yield False, f"{change}: {error.message}"
        case LaunchTemplateFix():
            try:
                if not action.to:
                    aws.new_version(action, token, dry=True)
                    yield True, f"launch template {action.id}: EC2 would make the version"
            except (AwsDenied, AwsMissing, AwsRefused) as error:
                yield False, f"launch template {action.id}: {error.message}"
            yield True, f"node group {action.group}: EKS has no dry run, so whether it takes the update is not known"
        case NodeClassFix():
            yield _dry_run_class(action, classes)


def _dry_run_class(action: NodeClassFix, classes: NodeClasses) -> tuple[bool, str]:
    name = f"EC2NodeClass {action.name}"
    document = classes.one(action.name)
    if isinstance(document, (Absent, Unknown)):
        return False, f"{name}: {document.why}"
    try:
        classes.patch(action.name, class_patch(action, document), dry=True)
    except ClusterError as error:
        return False, f"{name}: {error.message}"
    return True, f"{name}: the API server would take it"


# Test of a fix from pods, by the active probe.


_STATE_BY_REACH = {ImdsReach.REACHABLE: PartOutcome.DONE, ImdsReach.UNKNOWN: PartOutcome.UNKNOWN}


def test_from_pods(
    nodes: Iterable[Node],
    probe_namespace: ProbeNamespace,
    probe_id: str,
    settings: ProbeSettings,
    is_every_node: bool,
    clock: ProbeClock,
    world: ChangeEnvironment,
) -> tuple[ChangePart, ...]:
    """Test one node of each kind, or every node. What cannot be tested is unknown, and reverts nothing."""
    try:
        plan = prepare_probe(nodes, probe_namespace, probe_id, settings, is_every_node=is_every_node)
        if not plan.pods:
            return (ChangePart("pods", PartOutcome.UNKNOWN, "there is no node on which one can ask"),)
        run = run_probe(plan, probe_namespace, clock, world.stop_count, world.report)
    except ClusterError as error:
        return (ChangePart("pods", PartOutcome.UNKNOWN, error.message),)
    parts = [_pod_result(each) for each in run.nodes]
    if run.not_removed or run.left:
        parts.append(
            ChangePart(f"ConfigMap {run.owner}", PartOutcome.UNKNOWN, "what the probe made is still there: delete it")
        )
    return tuple(parts)


def _pod_result(probed_node: ProbedNode) -> ChangePart:
    reach, reason = probed_node.v4.reach, probed_node.v4.why
    text = f"{reach.value}: {reason}" if reason else reach.value
    return ChangePart(f"a pod on {probed_node.node}", _STATE_BY_REACH.get(reach, PartOutcome.OTHER), text)
