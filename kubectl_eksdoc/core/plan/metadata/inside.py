"""What is found in single pods: whose logs are read, what these say, and with what the containers were started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from kubectl_eksdoc.core.model.aws.asked import Absent, Unknown
from kubectl_eksdoc.core.model.containers import Container, LogOf, Runs
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.metadata.consumers import consumer_of
from kubectl_eksdoc.core.plan.metadata.facts import Started
from kubectl_eksdoc.core.plan.metadata.symptoms import Seen, last_symptom

Found = tuple[Container, ...] | Absent | Unknown

_STEADY = timedelta(minutes=15)
"""The longest pause between two starts of a crashing container is 5 minutes (kubelet, MaxContainerBackOff)."""


def logs_of(pod: Pod, containers: Sequence[Container], now: datetime) -> tuple[LogOf, ...]:
    """Of its containers that fail, or of all where none does: what runs now, and before it what ended. What ended
    before the pod ran well for long tells nothing of today."""
    shaky = not pod.ready or (pod.ready_at is not None and now - pod.ready_at < _STEADY)
    failing = [each for each in containers if not each.ready or (each.ended_before and shaky)]
    found: list[LogOf] = []
    for each in failing or containers:
        if each.runs is not Runs.WAITING:
            found.append(LogOf(pod.namespace, pod.name, each.name))
        if each.ended_before and each in failing:
            found.append(LogOf(pod.namespace, pod.name, each.name, previous=True))
    return tuple(found)


def started_of(found: Found) -> Started | Unknown:
    """Of the program that is known, else of the first: the others stand beside it."""
    if isinstance(found, (Absent, Unknown)):
        return _unknown(found)
    known = (each for each in found if consumer_of(each.image) is not None)
    which = next(known, found[0] if found else None)
    if which is None:
        return Unknown("it has no containers")
    return Started(which.arguments, which.variables, which.more_variables)


def seen_in(
    found: Found, asked: Sequence[LogOf], logs: Mapping[LogOf, str | Absent | Unknown]
) -> Seen | Unknown | None:
    """`asked`: its logs in the order of `logs_of`. One that was not read is unknown where no other tells."""
    if isinstance(found, (Absent, Unknown)):
        return _unknown(found)
    told = [logs.get(log, Unknown("it was not asked for")) for log in asked]
    seen = next(filter(None, (last_symptom(text) for text in told if isinstance(text, str))), None)
    return seen or next((_unknown(each) for each in told if not isinstance(each, str)), None)


def _unknown(given: Absent | Unknown) -> Unknown:
    return given if isinstance(given, Unknown) else Unknown(f"it is gone: {given.said}")
