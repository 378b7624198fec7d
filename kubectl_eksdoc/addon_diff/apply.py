"""Execution of an add-on update: sent to EKS, followed until all pods are new, and compared with the prediction.

EKS executes the update, not this process: an interruption or a lost connection does not stop it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from kubectl_eksdoc.amazon.group_updates import UpdateStage, stage_of_addon, stage_of_update
from kubectl_eksdoc.changes.engine import ChangeEnvironment, SentSteps, Step
from kubectl_eksdoc.errors import AwsError, ClusterError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.addons import EksAddonUpdate, HealthIssue, UpdateCall
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, object_name
from kubectl_eksdoc.model.change_journal import ChangePart, PartOutcome
from kubectl_eksdoc.model.eks import TargetGroup
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.network import TargetGroupBinding
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.ports import AddonUpdateApi, ObjectReader

from . import outcome
from .guards import WORKLOADS, RolloutState, pods_not_ready, rollout_state
from .outcome import AddonUpdateResult, ExpectedUpdate, ServiceHealth, check_fields, unread_objects

TARGET_WATCH_S = 60.0
"""Time for which targets are watched after the last pod is new: health checks fail some time after their cause."""

STALL_S = 300.0
"""Time after which a stalled rollout is reported with the pods that block it: the API server reports no deadline for a
DaemonSet."""

UPDATE_STEP = "update"
"""The name of the only step."""


@frozen
class AddonUpdatePorts:
    """`pods`: the current pods of the cluster. `target_group`: the targets of a target group by its ARN."""

    eks: AddonUpdateApi
    objects: ObjectReader
    pods: Callable[[], tuple[Pod, ...] | Unknown]
    target_group: Callable[[str], TargetGroup | Unknown]


@frozen
class FollowedUpdate:
    """The update to follow. `bindings`: the TargetGroupBindings whose target health is watched, or why there are
    none."""

    expected: ExpectedUpdate
    bindings: tuple[TargetGroupBinding, ...] | Unknown = ()

    @property
    def watched_bindings(self) -> tuple[TargetGroupBinding, ...]:
        return () if isinstance(self.bindings, Unknown) else self.bindings

    def health_before(self, ports: AddonUpdatePorts) -> dict[str, ServiceHealth]:
        """The health of the watched targets before the request, by ARN of the target group."""
        return outcome.initial_health(
            self.watched_bindings, _read_target_groups([each.arn for each in self.watched_bindings], ports)
        )


_NO_HEALTH: Mapping[str, ServiceHealth] = MappingProxyType({})


def _read_target_groups(arns: Iterable[str], ports: AddonUpdatePorts) -> dict[str, TargetGroup | Unknown]:
    groups: dict[str, TargetGroup | Unknown] = {}
    for arn in arns:
        try:
            groups[arn] = ports.target_group(arn)
        except AwsError as error:
            groups[arn] = Unknown(error.message)
    return groups


class AddonUpdate:
    """A `changes.engine.ChangeKind`. Mutable: it stores what was observed."""

    def __init__(
        self,
        request: UpdateCall | str,
        followed: FollowedUpdate,
        ports: AddonUpdatePorts,
        world: ChangeEnvironment,
        health: Mapping[str, ServiceHealth] = _NO_HEALTH,
    ) -> None:
        """`request`: the request to EKS, or the ID of an update that was requested before. `health`: of the targets
        before the update, by ARN of the target group."""
        self.followed, self.world = followed, world
        self._sends, self._ports = request, ports
        self.id = request if isinstance(request, str) else ""
        self.health = outcome.restored_health(followed.watched_bindings, health)
        self.stage, self.errors = UpdateStage.ASKED, tuple[HealthIssue, ...]()
        self.rollouts: dict[ObjectName, RolloutState] = {}
        self.has_missed = False  # the cluster did not answer the last read
        self.last_progress_s = world.clock.monotonic()  # time of the last observed progress of a rollout
        self.is_stall_reported = False
        self.all_new_s = -1.0  # time at which the last pod was observed to be new
        self.reported: dict[str, str] = {}

    def steps(self, sent: SentSteps) -> Iterator[Step]:
        call = self._sends
        if isinstance(call, str):
            return

        def send() -> Doc:
            self.id = self._ports.eks.start_update(call).id
            return {UPDATE_STEP: self.id}

        before = ChangePart(f"add-on {call.addon}", PartOutcome.AS_BEFORE)
        hint = f"If it has, it continues in EKS: kubectl eksdoc addon-diff {call.addon} tells its status."
        yield Step(UPDATE_STEP, lambda: before, send, uncertain_hint=hint)

    def has_finished(self, sent: SentSteps) -> bool:
        self._read_update()
        if self.stage not in (UpdateStage.FAILED, UpdateStage.CANCELLED):
            self._read_rollouts()
        if self.health:
            self.health = outcome.followed_health(self.health, _read_target_groups(self.health, self._ports))
            for arn, each in self.health.items():
                if each.has_dropped or each.unread:
                    self._report(arn, str(each))
        is_over = self._is_over()
        if not is_over:
            self._report_stall(self.world.clock.monotonic())
        return is_over

    def _read_update(self) -> None:
        try:
            update = self._ports.eks.read_update(self.id)
            stage = stage_of_update(update)
            if not isinstance(update, EksAddonUpdate):
                self._report("update", f"{update.why}; the add-on itself is checked instead")
                expected = self.followed.expected
                stage = stage_of_addon(self._ports.eks.read_addon(), expected.target, expected.was, self.stage)
        except AwsError as error:
            self._report("aws", f"AWS does not answer; the update continues in EKS: {error.message}")
            return
        self.reported.pop("aws", None)
        if isinstance(update, EksAddonUpdate):
            self.errors = update.errors
        if stage is not self.stage:
            self.stage = stage
            self.world.note({"entry": "stage", "stage": stage.value})
            self._report("stage", f"update {self.id}: {stage.value}")

    def _read_rollouts(self) -> None:
        self.has_missed = False
        for live in self.followed.expected.objects:
            object_ref = object_name(live)
            if object_ref.kind not in WORKLOADS:
                continue
            doc = self._read_object(object_ref)
            state = rollout_state(doc) if not isinstance(doc, Unknown) else None
            if state is None:
                self.rollouts.pop(object_ref, None)  # the last known state says nothing about the current one
                continue
            if state != self.rollouts.get(object_ref):
                self.last_progress_s, self.is_stall_reported = self.world.clock.monotonic(), False
                self.rollouts[object_ref] = state
                self._report(str(object_ref), str(state))
            if state.stuck:
                self._report(f"stuck {object_ref}", f"{object_ref} is stuck: {state.stuck}")

    def _read_object(self, object_ref: ObjectName) -> Doc | Unknown:
        try:
            document = self._ports.objects.read_object(object_ref)
        except ClusterError as error:
            self._report("cluster", f"the cluster does not answer; the update continues in EKS: {error.message}")
            self.has_missed = True
            return Unknown(error.message)
        self.reported.pop("cluster", None)
        return {} if isinstance(document, Absent) else document

    def _is_over(self) -> bool:
        if self.stage in (UpdateStage.FAILED, UpdateStage.CANCELLED):
            return True
        are_pods_new = not self.has_missed and all(each.done for each in self.rollouts.values())
        if self.stage is not UpdateStage.SUCCESSFUL or not are_pods_new:
            self.all_new_s = -1.0
            return False
        now_s = self.world.clock.monotonic()
        if self.all_new_s < 0:
            self.all_new_s = now_s
        return not any(not each.unread for each in self.health.values()) or now_s - self.all_new_s >= TARGET_WATCH_S

    def _report_stall(self, now_s: float) -> None:
        unfinished = [each for each in self.rollouts.values() if not each.done]
        if not unfinished or now_s - self.last_progress_s < STALL_S or self.is_stall_reported:
            return
        self.is_stall_reported = True
        for line in (f"nothing has moved for {STALL_S:.0f} s: {unfinished[0]}", *self._blocking_pods(unfinished)):
            self.world.report(line)

    def _blocking_pods(self, unfinished: Sequence[RolloutState]) -> tuple[str, ...]:
        if not unfinished:
            return ()
        try:
            pods = self._ports.pods()
        except ClusterError as error:
            pods = Unknown(error.message)
        if isinstance(pods, Unknown):
            return (f"which pods hold it up is not known: {pods.why}",)
        return tuple(line for each in unfinished for line in pods_not_ready(pods, each.of))

    def result(self, sent: SentSteps) -> AddonUpdateResult:
        is_hurried = self.world.stop_count() > 1  # the user interrupted twice and waits for nothing
        names = [object_name(each) for each in self.followed.expected.objects]
        current = {
            object_ref: Unknown("it was stopped at once") if is_hurried else self._read_object(object_ref)
            for object_ref in names
        }
        unfinished = [each for each in self.rollouts.values() if not each.done]
        bindings = self.followed.bindings
        return AddonUpdateResult(
            self.id,
            self.stage,
            sent.seconds,
            sent.incomplete_reason,
            self.errors,
            tuple(self.rollouts[object_ref] for object_ref in sorted(self.rollouts)),
            self._blocking_pods(unfinished) if sent.incomplete_reason and not is_hurried else (),
            tuple(sorted(self.health.values(), key=lambda each: each.service)),
            check_fields(self.followed.expected, current, self.stage),
            unread_objects(self.followed.expected, current),
            bindings.why if isinstance(bindings, Unknown) else "",
        )

    def journal_record(self, result: AddonUpdateResult) -> Doc:
        checks = [{"field": str(each.field), "verdict": each.verdict.value} for each in result.checks]
        return {"stage": result.stage.value, "checks": checks}

    def _report(self, topic: str, line: str) -> None:
        """Report a line that is new for its topic."""
        if self.reported.get(topic) != line:
            self.reported[topic] = line
            self.world.report(line)
