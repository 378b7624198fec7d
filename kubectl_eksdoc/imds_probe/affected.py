"""Pods affected by missing access to the instance metadata service: broken now, will break, possible, no known need.

Each need of a program, and the other ways in which it may be met. Source of the classes: field notes of the incident.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime, timedelta
from enum import Enum
from itertools import islice

from kubectl_eksdoc.amazon.metadata_service import OPTIONAL, REQUIRED, ImdsVerdict, Reach
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.machines import Image, MetadataOptions, PodIdentity
from kubectl_eksdoc.model.nodes import Container, ContainerRunState, LogOf, Pod, RoleBy

from .programs import (
    ContainerCommand,
    ImdsNeed,
    LogReading,
    MatchedLogLine,
    Program,
    ProgramNeeds,
    needs_nothing,
    needs_of,
    never_asks,
    program_of_image,
    programs_of,
    read,
)

# Selection of pods to read logs of, because each log is a request, and the evidence in these pods.


MOST = 60
_STEADY = timedelta(minutes=15)
"""The longest delay between two starts of a crashing container is 5 minutes (kubelet, MaxContainerBackOff)."""


@frozen
class _Chosen:
    """The selected pods, and the number of further candidates."""

    pods: tuple[Pod, ...]
    left: int = 0


@frozen
class PodEvidence:
    """`command` is None if unknown; `symptom`: the log line that shows a missing need; `unreadable`: parts that could
    not be read; `other_cause`: the log line with another cause; `weak_symptom`: a line after which programs may
    continue; `commands_by_image`: the commands of known programs by image, if there are several."""

    started: ContainerCommand | None = None
    seen: MatchedLogLine | None = None
    unknown: tuple[Unknown, ...] = ()
    another: MatchedLogLine | None = None
    weak: MatchedLogLine | None = None
    programs: tuple[tuple[str, ContainerCommand], ...] = ()

    def started_as(self, image: str) -> ContainerCommand | None:
        return dict(self.programs).get(image, self.started)


def choose(pods: Sequence[Pod], now: datetime, most: int = MOST, logs: bool = True) -> _Chosen:
    """Select from `pods` without access to the service: programs with a known need, and pods that do not run well. One
    pod of each controller comes before a second one. If there is room and `can_read_logs`, one pod of each other
    controller without an own role follows: it may be Ready and still lack what it asks for."""
    worth = [pod for pod in pods if not (pod.finished or pod.calls.host_network) and (may_need(pod) or fails(pod, now))]
    replicas: Counter[str] = Counter()
    ranked = []
    for pod in sorted(worth, key=lambda each: (not fails(each, now), each.key)):
        owner = _owner(pod)
        ranked.append(((replicas[owner], not may_need(pod), not fails(pod, now), pod.key), pod))
        replicas[owner] += 1
    ranked.sort(key=lambda each: each[0])
    others = islice(_may_ask(pods, {*replicas}), max(0, most - len(ranked)) if logs else 0)
    return _Chosen((*(pod for _, pod in ranked[:most]), *others), max(0, len(ranked) - most))


def _may_ask(pods: Iterable[Pod], known: set[str]) -> Iterator[Pod]:
    """Pods of controllers that are not in `known_owners`; the controllers are added to it."""
    for pod in pods:
        of = pod.calls
        if of.role is not RoleBy.NOBODY or of.host_network or pod.finished or not pod.node or _owner(pod) in known:
            continue
        known.add(_owner(pod))
        if not all(map(needs_nothing, of.images)):
            yield pod


def _owner(pod: Pod) -> str:
    return pod.owner.uid if pod.owner is not None else pod.uid


def may_need(pod: Pod) -> bool:
    """By the known programs, without evidence from the pod; its own role may not be the one that it needs."""
    programs = programs_of(pod).values()
    return any(needs_of(each, pod, None, has_role=False) for each in programs)


def fails(pod: Pod, now: datetime) -> bool:
    """The pod is not Ready on its node, or it became Ready again a short or unknown time ago."""
    if not pod.ready:
        return bool(pod.node)
    return pod.restarted and (pod.ready_at is None or now - pod.ready_at < _STEADY)


def ended_badly(pod: Pod, done: Set[str]) -> bool:
    """The pod failed, and its Job, which creates another pod after a failure, is not in `succeeded_jobs`."""
    return pod.phase == "Failed" and pod.owner is not None and pod.owner.kind == "Job" and pod.owner.uid not in done


def logs_of(pod: Pod, containers: Sequence[Container], now: datetime) -> tuple[LogOf, ...]:
    """Logs of the failing containers, or of all if none fails: the current one, then that of the previous run. The
    order matters."""
    failing = [each for each in containers if _failing(each) or (each.ended_before and fails(pod, now))]
    found: list[LogOf] = []
    for each in failing or [each for each in containers if not each.init]:
        log = LogOf(pod.namespace, pod.name, each.name)
        before = LogOf(pod.namespace, pod.name, each.name, previous=True)
        if each.runs is not ContainerRunState.WAITING:
            found.append(log)
        if each.ended_before and (each in failing):
            found.append(before)
    return tuple(found)


def _failing(container: Container) -> bool:
    """A completed init container is not ready, and need not be."""
    return not (container.ready or (container.init and container.ended_as == "Completed"))


def started_of(containers: Sequence[Container]) -> ContainerCommand | None:
    """The command of the known program, else of the first container that may ask the service; the others are
    sidecars."""
    running = [each for each in containers if not each.init]
    known = (each for each in running if program_of_image(each.image) is not None)
    asking = (each for each in running if not never_asks(_started(each)))
    which = next(known, None) or next(asking, running[0] if running else None)
    return None if which is None else _started(which)


def _started(container: Container) -> ContainerCommand:
    more = container.more_variables, container.values, container.more_secrets
    return ContainerCommand(container.arguments, container.variables, *more)


def inside(
    containers: Sequence[Container] | Absent | Unknown,
    asked: Sequence[LogOf],
    logs: Mapping[LogOf, str | Absent | Unknown],
) -> PodEvidence:
    """Read the evidence. `log_refs`: the pod's logs in the order of `logs_of`; an unread log counts as unknown if no
    other one has a symptom. Missing values of a container that never asks the service have another cause."""
    if isinstance(containers, (Absent, Unknown)):
        return PodEvidence(unknown=(_unknown(containers),))
    told = [logs.get(log, Unknown("it was not asked for")) for log in asked]
    silent = {each.name for each in containers if never_asks(_started(each))}
    logs_read = [
        LogReading(another=found.another) if log.container in silent else found
        for log, text in zip(asked, told, strict=True)
        if isinstance(text, str) and (found := read(text))
    ]
    first = {
        name: next(filter(None, (getattr(each, name) for each in logs_read)), None)
        for name in ("symptom", "weak", "another")
    }
    untold = () if first["symptom"] is not None else tuple(_unknown(each) for each in told if not isinstance(each, str))
    known = [each for each in containers if not each.init and program_of_image(each.image) is not None]
    several = tuple((each.image, _started(each)) for each in known) if len(known) > 1 else ()
    return PodEvidence(started_of(containers), first["symptom"], untold, first["another"], first["weak"], several)


def _unknown(given: Absent | Unknown) -> Unknown:
    return given if isinstance(given, Unknown) else Unknown(f"it is gone: {given.said}")


class Effect(Enum):
    """Effect on a pod, the worst first. `NO_KNOWN_NEED`: the pod has no role of its own, and nothing shows that it
    calls AWS."""

    BROKEN = "broken now"
    WILL_BREAK = "will break"
    POSSIBLE = "possible"
    NO_KNOWN_NEED = "no known need"


WORST_FIRST = {effect: rank for rank, effect in enumerate(Effect)}


@frozen
class AffectedPod:
    """`reason` (why it needs the service), `location` (where it lacks it) and `way_out` are clauses; `source`: of the
    facts about the program, "" if it is unknown. `log_line`: evidence in its log. `asks_service`: it asks the service
    for what it lacks. `lacks_own_role`: it lacks the credentials of its own role, which the node's cannot replace."""

    pod: Pod
    effect: Effect
    why: str
    where: str
    way_out: str
    source: str = ""
    line: str = ""
    asks: bool = True
    own_role: bool = False


_OWN_ROLE = "give it a role of its own: EKS Pod Identity or IRSA"
_ITS_ROLE = (
    "it has a role by {0} and does not get its credentials: update its AWS SDK, and check that role's trust policy and "
    "the service account's token"
)
AGAIN = "recreate it: EKS Pod Identity has a role for its service account, which it got after the pod started"
_MUCH = 20
"""Number of log lines after which a Ready program has continued without what it lacked."""
_OUTLIVED = timedelta(hours=12)
"""Credentials of a node role are valid for at most 6 hours: a pod that has run longer has others, or needs none."""


def cut_off(*verdicts: ImdsVerdict) -> bool:
    """A verdict says that the pod cannot reach the service, or only with IMDSv1."""
    return any(each.reach in (Reach.CUT_OFF, Reach.V1_ONLY) for each in verdicts)


@frozen
class JudgedPods:
    """Checks pods on a node with the verdict `verdict_now`, whose next node has `verdict_next`. `identities`: service
    accounts with a role by EKS Pod Identity. `is_host_network`: the pods are in the host network; other pods are not
    checked."""

    here: ImdsVerdict
    later: ImdsVerdict
    identities: Set[PodIdentity] | Unknown
    now: datetime
    at_host: bool = False

    def affected(self, pod: Pod, inside: PodEvidence = PodEvidence()) -> AffectedPod | None:
        """None if the pod is not affected, as far as its object and evidence show."""
        if pod.finished or (pod.calls.host_network and not self.at_host):
            return None
        known = programs_of(pod)
        program = next(iter(known.values()), None)
        if inside.seen is not None and self.here.reach is not Reach.REACHABLE and not self._recovered(pod, inside.seen):
            return self._broken(pod, program, inside.seen, inside.another)
        if not cut_off(self.here, self.later):
            return None
        own_role = has_role(pod, self.identities)
        if program is None and never_asks(inside.started):
            return None
        if program is None:
            return None if own_role or all(map(needs_nothing, pod.calls.images)) else self._unlikely(pod)
        found = []
        for image, each in known.items():
            one = replace(inside, started=inside.started_as(image))
            if not never_asks(one.started):
                found.append(self._of_program(pod, each, needs_of(each, pod, one.started, own_role), one))
        return min(filter(None, found), key=lambda each: WORST_FIRST[each.effect], default=None)

    def _recovered(self, pod: Pod, seen: MatchedLogLine) -> bool:
        """The pod is Ready, and has logged many lines since."""
        return not fails(pod, self.now) and seen.after > _MUCH

    def _broken(
        self, pod: Pod, program: Program | None, seen: MatchedLogLine, another: MatchedLogLine | None
    ) -> AffectedPod:
        lacks = f"its log says that it lacks {seen.lacks} ({seen.said.program})"
        if another is not None:
            lacks += ", and names another cause after it"
        where = f"on its node {self.here.why}"
        if self.here.reach is Reach.UNKNOWN:
            where = f"whether its node's service is reached is not known: {self.here.why}"
        source = str(program.source if program is not None else seen.said.source)
        way_out = self._way_out(pod, program, seen)
        if not seen.said.asks:
            lacks += ", which it does not ask the service for"
        own_role = seen.said.lacks == "credentials" and has_role(pod, self.identities)
        effect = Effect.BROKEN if another is None else Effect.POSSIBLE
        return AffectedPod(pod, effect, lacks, where, way_out, source, seen.line, seen.said.asks, own_role)

    def _unlikely(self, pod: Pod) -> AffectedPod:
        _, where = self._worst()
        return AffectedPod(pod, Effect.NO_KNOWN_NEED, "it has no role of its own", where, _OWN_ROLE)

    def _of_program(self, pod: Pod, program: Program, needs: ProgramNeeds, inside: PodEvidence) -> AffectedPod | None:
        if not needs:
            return None
        worst, where = self._worst()
        effect, why = Effect.POSSIBLE, f"it may look for {_listed([*needs.surely, *needs.may])} there"
        if program.only_if and not needs.surely:
            why = f"it looks for {_listed(needs.may)} there if {program.only_if}"
            effect = Effect.NO_KNOWN_NEED if self._does_without(pod, inside) else Effect.POSSIBLE
        elif inside.started is None and needs.may:
            why = f"whether it was given {_listed(needs.may)} is not known"
        elif not needs.surely:
            why = f"whether its envFrom gives it {_listed(needs.may)} is not known"
        elif program.on_host and not pod.calls.host_network:
            why = "it was not given the network of its host, with which it comes"
        elif self._outlives(pod, needs, inside):
            why = f"it looks for {_listed(needs.surely)} there, and has run without for more than 12 hours"
        elif worst.reach is Reach.CUT_OFF:
            effect, why = Effect.WILL_BREAK, f"it looks for {_listed(needs.surely)} there"
        return AffectedPod(pod, effect, why, where, self._way_out(pod, program), str(program.source))

    def _does_without(self, pod: Pod, inside: PodEvidence) -> bool:
        """The pod is Ready, its log was read, and the next node offers at least the same access."""
        loses = cut_off(self.later) and self.here.reach not in (Reach.CUT_OFF, self.later.reach)
        return not loses and pod.ready and inside.started is not None and not inside.unknown

    def _outlives(self, pod: Pod, needs: ProgramNeeds, inside: PodEvidence) -> bool:
        """The pod needs only credentials, had no access all the time as far as known, and its log was read."""
        if needs.surely != (ImdsNeed.CREDENTIALS,) or self.here.reach is not Reach.CUT_OFF or inside.unknown:
            return False
        return pod.ready and pod.ready_at is not None and self.now - pod.ready_at > _OUTLIVED

    def _worst(self) -> tuple[ImdsVerdict, str]:
        """With the node it applies to, a clause."""
        for reach in (Reach.CUT_OFF, Reach.V1_ONLY):
            if self.here.reach is reach:
                return self.here, f"on its node {self.here.why}"
            if self.later.reach is reach:
                return self.later, f"on the next node {self.later.why}"
        raise AssertionError("only pods that cannot reach IMDS are checked")

    def _way_out(self, pod: Pod, program: Program | None, seen: MatchedLogLine | None = None) -> str:
        if pod.calls.role is RoleBy.NOBODY and _associated(pod, self.identities):
            return AGAIN
        if seen is not None and seen.said.lacks == "credentials" and pod.calls.role is not RoleBy.NOBODY:
            return _ITS_ROLE.format(pod.calls.role.value)
        if seen is not None and not seen.said.asks:
            return "set AWS_REGION"
        return program.fix if program is not None else _OWN_ROLE


def unexplained(pod: Pod, inside: PodEvidence, now: datetime) -> bool:
    """The pod fails, and its log names no known cause. A pod that never asks the service fails for another reason."""
    return fails(pod, now) and inside.another is None and not never_asks(inside.started)


def _listed(needs: Sequence[ImdsNeed]) -> str:
    """``a, b and c``."""
    *before, last = [need.value for need in needs]
    return f"{', '.join(before)} and {last}" if before else last


def has_role(pod: Pod, identities: Set[PodIdentity] | Unknown) -> bool:
    """Unknown associations count as none."""
    return pod.calls.role is not RoleBy.NOBODY or _associated(pod, identities)


def _associated(pod: Pod, identities: Set[PodIdentity] | Unknown) -> bool:
    if isinstance(identities, Unknown):
        return False
    return PodIdentity(pod.namespace, pod.calls.service_account or "default") in identities


# What-if options of the next nodes, to find affected pods before a change, and intended options.


AL2023 = "AL2023"
TAG = "tag:"


def settings(text: str, names: Collection[str]) -> dict[str, str] | None:
    """Parse ``hops=1,tokens=required``, also with spaces, as tags cannot have commas. None if a name is not in `names`
    or repeated."""
    found: dict[str, str] = {}
    for part in re.split(r"[,\s]+", text.strip()):
        name, _, value = part.partition("=")
        fits = {
            "hops": value.isascii() and value.isdigit() and 1 <= int(value or 0) <= 64,
            "tokens": value in (REQUIRED, OPTIONAL),
            "ami": value.upper() == AL2023,
        }
        if name not in names or name in found or not fits[name]:
            return None
        found[name] = value
    return found


@frozen
class IntendedOptions:
    """Intended options: at most `hops`, None and "" for any. `tag`: the cluster tag with the options, "" if they are
    known."""

    hops: int | None = None
    tokens: str = ""
    tag: str = ""

    @classmethod
    def of(cls, text: str) -> IntendedOptions | None:
        """None for an invalid text."""
        found = settings(text, ("hops", "tokens"))
        if found is None:
            return None
        return cls(int(found["hops"]) if "hops" in found else None, found.get("tokens", ""))

    def __str__(self) -> str:
        """In the syntax of the flag."""
        if self.tag:
            return f"{TAG}{self.tag}"
        return ",".join(f"{name}={value}" for name, value in (("hops", self.hops), ("tokens", self.tokens)) if value)

    def missed_by(self, options: object) -> bool:
        """The options are known and differ from the intended ones; a disabled endpoint violates none."""
        if not isinstance(options, MetadataOptions) or not options.endpoint:
            return False
        wide = self.hops is not None and options.hop_limit > self.hops
        return wide or bool(self.tokens and options.tokens != self.tokens)

    def met_by(self, options: object) -> bool:
        return isinstance(options, MetadataOptions) and options.endpoint and not self.missed_by(options)


@frozen
class Assumed:
    """`hops` and `tokens` of all next instances, None and "" if unchanged; `image`: `AL2023`, or "" for none."""

    hops: int | None = None
    tokens: str = ""
    image: str = ""

    def __str__(self) -> str:
        """In the syntax of the flag."""
        given = (("hops", self.hops), ("tokens", self.tokens), ("ami", self.image))
        return ",".join(f"{name}={value}" for name, value in given if value)

    def options(self, without: object) -> MetadataOptions:
        """The assumed options over the `predicted` ones. Values that are neither assumed nor known are the stricter
        ones."""
        base = without if isinstance(without, MetadataOptions) else MetadataOptions(REQUIRED, 2)
        hops = base.hop_limit if self.hops is None else self.hops
        return replace(base, tokens=self.tokens or base.tokens, hop_limit=hops, pending=False)

    def ami_type(self, of: str) -> str:
        """The assumed AMI type of a managed node group that has `current_type`."""
        return f"AL2023_{of.partition('_')[2]}" if self.image and of.startswith("AL2_") else of

    def of_image(self, image: Image) -> Image:
        return replace(image, v2=True) if self.image else image
