"""Execution of an add-on update: sent to EKS, followed until all pods are new, and compared with the prediction.

EKS executes the update, not this process: an interruption or a lost connection does not stop it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from kubectl_eksdoc.amazon.group_updates import Stage, stage_by_addon, stage_of
from kubectl_eksdoc.changes.engine import Sent, Step, World
from kubectl_eksdoc.errors import AwsError, ClusterError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.addons import EksAddonUpdate, Issue, UpdateCall
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, named
from kubectl_eksdoc.model.change_journal import Became, Part
from kubectl_eksdoc.model.eks import TargetGroup
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.network import TargetGroupBinding
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.ports import AddonEks, ObjectReader

from . import outcome
from .guards import WORKLOADS, RolloutState, not_ready, rollout
from .outcome import AddonUpdateResult, ExpectedUpdate, Health, checked, unread

SETTLE_S = 60.0
"""Time for which targets are watched after the last pod is new: health checks fail some time after their cause."""

STILL_S = 300.0
"""Time after which a stalled rollout is reported with the pods that block it: the API server reports no deadline for a
DaemonSet."""

UPDATE = "update"
"""The name of the only step."""


@frozen
class Ports:
    """`pods`: the current pods of the cluster. `group`: the targets of a target group by its ARN."""

    eks: AddonEks
    objects: ObjectReader
    pods: Callable[[], tuple[Pod, ...] | Unknown]
    group: Callable[[str], TargetGroup | Unknown]


@frozen
class Following:
    """The update to follow. `bindings`: the TargetGroupBindings whose target health is watched, or why there are
    none."""

    expected: ExpectedUpdate
    bindings: tuple[TargetGroupBinding, ...] | Unknown = ()

    @property
    def watched(self) -> tuple[TargetGroupBinding, ...]:
        return () if isinstance(self.bindings, Unknown) else self.bindings

    def before(self, ports: Ports) -> dict[str, Health]:
        """The health of the watched targets before the request, by ARN of the target group."""
        return outcome.begun(self.watched, _groups([each.arn for each in self.watched], ports))


_NOTHING: Mapping[str, Health] = MappingProxyType({})


def _groups(arns: Iterable[str], ports: Ports) -> dict[str, TargetGroup | Unknown]:
    found: dict[str, TargetGroup | Unknown] = {}
    for arn in arns:
        try:
            found[arn] = ports.group(arn)
        except AwsError as error:
            found[arn] = Unknown(error.message)
    return found


class AddonUpdate:
    """A `changes.engine.Kind`. Mutable: it stores what was observed."""

    def __init__(
        self,
        sends: UpdateCall | str,
        following: Following,
        ports: Ports,
        world: World,
        health: Mapping[str, Health] = _NOTHING,
    ) -> None:
        """`request`: the request to EKS, or the ID of an update that was requested before. `health`: of the targets
        before the update, by ARN of the target group."""
        self.following, self.world = following, world
        self._sends, self._ports = sends, ports
        self.id = sends if isinstance(sends, str) else ""
        self.health = outcome.again(following.watched, health)
        self.stage, self.errors = Stage.ASKED, tuple[Issue, ...]()
        self.rollouts: dict[ObjectName, RolloutState] = {}
        self.missed = False  # the cluster did not answer the last read
        self.moved_s = world.clock.monotonic()  # time of the last observed progress of a rollout
        self.stuck_told = False
        self.done_s = -1.0  # time at which the last pod was observed to be new
        self.said: dict[str, str] = {}

    def steps(self, sent: Sent) -> Iterator[Step]:
        call = self._sends
        if isinstance(call, str):
            return

        def send() -> Doc:
            self.id = self._ports.eks.begin(call).id
            return {UPDATE: self.id}

        as_before = Part(f"add-on {call.addon}", Became.AS_BEFORE)
        told = f"If it has, it continues in EKS: kubectl eksdoc addon-diff {call.addon} tells its status."
        yield Step(UPDATE, lambda: as_before, send, unsure=told)

    def over(self, sent: Sent) -> bool:
        self._ask_eks()
        if self.stage not in (Stage.FAILED, Stage.CANCELLED):
            self._look_at_rollouts()
        if self.health:
            self.health = outcome.followed(self.health, _groups(self.health, self._ports))
            for arn, each in self.health.items():
                if each.fell or each.unread:
                    self._tell(arn, str(each))
        over = self._over()
        if not over:
            self._tell_stuck(self.world.clock.monotonic())
        return over

    def _ask_eks(self) -> None:
        try:
            told = self._ports.eks.update(self.id)
            stage = stage_of(told)
            if not isinstance(told, EksAddonUpdate):
                self._tell("update", f"{told.why}; the add-on itself is checked instead")
                expected = self.following.expected
                stage = stage_by_addon(self._ports.eks.addon(), expected.target, expected.was, self.stage)
        except AwsError as error:
            self._tell("aws", f"AWS does not answer; the update continues in EKS: {error.message}")
            return
        self.said.pop("aws", None)
        if isinstance(told, EksAddonUpdate):
            self.errors = told.errors
        if stage is not self.stage:
            self.stage = stage
            self.world.note({"entry": "stage", "stage": stage.value})
            self._tell("stage", f"update {self.id}: {stage.value}")

    def _look_at_rollouts(self) -> None:
        self.missed = False
        for each in self.following.expected.objects:
            of = named(each)
            if of.kind not in WORKLOADS:
                continue
            doc = self._one(of)
            seen = rollout(doc) if not isinstance(doc, Unknown) else None
            if seen is None:
                self.rollouts.pop(of, None)  # the last known state says nothing about the current one
                continue
            if seen != self.rollouts.get(of):
                self.moved_s, self.stuck_told = self.world.clock.monotonic(), False
                self.rollouts[of] = seen
                self._tell(str(of), str(seen))
            if seen.stuck:
                self._tell(f"stuck {of}", f"{of} is stuck: {seen.stuck}")

    def _one(self, of: ObjectName) -> Doc | Unknown:
        try:
            found = self._ports.objects.one(of)
        except ClusterError as error:
            self._tell("cluster", f"the cluster does not answer; the update continues in EKS: {error.message}")
            self.missed = True
            return Unknown(error.message)
        self.said.pop("cluster", None)
        return {} if isinstance(found, Absent) else found

    def _over(self) -> bool:
        if self.stage in (Stage.FAILED, Stage.CANCELLED):
            return True
        new = not self.missed and all(each.done for each in self.rollouts.values())
        if self.stage is not Stage.SUCCESSFUL or not new:
            self.done_s = -1.0
            return False
        now = self.world.clock.monotonic()
        if self.done_s < 0:
            self.done_s = now
        return not any(not each.unread for each in self.health.values()) or now - self.done_s >= SETTLE_S

    def _tell_stuck(self, now: float) -> None:
        waits = [each for each in self.rollouts.values() if not each.done]
        if not waits or now - self.moved_s < STILL_S or self.stuck_told:
            return
        self.stuck_told = True
        for line in (f"nothing has moved for {STILL_S:.0f} s: {waits[0]}", *self._held_up(waits)):
            self.world.tell(line)

    def _held_up(self, waits: Sequence[RolloutState]) -> tuple[str, ...]:
        if not waits:
            return ()
        try:
            pods = self._ports.pods()
        except ClusterError as error:
            pods = Unknown(error.message)
        if isinstance(pods, Unknown):
            return (f"which pods hold it up is not known: {pods.why}",)
        return tuple(line for each in waits for line in not_ready(pods, each.of))

    def result(self, sent: Sent) -> AddonUpdateResult:
        hurried = self.world.told() > 1  # the user interrupted twice and waits for nothing
        names = [named(each) for each in self.following.expected.objects]
        now = {of: Unknown("it was stopped at once") if hurried else self._one(of) for of in names}
        waits = [each for each in self.rollouts.values() if not each.done]
        bindings = self.following.bindings
        return AddonUpdateResult(
            self.id,
            self.stage,
            sent.seconds,
            sent.left,
            self.errors,
            tuple(self.rollouts[of] for of in sorted(self.rollouts)),
            self._held_up(waits) if sent.left and not hurried else (),
            tuple(sorted(self.health.values(), key=lambda each: each.service)),
            checked(self.following.expected, now, self.stage),
            unread(self.following.expected, now),
            bindings.why if isinstance(bindings, Unknown) else "",
        )

    def kept(self, result: AddonUpdateResult) -> Doc:
        checks = [{"field": str(each.field), "verdict": each.verdict.value} for each in result.checks]
        return {"stage": result.stage.value, "checks": checks}

    def _tell(self, about: str, line: str) -> None:
        """Report a line that is new for its topic."""
        if self.said.get(about) != line:
            self.said[about] = line
            self.world.tell(line)
