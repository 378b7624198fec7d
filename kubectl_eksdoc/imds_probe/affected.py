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

from kubectl_eksdoc.amazon.metadata_service import TOKENS_OPTIONAL, TOKENS_REQUIRED, ImdsReach, ImdsVerdict
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.machines import Image, MetadataOptions, PodIdentity
from kubectl_eksdoc.model.nodes import Container, ContainerRunState, LogKey, Pod, RoleSource

from .programs import (
    ContainerCommand,
    ImdsNeed,
    LogReading,
    MatchedLogLine,
    Program,
    ProgramNeeds,
    is_known_not_to_ask,
    needs_of,
    never_asks,
    program_of_image,
    programs_of,
    read_log,
)

# Selection of pods to read logs of, because each log is a request, and the evidence in these pods.


MAX_PODS = 60
_STABLE_AFTER = timedelta(minutes=15)
"""The longest delay between two starts of a crashing container is 5 minutes (kubelet, MaxContainerBackOff)."""


@frozen
class _PodSelection:
    """The selected pods, and the number of further candidates."""

    pods: tuple[Pod, ...]
    not_selected: int = 0


@frozen
class PodEvidence:
    """`command` is None if unknown; `symptom`: the log line that shows a missing need; `unreadable`: parts that could
    not be read; `other_cause`: the log line with another cause; `weak_symptom`: a line after which programs may
    continue; `commands_by_image`: the commands of known programs by image, if there are several."""

    command: ContainerCommand | None = None
    symptom: MatchedLogLine | None = None
    unreadable: tuple[Unknown, ...] = ()
    other_cause: MatchedLogLine | None = None
    weak_symptom: MatchedLogLine | None = None
    commands_by_image: tuple[tuple[str, ContainerCommand], ...] = ()

    def command_of(self, image: str) -> ContainerCommand | None:
        return dict(self.commands_by_image).get(image, self.command)


def select_pods(
    pods: Sequence[Pod], now: datetime, max_pods: int = MAX_PODS, can_read_logs: bool = True
) -> _PodSelection:
    """Select from `pods` without access to the service: programs with a known need, and pods that do not run well. One
    pod of each controller comes before a second one. If there is room and `can_read_logs`, one pod of each other
    controller without an own role follows: it may be Ready and still lack what it asks for."""
    candidates = [
        pod
        for pod in pods
        if not (pod.finished or pod.calls.host_network) and (may_need_imds(pod) or is_failing(pod, now))
    ]
    replicas: Counter[str] = Counter()
    ranked = []
    for pod in sorted(candidates, key=lambda each: (not is_failing(each, now), each.key)):
        owner = _owner_uid(pod)
        ranked.append(((replicas[owner], not may_need_imds(pod), not is_failing(pod, now), pod.key), pod))
        replicas[owner] += 1
    ranked.sort(key=lambda each: each[0])
    other_pods = islice(_pods_without_role(pods, {*replicas}), max(0, max_pods - len(ranked)) if can_read_logs else 0)
    return _PodSelection((*(pod for _, pod in ranked[:max_pods]), *other_pods), max(0, len(ranked) - max_pods))


def _pods_without_role(pods: Iterable[Pod], known_owners: set[str]) -> Iterator[Pod]:
    """Pods of controllers that are not in `known_owners`; the controllers are added to it."""
    for pod in pods:
        calls = pod.calls
        if (
            calls.role is not RoleSource.NONE
            or calls.host_network
            or pod.finished
            or not pod.node
            or _owner_uid(pod) in known_owners
        ):
            continue
        known_owners.add(_owner_uid(pod))
        if not all(map(is_known_not_to_ask, calls.images)):
            yield pod


def _owner_uid(pod: Pod) -> str:
    return pod.owner.uid if pod.owner is not None else pod.uid


def may_need_imds(pod: Pod) -> bool:
    """By the known programs, without evidence from the pod; its own role may not be the one that it needs."""
    programs = programs_of(pod).values()
    return any(needs_of(each, pod, None, has_role=False) for each in programs)


def is_failing(pod: Pod, now: datetime) -> bool:
    """The pod is not Ready on its node, or it became Ready again a short or unknown time ago."""
    if not pod.ready:
        return bool(pod.node)
    return pod.restarted and (pod.ready_at is None or now - pod.ready_at < _STABLE_AFTER)


def is_failed_job_pod(pod: Pod, succeeded_jobs: Set[str]) -> bool:
    """The pod failed, and its Job, which creates another pod after a failure, is not in `succeeded_jobs`."""
    return (
        pod.phase == "Failed"
        and pod.owner is not None
        and pod.owner.kind == "Job"
        and pod.owner.uid not in succeeded_jobs
    )


def logs_of(pod: Pod, containers: Sequence[Container], now: datetime) -> tuple[LogKey, ...]:
    """Logs of the failing containers, or of all if none fails: the current one, then that of the previous run. The
    order matters."""
    failing = [
        container
        for container in containers
        if _is_container_failing(container) or (container.ended_before and is_failing(pod, now))
    ]
    logs: list[LogKey] = []
    for container in failing or [container for container in containers if not container.init]:
        log = LogKey(pod.namespace, pod.name, container.name)
        previous_log = LogKey(pod.namespace, pod.name, container.name, previous=True)
        if container.runs is not ContainerRunState.WAITING:
            logs.append(log)
        if container.ended_before and (container in failing):
            logs.append(previous_log)
    return tuple(logs)


def _is_container_failing(container: Container) -> bool:
    """A completed init container is not ready, and need not be."""
    return not (container.ready or (container.init and container.ended_as == "Completed"))


def command_of_pod(containers: Sequence[Container]) -> ContainerCommand | None:
    """The command of the known program, else of the first container that may ask the service; the others are
    sidecars."""
    running = [each for each in containers if not each.init]
    known_programs = (each for each in running if program_of_image(each.image) is not None)
    possible_askers = (each for each in running if not never_asks(_container_command(each)))
    container = next(known_programs, None) or next(possible_askers, running[0] if running else None)
    return None if container is None else _container_command(container)


def _container_command(container: Container) -> ContainerCommand:
    more_variables = container.more_variables, container.values, container.more_secrets
    return ContainerCommand(container.arguments, container.variables, *more_variables)


def read_evidence(
    containers: Sequence[Container] | Absent | Unknown,
    log_refs: Sequence[LogKey],
    logs: Mapping[LogKey, str | Absent | Unknown],
) -> PodEvidence:
    """Read the evidence. `log_refs`: the pod's logs in the order of `logs_of`; an unread log counts as unknown if no
    other one has a symptom. Missing values of a container that never asks the service have another cause."""
    if isinstance(containers, (Absent, Unknown)):
        return PodEvidence(unreadable=(_as_unknown(containers),))
    texts = [logs.get(log, Unknown("it was not asked for")) for log in log_refs]
    silent_containers = {each.name for each in containers if never_asks(_container_command(each))}
    logs_read = [
        LogReading(another=reading.another) if log.container in silent_containers else reading
        for log, text in zip(log_refs, texts, strict=True)
        if isinstance(text, str) and (reading := read_log(text))
    ]
    first_lines = {
        name: next(filter(None, (getattr(each, name) for each in logs_read)), None)
        for name in ("symptom", "weak", "another")
    }
    unread_logs = (
        ()
        if first_lines["symptom"] is not None
        else tuple(_as_unknown(each) for each in texts if not isinstance(each, str))
    )
    known_containers = [each for each in containers if not each.init and program_of_image(each.image) is not None]
    commands_by_image = (
        tuple((each.image, _container_command(each)) for each in known_containers) if len(known_containers) > 1 else ()
    )
    return PodEvidence(
        command_of_pod(containers),
        first_lines["symptom"],
        unread_logs,
        first_lines["another"],
        first_lines["weak"],
        commands_by_image,
    )


def _as_unknown(answer: Absent | Unknown) -> Unknown:
    return answer if isinstance(answer, Unknown) else Unknown(f"it is gone: {answer.said}")


class Effect(Enum):
    """Effect on a pod, the worst first. `NO_KNOWN_NEED`: the pod has no role of its own, and nothing shows that it
    calls AWS."""

    BROKEN = "broken now"
    WILL_BREAK = "will break"
    POSSIBLE = "possible"
    NO_KNOWN_NEED = "no known need"


EFFECT_RANK = {effect: rank for rank, effect in enumerate(Effect)}


@frozen
class AffectedPod:
    """`reason` (why it needs the service), `location` (where it lacks it) and `way_out` are clauses; `source`: of the
    facts about the program, "" if it is unknown. `log_line`: evidence in its log. `asks_service`: it asks the service
    for what it lacks. `lacks_own_role`: it lacks the credentials of its own role, which the node's cannot replace."""

    pod: Pod
    effect: Effect
    reason: str
    location: str
    way_out: str
    source: str = ""
    log_line: str = ""
    asks_service: bool = True
    lacks_own_role: bool = False


_USE_OWN_ROLE = "give it a role of its own: EKS Pod Identity or IRSA"
_CHECK_ROLE = (
    "it has a role by {0} and does not get its credentials: update its AWS SDK, and check that role's trust policy and "
    "the service account's token"
)
RECREATE_POD = "recreate it: EKS Pod Identity has a role for its service account, which it got after the pod started"
_MANY_LINES = 20
"""Number of log lines after which a Ready program has continued without what it lacked."""
_CREDENTIALS_EXPIRED = timedelta(hours=12)
"""Credentials of a node role are valid for at most 6 hours: a pod that has run longer has others, or needs none."""


def lacks_imdsv2(*verdicts: ImdsVerdict) -> bool:
    """A verdict says that the pod cannot reach the service, or only with IMDSv1."""
    return any(each.reach in (ImdsReach.UNREACHABLE, ImdsReach.V1_ONLY) for each in verdicts)


@frozen
class PodChecker:
    """Checks pods on a node with the verdict `verdict_now`, whose next node has `verdict_next`. `identities`: service
    accounts with a role by EKS Pod Identity. `is_host_network`: the verdicts are those for pods in the host
    network; without it such pods are not checked."""

    verdict_now: ImdsVerdict
    verdict_next: ImdsVerdict
    identities: Set[PodIdentity] | Unknown
    now: datetime
    is_host_network: bool = False

    def check(self, pod: Pod, evidence: PodEvidence = PodEvidence()) -> AffectedPod | None:
        """None if the pod is not affected, as far as its object and evidence show."""
        if pod.finished or (pod.calls.host_network and not self.is_host_network):
            return None
        known_programs = programs_of(pod)
        program = next(iter(known_programs.values()), None)
        if (
            evidence.symptom is not None
            and self.verdict_now.reach is not ImdsReach.REACHABLE
            and not self._has_recovered(pod, evidence.symptom)
        ):
            return self._broken_pod(pod, program, evidence.symptom, evidence.other_cause)
        if not lacks_imdsv2(self.verdict_now, self.verdict_next):
            return None
        own_role = has_role(pod, self.identities)
        if program is None and never_asks(evidence.command):
            return None
        if program is None:
            return (
                None
                if own_role or all(map(is_known_not_to_ask, pod.calls.images))
                else self._pod_without_known_need(pod)
            )
        results = []
        for image, known_program in known_programs.items():
            program_evidence = replace(evidence, command=evidence.command_of(image))
            if not never_asks(program_evidence.command):
                results.append(
                    self._check_program(
                        pod,
                        known_program,
                        needs_of(known_program, pod, program_evidence.command, own_role),
                        program_evidence,
                    )
                )
        return min(filter(None, results), key=lambda known_program: EFFECT_RANK[known_program.effect], default=None)

    def _has_recovered(self, pod: Pod, symptom: MatchedLogLine) -> bool:
        """The pod is Ready, and has logged many lines since."""
        return not is_failing(pod, self.now) and symptom.lines_after > _MANY_LINES

    def _broken_pod(
        self, pod: Pod, program: Program | None, symptom: MatchedLogLine, other_cause: MatchedLogLine | None
    ) -> AffectedPod:
        reason = f"its log says that it lacks {symptom.lacks} ({symptom.record.program})"
        if other_cause is not None:
            reason += ", and names another cause after it"
        location = f"on its node {self.verdict_now.why}"
        if self.verdict_now.reach is ImdsReach.UNKNOWN:
            location = f"whether its node's service is reached is not known: {self.verdict_now.why}"
        source = str(program.source if program is not None else symptom.record.source)
        way_out = self._way_out(pod, program, symptom)
        if not symptom.record.asks:
            reason += ", which it does not ask the service for"
        own_role = symptom.record.lacks == "credentials" and has_role(pod, self.identities)
        effect = Effect.BROKEN if other_cause is None else Effect.POSSIBLE
        return AffectedPod(pod, effect, reason, location, way_out, source, symptom.line, symptom.record.asks, own_role)

    def _pod_without_known_need(self, pod: Pod) -> AffectedPod:
        _, location = self._worst_verdict()
        return AffectedPod(pod, Effect.NO_KNOWN_NEED, "it has no role of its own", location, _USE_OWN_ROLE)

    def _check_program(
        self, pod: Pod, program: Program, needs: ProgramNeeds, evidence: PodEvidence
    ) -> AffectedPod | None:
        if not needs:
            return None
        worst_verdict, location = self._worst_verdict()
        effect, reason = Effect.POSSIBLE, f"it may look for {_join_needs([*needs.surely, *needs.may])} there"
        if program.only_if and not needs.surely:
            reason = f"it looks for {_join_needs(needs.may)} there if {program.only_if}"
            effect = Effect.NO_KNOWN_NEED if self._works_without(pod, evidence) else Effect.POSSIBLE
        elif evidence.command is None and needs.may:
            reason = f"whether it was given {_join_needs(needs.may)} is not known"
        elif not needs.surely:
            reason = f"whether its envFrom gives it {_join_needs(needs.may)} is not known"
        elif program.on_host and not pod.calls.host_network:
            reason = "it was not given the network of its host, with which it comes"
        elif self._outlives_credentials(pod, needs, evidence):
            reason = f"it looks for {_join_needs(needs.surely)} there, and has run without for more than 12 hours"
        elif worst_verdict.reach is ImdsReach.UNREACHABLE:
            effect, reason = Effect.WILL_BREAK, f"it looks for {_join_needs(needs.surely)} there"
        return AffectedPod(pod, effect, reason, location, self._way_out(pod, program), str(program.source))

    def _works_without(self, pod: Pod, evidence: PodEvidence) -> bool:
        """The pod is Ready, its log was read, and the next node offers at least the same access."""
        loses = lacks_imdsv2(self.verdict_next) and self.verdict_now.reach not in (
            ImdsReach.UNREACHABLE,
            self.verdict_next.reach,
        )
        return not loses and pod.ready and evidence.command is not None and not evidence.unreadable

    def _outlives_credentials(self, pod: Pod, needs: ProgramNeeds, evidence: PodEvidence) -> bool:
        """The pod needs only credentials, had no access all the time as far as known, and its log was read."""
        if (
            needs.surely != (ImdsNeed.CREDENTIALS,)
            or self.verdict_now.reach is not ImdsReach.UNREACHABLE
            or evidence.unreadable
        ):
            return False
        return pod.ready and pod.ready_at is not None and self.now - pod.ready_at > _CREDENTIALS_EXPIRED

    def _worst_verdict(self) -> tuple[ImdsVerdict, str]:
        """With the node it applies to, a clause."""
        for reach in (ImdsReach.UNREACHABLE, ImdsReach.V1_ONLY):
            if self.verdict_now.reach is reach:
                return self.verdict_now, f"on its node {self.verdict_now.why}"
            if self.verdict_next.reach is reach:
                return self.verdict_next, f"on the next node {self.verdict_next.why}"
        raise AssertionError("only pods that cannot reach IMDS are checked")

    def _way_out(self, pod: Pod, program: Program | None, symptom: MatchedLogLine | None = None) -> str:
        if pod.calls.role is RoleSource.NONE and _has_pod_identity(pod, self.identities):
            return RECREATE_POD
        if symptom is not None and symptom.record.lacks == "credentials" and pod.calls.role is not RoleSource.NONE:
            return _CHECK_ROLE.format(pod.calls.role.value)
        if symptom is not None and not symptom.record.asks:
            return "set AWS_REGION"
        return program.fix if program is not None else _USE_OWN_ROLE


def has_unexplained_failure(pod: Pod, evidence: PodEvidence, now: datetime) -> bool:
    """The pod fails, and its log names no known cause. A pod that never asks the service fails for another reason."""
    return is_failing(pod, now) and evidence.other_cause is None and not never_asks(evidence.command)


def _join_needs(needs: Sequence[ImdsNeed]) -> str:
    """``a, b and c``."""
    *others, last = [need.value for need in needs]
    return f"{', '.join(others)} and {last}" if others else last


def has_role(pod: Pod, identities: Set[PodIdentity] | Unknown) -> bool:
    """Unknown associations count as none."""
    return pod.calls.role is not RoleSource.NONE or _has_pod_identity(pod, identities)


def _has_pod_identity(pod: Pod, identities: Set[PodIdentity] | Unknown) -> bool:
    if isinstance(identities, Unknown):
        return False
    return PodIdentity(pod.namespace, pod.calls.service_account or "default") in identities


# What-if options of the next nodes, to find affected pods before a change, and intended options.


AL2023 = "AL2023"
TAG_PREFIX = "tag:"


def parse_options(text: str, names: Collection[str]) -> dict[str, str] | None:
    """Parse ``hops=1,tokens=required``, also with spaces, as tags cannot have commas. None if a name is not in `names`
    or repeated."""
    options: dict[str, str] = {}
    for part in re.split(r"[,\s]+", text.strip()):
        name, _, value = part.partition("=")
        is_valid = {
            "hops": value.isascii() and value.isdigit() and 1 <= int(value or 0) <= 64,
            "tokens": value in (TOKENS_REQUIRED, TOKENS_OPTIONAL),
            "ami": value.upper() == AL2023,
        }
        if name not in names or name in options or not is_valid[name]:
            return None
        options[name] = value
    return options


@frozen
class IntendedOptions:
    """Intended options: at most `hops`, None and "" for any. `tag`: the cluster tag with the options, "" if they are
    known."""

    hops: int | None = None
    tokens: str = ""
    tag: str = ""

    @classmethod
    def parse(cls, text: str) -> IntendedOptions | None:
        """None for an invalid text."""
        values = parse_options(text, ("hops", "tokens"))
        if values is None:
            return None
        return cls(int(values["hops"]) if "hops" in values else None, values.get("tokens", ""))

    def __str__(self) -> str:
        """In the syntax of the flag."""
        if self.tag:
            return f"{TAG_PREFIX}{self.tag}"
        return ",".join(f"{name}={value}" for name, value in (("hops", self.hops), ("tokens", self.tokens)) if value)

    def is_violated_by(self, options: object) -> bool:
        """The options are known and differ from the intended ones; a disabled endpoint violates none."""
        if not isinstance(options, MetadataOptions) or not options.endpoint:
            return False
        is_too_high = self.hops is not None and options.hop_limit > self.hops
        return is_too_high or bool(self.tokens and options.tokens != self.tokens)

    def is_met_by(self, options: object) -> bool:
        return isinstance(options, MetadataOptions) and options.endpoint and not self.is_violated_by(options)


@frozen
class AssumedOptions:
    """`hops` and `tokens` of all next instances, None and "" if unchanged; `image`: `AL2023`, or "" for none."""

    hops: int | None = None
    tokens: str = ""
    image: str = ""

    def __str__(self) -> str:
        """In the syntax of the flag."""
        values = (("hops", self.hops), ("tokens", self.tokens), ("ami", self.image))
        return ",".join(f"{name}={value}" for name, value in values if value)

    def apply_to(self, predicted: object) -> MetadataOptions:
        """The assumed options over the `predicted` ones. Values that are neither assumed nor known are the stricter
        ones."""
        base = predicted if isinstance(predicted, MetadataOptions) else MetadataOptions(TOKENS_REQUIRED, 2)
        hops = base.hop_limit if self.hops is None else self.hops
        return replace(base, tokens=self.tokens or base.tokens, hop_limit=hops, pending=False)

    def ami_type(self, current_type: str) -> str:
        """The assumed AMI type of a managed node group that has `current_type`."""
        return (
            f"AL2023_{current_type.partition('_')[2]}"
            if self.image and current_type.startswith("AL2_")
            else current_type
        )

    def image_for(self, image: Image) -> Image:
        return replace(image, v2=True) if self.image else image
