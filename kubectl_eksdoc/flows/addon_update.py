"""An add-on's update in real time: written down, asked for, followed to its end, and held against what was foretold.

EKS does it, not this process: whoever stops to follow it, or loses the connection, stops nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Protocol

from kubectl_eksdoc.addon_diff.run import targets
from kubectl_eksdoc.addon_diff.run.ended import Ended
from kubectl_eksdoc.addon_diff.run.expectations import Expected, to_doc
from kubectl_eksdoc.addon_diff.run.outcome import checked, unread
from kubectl_eksdoc.addon_diff.run.rollout import WORKLOADS, Rollout, not_ready, rollout
from kubectl_eksdoc.addon_diff.run.targets import Health
from kubectl_eksdoc.drain.run.stages import Stage, pause_s, stage_by_addon, stage_of
from kubectl_eksdoc.errors import (
    AwsDenied,
    AwsError,
    AwsLogin,
    AwsMissing,
    AwsRefused,
    AwsThrottled,
    ClusterError,
    JournalError,
    Stopped,
)
from kubectl_eksdoc.flows.ports import AddonEks, UpdateJournal
from kubectl_eksdoc.model.api_objects import Doc, Named, named
from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.model.aws.addons import Issue, Update, UpdateCall
from kubectl_eksdoc.model.aws.targets import TargetGroup
from kubectl_eksdoc.model.network import TargetGroupBinding
from kubectl_eksdoc.model.pods import Pod
from kubectl_eksdoc.session.ports import Objects

WATCH_S = 1800.0
SETTLE_S = 60.0
"""So long targets are watched after the last pod is new: health checks fail some time after what makes them fail."""

STILL_S = 300.0
"""A rollout of which nothing has moved for so long is told with the pods that hold it up."""

_SLICE_S = 0.5


class Clock(Protocol):
    def monotonic(self) -> float: ...

    def now(self) -> datetime: ...


@dataclass(frozen=True, slots=True)
class World:
    """What an update needs of the world. `told`: how often the process was told to end. `tell` hears what happens, a
    line each. `pods`: those of the cluster, now. `group`: the targets of a group by its ARN."""

    eks: AddonEks
    objects: Objects
    journal: UpdateJournal
    clock: Clock
    sleep: Callable[[float], object]
    told: Callable[[], int]
    tell: Callable[[str], object]
    pods: Callable[[], tuple[Pod, ...] | Unknown]
    group: Callable[[str], TargetGroup | Unknown]


@dataclass(frozen=True, slots=True)
class Following:
    """What is followed, and for how long at the most. `bindings`: of whose targets the health is watched, or why of
    none."""

    expected: Expected
    bindings: tuple[TargetGroupBinding, ...] | Unknown = ()
    watch_s: float = WATCH_S

    @property
    def watched(self) -> tuple[TargetGroupBinding, ...]:
        return () if isinstance(self.bindings, Unknown) else self.bindings


def carry_out(call: UpdateCall, begun: Doc, following: Following, world: World) -> Ended:
    """`begun`: what more is written down of it before anything is asked for.

    Raises:
        Stopped: it was told to stop before anything was asked for.
        JournalError: it cannot be written down; nothing was asked for.
        AwsError: as `AddonEks.begin`.
    """
    health = targets.begun(following.watched, _groups([each.arn for each in following.watched], world))
    kept = {"expected": to_doc(following.expected, call.token), "health": targets.to_doc(health)}
    world.journal.write({"entry": "begun", **begun, **kept})
    if world.told():
        note(world, {"entry": "refused", "why": "it was stopped"})
        raise Stopped("it was stopped before anything was requested", "Nothing was sent.")
    try:
        update = world.eks.begin(call)
    except (AwsDenied, AwsRefused, AwsMissing, AwsThrottled, AwsLogin) as error:
        note(world, {"entry": "refused", "why": error.message})
        raise
    except AwsError as error:
        note(world, {"entry": "in-doubt", "why": error.message})
        raise AwsError(
            f"it is unknown whether the update has begun: {error.message}",
            f"If it has, it continues in EKS: kubectl eksdoc addon-diff {call.addon} tells its status. {error.hint}",
        ) from error
    note(world, {"entry": "asked", "update": update.id})
    return _Followed(update.id, following, world, health).to_the_end()


def note(world: World, entry: Doc) -> None:
    """What has happened is told all the same where it cannot be written down."""
    try:
        world.journal.write(entry)
    except JournalError as error:
        world.tell(f"the journal lacks what came then: {error.message}")


_NOTHING: Mapping[str, Health] = MappingProxyType({})


def follow(ident: str, following: Following, world: World, health: Mapping[str, Health] = _NOTHING) -> Ended:
    """Go on to look at an update that was asked for before; `health`: of targets before it, by ARN of the group."""
    return _Followed(ident, following, world, targets.again(following.watched, health)).to_the_end()


def _groups(arns: Iterable[str], world: World) -> dict[str, TargetGroup | Unknown]:
    found: dict[str, TargetGroup | Unknown] = {}
    for arn in arns:
        try:
            found[arn] = world.group(arn)
        except AwsError as error:
            found[arn] = Unknown(error.message)
    return found


@dataclass(slots=True)
class _Followed:
    """Mutable: what was seen so far."""

    id: str
    following: Following
    world: World
    health: dict[str, Health]
    stage: Stage = Stage.ASKED
    errors: tuple[Issue, ...] = ()
    rollouts: dict[Named, Rollout] = field(default_factory=dict)
    missed: bool = False  # the cluster did not answer when it was looked at last
    began_s: float = 0.0
    moved_s: float = 0.0  # when a rollout was seen to move last
    done_s: float = -1.0  # when the last of its pods was seen to be new
    said: dict[str, str] = field(default_factory=dict)
    stuck_told: bool = False

    def to_the_end(self) -> Ended:
        self.began_s = self.moved_s = self.world.clock.monotonic()
        left = ""
        while True:
            self._look()
            if self._over():
                break
            left = self._waited()
            if left:
                break
        return self._ended(left)

    def _look(self) -> None:
        self._ask_eks()
        if self.stage not in (Stage.FAILED, Stage.CANCELLED):
            self._look_at_rollouts()
        if self.health:
            self.health = targets.followed(self.health, _groups(self.health, self.world))
            for arn, each in self.health.items():
                if each.fell or each.unread:
                    self._tell(arn, str(each))

    def _ask_eks(self) -> None:
        try:
            told = self.world.eks.update(self.id)
            stage = stage_of(told)
            if not isinstance(told, Update):
                self._tell("update", f"{_why(told)}; the add-on itself is checked instead")
                expected = self.following.expected
                stage = stage_by_addon(self.world.eks.addon(), expected.target, expected.was, self.stage)
        except AwsError as error:
            self._tell("aws", f"AWS does not answer; the update continues in EKS: {error.message}")
            return
        self.said.pop("aws", None)
        if isinstance(told, Update):
            self.errors = told.errors
        if stage is not self.stage:
            self.stage = stage
            note(self.world, {"entry": "stage", "stage": stage.value})
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
                self.rollouts.pop(of, None)  # how it was before says nothing of how it is
                continue
            if seen != self.rollouts.get(of):
                self.moved_s = self.world.clock.monotonic()
                self.rollouts[of] = seen
                self._tell(str(of), str(seen))
            if seen.stuck:
                self._tell(f"stuck {of}", f"{of} is stuck: {seen.stuck}")

    def _one(self, of: Named) -> Doc | Unknown:
        try:
            found = self.world.objects.one(of)
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

    def _waited(self) -> str:
        """Until it is looked at again; else why it is not, a clause."""
        clock, began_s = self.world.clock, self.began_s
        now = clock.monotonic()
        self._tell_stuck(now)
        until = now + pause_s(now - began_s)
        while clock.monotonic() < until:
            if self.world.told():
                return "it was stopped"
            if clock.monotonic() - began_s >= self.following.watch_s:
                return f"it was watched for {self.following.watch_s:.0f} s, and has not ended"
            self.world.sleep(_SLICE_S)
        return ""

    def _tell_stuck(self, now: float) -> None:
        waits = [each for each in self.rollouts.values() if not each.done]
        if not waits or now - self.moved_s < STILL_S or self.stuck_told:
            return
        self.stuck_told = True
        for line in (f"nothing has moved for {STILL_S:.0f} s: {waits[0]}", *self._held_up(waits)):
            self.world.tell(line)

    def _held_up(self, waits: Sequence[Rollout]) -> tuple[str, ...]:
        if not waits:
            return ()
        try:
            pods = self.world.pods()
        except ClusterError as error:
            pods = Unknown(error.message)
        if isinstance(pods, Unknown):
            return (f"which pods hold it up is not known: {pods.why}",)
        return tuple(line for each in waits for line in not_ready(pods, each.of))

    def _ended(self, left: str) -> Ended:
        hurried = self.world.told() > 1  # whoever says it twice does not wait for anything
        names = [named(each) for each in self.following.expected.objects]
        now = {of: Unknown("it was stopped at once") if hurried else self._one(of) for of in names}
        waits = [each for each in self.rollouts.values() if not each.done]
        bindings = self.following.bindings
        ended = Ended(
            self.id,
            self.stage,
            self.world.clock.monotonic() - self.began_s,
            left,
            self.errors,
            tuple(self.rollouts[of] for of in sorted(self.rollouts)),
            self._held_up(waits) if left and not hurried else (),
            tuple(sorted(self.health.values(), key=lambda each: each.service)),
            checked(self.following.expected, now, self.stage),
            unread(self.following.expected, now),
            bindings.why if isinstance(bindings, Unknown) else "",
        )
        checks = [{"field": str(each.field), "verdict": each.verdict.value} for each in ended.checks]
        note(self.world, {"entry": "ended", "stage": self.stage.value, "left": left, "checks": checks})
        return ended

    def _tell(self, about: str, line: str) -> None:
        """What is new of it."""
        if self.said.get(about) != line:
            self.said[about] = line
            self.world.tell(line)


def _why(told: Unknown | Absent) -> str:
    return told.said if isinstance(told, Absent) else told.why
