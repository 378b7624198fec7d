"""Execution of a metadata fix: options of running instances, a launch template with its node group, an EC2NodeClass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from kubectl_eksdoc.amazon.group_updates import Stage, stage_of
from kubectl_eksdoc.amazon.metadata_service import Reach
from kubectl_eksdoc.changes.engine import Kind, Sent, Step, World
from kubectl_eksdoc.errors import AwsDenied, AwsError, AwsMissing, AwsRefused, ClusterError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.addons import EksAddonUpdate, Issue
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.change_journal import Became, Part
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.machines import Instance, NodeGroup
from kubectl_eksdoc.model.metadata import Act, OnClass, OnInstances, OnTemplate, SetOptions
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.ports import ProbeNamespace
from kubectl_eksdoc.probes.pods import ImdsProbeClock

from .probe import prepared, probed
from .probe_result import ProbedNode, ProbeSettings
from .run import FixDone, class_patch, of_class, of_group, of_instance, of_node, stage_by_group

# Ports to AWS and the cluster, implemented by `aws` and `kube`.


class MetadataAws(Protocol):
    """AWS requests that change metadata options. Every method may raise AwsError: no request is possible now."""

    def instances(self, ids: Sequence[str]) -> Mapping[str, Instance | Absent | Unknown]:
        """By instance ID."""
        ...

    def group(self, name: str) -> NodeGroup | Absent | Unknown:
        """A managed node group."""
        ...

    def set_options(self, act: SetOptions, dry: bool = False) -> None:
        """Change the options; EC2 applies the accepted change shortly after. `dry`: only check whether EC2 would accept
        it.

        Raises:
            AwsDenied, AwsRefused, AwsMissing, AwsThrottled, AwsLogin: nothing was changed; the error says why.
            AwsError: whether the options were changed is unknown.
        """
        ...

    def new_version(self, act: OnTemplate, token: str, dry: bool = False) -> int:
        """Create a template version and return its number, 0 for a dry run; a repeated `token` returns the same
        version. Raises: as `set_options`."""
        ...

    def version_of(self, act: OnTemplate, token: str) -> int | Unknown:
        """The number of the version that was created with `token`, 0 for none."""
        ...

    def update_group(self, act: OnTemplate, number: int, token: str) -> EksAddonUpdate:
        """Start the update; a repeated `token` returns the same update. Raises: as `set_options`."""
        ...

    def update_to(self, act: OnTemplate, number: int) -> str | Unknown:
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
class Ports:
    """`read_members`: the current nodes of a group by name, each with its instance. `test_pods`: tests the access from
    pods on nodes, by name; None without test pods."""

    aws: MetadataAws
    classes: NodeClasses
    members: Callable[[str], Mapping[str, Instance | Absent | Unknown] | Unknown]
    prove: Callable[[Sequence[str]], tuple[Part, ...]] | None = None


def fix_of(act: Act, token: str, ports: Ports, world: World) -> Kind[FixDone]:
    """`token` identifies this fix to EC2 and EKS."""
    match act:
        case OnInstances():
            return _OnInstances(act, ports, world)
        case OnTemplate():
            return _OnTemplate(act, token, ports, world)
        case OnClass():
            return _OnClass(act, ports, world)


class _Fix(Kind[FixDone]):
    def kept(self, result: FixDone) -> Doc:
        """An unknown part does not count as applied."""
        parts = [{"what": part.what, "became": part.became.value, "why": part.why} for part in result.parts]
        return {"whole": result.whole and not result.of(Became.UNKNOWN), "parts": parts}


def _proved(done: FixDone, nodes: tuple[str, ...], ports: Ports) -> FixDone:
    """`nodes` have the new options."""
    return replace(done, proofs=ports.prove(nodes)) if ports.prove is not None and done.whole else done


# Options of running instances: one call for each, until all are applied.


SHOWN_S = 60.0
"""EC2 shows an accepted change as pending within seconds: if the options are unchanged after this time, it was not
accepted."""


class _OnInstances(_Fix):
    def __init__(self, act: OnInstances, ports: Ports, world: World) -> None:
        self._act, self._ports, self._world = act, ports, world
        self._now: Mapping[str, Instance | Absent | Unknown] = {}
        self._pending: set[str] = set()
        self._said: set[str] = set()
        self._shown_s: float | None = None

    def steps(self, sent: Sent) -> Iterator[Step]:
        self._read()
        for each in self._act.each:
            if of_instance(each, self._now[each.instance]).became is Became.PENDING:
                self._pending.add(each.instance)  # sent by an interrupted process
            yield self._step(each)

    def _step(self, each: SetOptions) -> Step:
        def send() -> Doc:
            self._ports.aws.set_options(each)
            self._world.tell(f"{each}: asked for")
            return {}

        return Step(each.instance, lambda: of_instance(each, self._now[each.instance]), send, apart=True)

    def _read(self) -> None:
        self._now = self._ports.aws.instances([each.instance for each in self._act.each])

    def over(self, sent: Sent) -> bool:
        waits = [each for each in self._act.each if each.instance in {*sent.asked, *self._pending}]
        if not waits:
            return True
        self._read()
        parts = [of_instance(each, self._now[each.instance]) for each in waits]
        for part in parts:
            if part.became is Became.DONE and str(part) not in self._said:
                self._said.add(str(part))
                self._world.tell(str(part))
        now_s = self._world.clock.monotonic()
        if any(part.became is Became.PENDING for part in parts):
            self._shown_s = now_s
            return False
        self._shown_s = now_s if self._shown_s is None else self._shown_s
        return now_s - self._shown_s >= SHOWN_S or not any(part.became is Became.AS_BEFORE for part in parts)

    def result(self, sent: Sent) -> FixDone:
        try:
            self._read()
        except AwsError as error:
            self._now = {each.instance: Unknown(error.message) for each in self._act.each}
        parts = {each.instance: self._part(each, sent) for each in self._act.each}
        there = (Became.DONE, Became.PENDING)
        changed = tuple(ident for ident, part in parts.items() if part.became in there and sent.ours(ident))
        done = FixDone(self._act, sent.seconds, tuple(parts.values()), sent.left, changed=changed)
        return _proved(done, self._act.nodes, self._ports)

    def _part(self, each: SetOptions, sent: Sent) -> Part:
        part = of_instance(each, self._now[each.instance])
        if part.became is not Became.AS_BEFORE:
            return part
        if each.instance in sent.past.taken:
            return replace(part, became=Became.SET_BACK)
        return replace(part, why=sent.refused.get(each.instance) or part.why)


# A patch of an EC2NodeClass, restricted to the version that was read.


class _OnClass(_Fix):
    def __init__(self, act: OnClass, ports: Ports, world: World) -> None:
        self._act, self._classes, self._world = act, ports.classes, world
        self._what = f"EC2NodeClass {act.name}"
        self._body: Doc = {}

    def steps(self, sent: Sent) -> Iterator[Step]:
        yield Step(self._what, self._read, self._send, tried=self._tried)

    def _read(self) -> Part:
        now = self._classes.one(self._act.name)
        if not isinstance(now, (Absent, Unknown)):
            self._body = class_patch(self._act, now)
        return of_class(self._act, now)

    def _tried(self) -> None:
        self._classes.patch(self._act.name, self._body, dry=True)
        self._world.tell(f"{self._what}: the API server would take it (dry run)")

    def _send(self) -> Doc:
        self._classes.patch(self._act.name, self._body)
        return {}

    def result(self, sent: Sent) -> FixDone:
        try:
            part = self._read()
        except ClusterError as error:  # the change is reported although its result is unknown
            part = Part(self._what, Became.UNKNOWN, error.message)
        if part.became is Became.AS_BEFORE and self._what in sent.past.taken:
            part = replace(part, became=Became.SET_BACK)
        self._world.tell(str(part))
        changed = (self._act.name,) if sent.ours(self._what) and part.became is Became.DONE else ()
        return FixDone(self._act, sent.seconds, (part,), sent.left, changed=changed)


# A new version of a launch template, and the update of its node group, followed until EKS has ended it.


_VERSION, _UPDATE = "version", "update"


class _OnTemplate(_Fix):
    def __init__(self, act: OnTemplate, token: str, ports: Ports, world: World) -> None:
        self._act, self._token, self._ports, self._aws, self._world = act, token, ports, ports.aws, world
        self._number, self._update = act.to, ""
        self._stage, self._errors, self._said = Stage.ASKED, tuple[Issue, ...](), ""

    def steps(self, sent: Sent) -> Iterator[Step]:
        past = sent.past
        self._update = str(past.answer(_UPDATE, "update") or "")
        if not self._act.to:
            self._number = int(str(past.answer(_VERSION, "number") or 0))
            known = bool(self._number)
            yield Step(_VERSION, self._version, self._new_version)
            self._update = self._update or (self._found() if known else "")
        unused = "" if self._act.to else f"; version {self._number} of its launch template is unused"
        unsure = "If it has, it continues in EKS. --resume looks for it first, and starts no second one."
        yield Step(_UPDATE, self._group, self._begin, unsure=unsure, drifted=f"It was not changed{unused}.")

    def _version(self) -> Part:
        """A version whose response was lost is found again by its token."""
        if not self._number:
            known = self._aws.version_of(self._act, self._token)
            if isinstance(known, int) and known:
                self._number = known
                self._world.note({"entry": "asked", "what": _VERSION, "number": known})
        what = f"launch template {self._act.id} version {self._number or 'to be made'}"
        return Part(what, Became.DONE if self._number else Became.AS_BEFORE)

    def _new_version(self) -> Doc:
        self._number = self._aws.new_version(self._act, self._token)
        self._world.tell(f"launch template {self._act.id}: version {self._number} is made, and used by nothing yet")
        return {"number": self._number}

    def _found(self) -> str:
        """The ID of an update whose response was lost."""
        known = self._aws.update_to(self._act, self._number)
        if isinstance(known, Unknown):
            self._world.tell(
                f"node group {self._act.group}: whether the update has begun is not known: {known.why} "
                f"({known.missing}). It is asked for again with the same token, by which EKS begins it once"
            )
            return ""
        if known:
            self._world.note({"entry": "asked", "what": _UPDATE, "update": known})
        return known

    def _group(self) -> Part:
        part = of_group(self._act, self._number, self._aws.group(self._act.group))
        return Part(part.what, Became.PENDING, f"update {self._update}") if self._update else part

    def _begin(self) -> Doc:
        self._update = self._aws.update_group(self._act, self._number, self._token).id
        self._world.tell(f"node group {self._act.group}: update {self._update} to version {self._number} has begun")
        return {"update": self._update}

    def over(self, sent: Sent) -> bool:
        if not self._update:
            self._stage = Stage.SUCCESSFUL if not sent.left else Stage.ASKED
            return True
        self._errors = ()
        try:
            told = self._aws.update(self._act.group, self._update)
            if isinstance(told, EksAddonUpdate):
                self._stage, self._errors, more = stage_of(told), told.errors, ""
            else:
                self._stage = stage_by_group(self._aws.group(self._act.group), self._number, self._stage)
                more = f" (by the node group itself: {told.why})"
            line = f"update {self._update}: {self._stage.value}{more}"
        except AwsError as error:
            line = f"AWS does not answer; the update continues in EKS: {error.message}"
        if line != self._said:
            self._said = line
            self._world.tell(line)
        return self._stage.ended

    def result(self, sent: Sent) -> FixDone:
        act, stage = self._act, self._stage
        part = self._now()
        if part.became is Became.AS_BEFORE and stage is Stage.SUCCESSFUL:
            part = replace(part, became=Became.SET_BACK)
        names, nodes = self._members() if stage is Stage.SUCCESSFUL and not act.to else ((), ())
        limit = "as it was before the fix" if act.to else f"hop limit {act.hop_limit}"
        made = Part(f"launch template {act.id} version {self._number}", Became.DONE, limit)
        changed = (act.group,) if part.became in (Became.DONE, Became.PENDING) else ()
        parts, update, errors = ((made, part) if self._number else (part,)), self._update, self._errors
        done = FixDone(
            act, sent.seconds, parts, sent.left, self._number, update, stage, errors, nodes, names, changed=changed
        )
        return _proved(done, names, self._ports)

    def _now(self) -> Part:
        try:
            part = of_group(self._act, self._number, self._aws.group(self._act.group))
        except AwsError as error:
            return Part(f"node group {self._act.group}", Became.UNKNOWN, error.message)
        pending = part.became is Became.AS_BEFORE and not self._stage.ended and bool(self._update)
        return replace(part, became=Became.PENDING) if pending else part

    def _members(self) -> tuple[tuple[str, ...], tuple[Part, ...]]:
        """The names of the group's nodes, and their current state."""
        group = self._act.group
        try:
            found = self._ports.members(group)
        except AwsError as error:
            found = Unknown(error.message)
        if isinstance(found, Unknown):
            return (), (Part(f"nodes of {group}", Became.UNKNOWN, found.why),)
        names = tuple(sorted(found))
        return names, tuple(of_node(name, self._act.hop_limit, found[name]) for name in names)


# A dry run of a fix against AWS and the cluster: nothing is changed.


def tried(act: Act, token: str, aws: MetadataAws, classes: NodeClasses) -> tuple[bool, tuple[str, ...]]:
    """Whether all changes would be accepted, and a line for each.

    Raises:
        AwsError, ClusterError: no request is possible.
    """
    found = list(_tried(act, token, aws, classes))
    return all(well for well, _ in found), tuple(line for _, line in found)


def _tried(act: Act, token: str, aws: MetadataAws, classes: NodeClasses) -> Iterator[tuple[bool, str]]:
    match act:
        case OnInstances(each):
            for one in each:
                try:
                    aws.set_options(one, dry=True)
                    yield True, f"{one}: EC2 would take it"
                except (AwsDenied, AwsMissing, AwsRefused) as error:
                    yield False, f"{one}: {error.message}"
        case OnTemplate():
            try:
                if not act.to:
                    aws.new_version(act, token, dry=True)
                    yield True, f"launch template {act.id}: EC2 would make the version"
            except (AwsDenied, AwsMissing, AwsRefused) as error:
                yield False, f"launch template {act.id}: {error.message}"
            yield True, f"node group {act.group}: EKS has no dry run, so whether it takes the update is not known"
        case OnClass():
            yield _class(act, classes)


def _class(act: OnClass, classes: NodeClasses) -> tuple[bool, str]:
    what = f"EC2NodeClass {act.name}"
    now = classes.one(act.name)
    if isinstance(now, (Absent, Unknown)):
        return False, f"{what}: {now.why}"
    try:
        classes.patch(act.name, class_patch(act, now), dry=True)
    except ClusterError as error:
        return False, f"{what}: {error.message}"
    return True, f"{what}: the API server would take it"


# Test of a fix from pods, by the active probe.


_BECAME = {Reach.REACHABLE: Became.DONE, Reach.UNKNOWN: Became.UNKNOWN}


def proofs(
    nodes: Iterable[Node],
    ground: ProbeNamespace,
    probe: str,
    manner: ProbeSettings,
    every: bool,
    clock: ImdsProbeClock,
    world: World,
) -> tuple[Part, ...]:
    """Test one node of each kind, or every node. A failed test is unknown, and reverts nothing."""
    try:
        plan = prepared(nodes, ground, probe, manner, every=every)
        if not plan.pods:
            return (Part("pods", Became.UNKNOWN, "there is no node on which one can ask"),)
        found = probed(plan, ground, clock, world.told, world.tell)
    except ClusterError as error:
        return (Part("pods", Became.UNKNOWN, error.message),)
    parts = [_proof(each) for each in found.nodes]
    if found.not_removed or found.left:
        parts.append(Part(f"ConfigMap {found.owner}", Became.UNKNOWN, "what the probe made is still there: delete it"))
    return tuple(parts)


def _proof(each: ProbedNode) -> Part:
    reach, why = each.v4.reach, each.v4.why
    said = f"{reach.value}: {why}" if why else reach.value
    return Part(f"a pod on {each.node}", _BECAME.get(reach, Became.OTHER), said)
