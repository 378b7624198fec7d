"""Into which pods it is worth looking, since reading their logs is a request each, and what is found there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta

from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.containers import Container, LogOf, Runs
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.metadata.log_lines import Read, Seen, read
from kubectl_eksdoc.core.plan.metadata.programs import Started, needs_of, never_asks, program_of_image, programs_of

MOST = 60
_STEADY = timedelta(minutes=15)
"""The longest pause between two starts of a crashing container is 5 minutes (kubelet, MaxContainerBackOff)."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The pods to look into, and how many more would be worth it."""

    pods: tuple[Pod, ...]
    left: int = 0


@dataclass(frozen=True, slots=True)
class Inside:
    """`started` is None where that is not known; `seen`: the line of its log that tells that it lacks something;
    `unknown`: what could not be read; `another`: the line that names another cause; `weak`: one after which programs
    may go on; `programs`: with what those that are known were started, by their images, where they are several."""

    started: Started | None = None
    seen: Seen | None = None
    unknown: tuple[Unknown, ...] = ()
    another: Seen | None = None
    weak: Seen | None = None
    programs: tuple[tuple[str, Started], ...] = ()

    def started_as(self, image: str) -> Started | None:
        return dict(self.programs).get(image, self.started)


def choose(pods: Iterable[Pod], now: datetime, most: int = MOST) -> Chosen:
    """Of `pods` that do not reach the service: programs that are known to need it, and whatever does not run well. One
    of each controller comes before the second of any."""
    worth = [pod for pod in pods if not (pod.finished or pod.calls.host_network) and (_needs(pod) or fails(pod, now))]
    replicas: Counter[str] = Counter()
    ranked = []
    for pod in sorted(worth, key=lambda each: (not fails(each, now), each.key)):
        owner = pod.owner.uid if pod.owner is not None else pod.uid
        ranked.append(((replicas[owner], not _needs(pod), not fails(pod, now), pod.key), pod))
        replicas[owner] += 1
    ranked.sort(key=lambda each: each[0])
    return Chosen(tuple(pod for _, pod in ranked[:most]), max(0, len(ranked) - most))


def _needs(pod: Pod) -> bool:
    """By what is known without a look; a role of its own may not be the one that it needs."""
    programs = programs_of(pod).values()
    return any(not each.on_host and needs_of(each, pod, None, has_role=False) for each in programs)


def fails(pod: Pod, now: datetime) -> bool:
    """It is not ready though it has a node, or was made ready again a moment ago, or nobody knows when."""
    if not pod.ready:
        return bool(pod.node)
    return pod.restarted and (pod.ready_at is None or now - pod.ready_at < _STEADY)


def ended_badly(pod: Pod, done: Set[str]) -> bool:
    """It is of a Job that makes another after each that fails, and is not among those that are `done`."""
    return pod.phase == "Failed" and pod.owner is not None and pod.owner.kind == "Job" and pod.owner.uid not in done


def logs_of(pod: Pod, containers: Sequence[Container], now: datetime) -> tuple[LogOf, ...]:
    """Of those that fail, or of all where none does: what runs now, and before it what ended. Which comes first says
    more."""
    failing = [each for each in containers if _failing(each) or (each.ended_before and fails(pod, now))]
    found: list[LogOf] = []
    for each in failing or [each for each in containers if not each.init]:
        log = LogOf(pod.namespace, pod.name, each.name)
        before = LogOf(pod.namespace, pod.name, each.name, previous=True)
        if each.runs is not Runs.WAITING:
            found.append(log)
        if each.ended_before and (each in failing):
            found.append(before)
    return tuple(found)


def _failing(container: Container) -> bool:
    """An init container that has ended well is not ready, and does not have to be."""
    return not (container.ready or (container.init and container.ended_as == "Completed"))


def started_of(containers: Sequence[Container]) -> Started | None:
    """Of the program that is known, else of the first that may ask the service: the others stand beside it."""
    running = [each for each in containers if not each.init]
    known = (each for each in running if program_of_image(each.image) is not None)
    asking = (each for each in running if not never_asks(_started(each)))
    which = next(known, None) or next(asking, running[0] if running else None)
    return None if which is None else _started(which)


def _started(container: Container) -> Started:
    return Started(container.arguments, container.variables, container.more_variables, container.values)


def inside(
    containers: Sequence[Container] | Absent | Unknown,
    asked: Sequence[LogOf],
    logs: Mapping[LogOf, str | Absent | Unknown],
) -> Inside:
    """`asked`: its logs in the order of `logs_of`; those that were not read are unknown where no other tells. What a
    container lacks that never asks the service, the service would not give it."""
    if isinstance(containers, (Absent, Unknown)):
        return Inside(unknown=(_unknown(containers),))
    told = [logs.get(log, Unknown("it was not asked for")) for log in asked]
    silent = {each.name for each in containers if never_asks(_started(each))}
    logs_read = [
        Read(another=found.another) if log.container in silent else found
        for log, text in zip(asked, told, strict=True)
        if isinstance(text, str) and (found := read(text))
    ]
    first = {name: next(filter(None, (getattr(each, name) for each in logs_read)), None) for name in Read.__slots__}
    untold = () if first["symptom"] is not None else tuple(_unknown(each) for each in told if not isinstance(each, str))
    known = [each for each in containers if not each.init and program_of_image(each.image) is not None]
    several = tuple((each.image, _started(each)) for each in known) if len(known) > 1 else ()
    return Inside(started_of(containers), first["symptom"], untold, first["another"], first["weak"], several)


def _unknown(given: Absent | Unknown) -> Unknown:
    return given if isinstance(given, Unknown) else Unknown(f"it is gone: {given.said}")
