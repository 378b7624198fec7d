"""What a snapshot holds of a cluster besides its lists, behind the ports of whoever asks: the same answers again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.api_usage import KindTold, Release
from kubectl_eksdoc.core.model.asked import NOT_ASKED, Absent, Unknown
from kubectl_eksdoc.core.model.changes import ChangesTold
from kubectl_eksdoc.core.model.cluster_answers import ClusterAnswers
from kubectl_eksdoc.core.model.containers import Container, LogOf
from kubectl_eksdoc.core.model.interruption import SpotEvent
from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.core.model.named import Named

T = TypeVar("T")

Containers = Callable[[Collection[str]], Mapping[str, "tuple[Container, ...] | Absent | Unknown"]]


class HeldAnswers:
    """A `flows.beside.Beside`. `where`: ``the snapshot x``; `containers`: of pods, which are in its lists."""

    def __init__(self, answers: ClusterAnswers, where: str, containers: Containers) -> None:
        self._answers = answers
        self._where = where
        self._containers = containers

    def one(self, of: Named) -> Doc | Absent | Unknown:
        return self._answers.objects.get(of) or Unknown(f"{self._where} does not hold {of} of {of.namespace}")

    def listed(self, resource: Resource, namespace: str) -> tuple[Doc, ...] | Unknown:
        found = self._answers.histories.get((resource.full_name, namespace))
        none = Unknown(f"{self._where} does not hold {resource.plural} of namespace {namespace}")
        return none if found is None else found

    def containers(self, pods: Collection[str]) -> Mapping[str, tuple[Container, ...] | Absent | Unknown]:
        return self._containers(pods)

    def logs(self, asked: Collection[LogOf]) -> Mapping[LogOf, str | Absent | Unknown]:
        held = self._answers.logs
        return {log: held.get(log, Unknown(f"{self._where} holds no log of {log.pod}")) for log in asked}

    def events(self) -> tuple[SpotEvent, ...] | Unknown:
        return self._known(self._answers.events, "Events of nodes")

    def metrics(self, pod: str, port: int) -> str | Absent | Unknown:
        none = Unknown(f"{self._where} holds nothing of what {pod} counts (port {port})")
        return self._answers.metrics.get((pod, port), none)

    def requested(self) -> tuple[str, ...] | Unknown:
        return self._known(self._answers.requested, "counters of the API server")

    def written(self, resources: Sequence[Resource]) -> tuple[KindTold, ...]:
        held = {each.resource.full_name: each for each in self._answers.written}
        return tuple(held.get(each.full_name) or KindTold(each, self._nothing(each.plural)) for each in resources)

    def releases(self) -> tuple[Release, ...] | Unknown:
        return self._known(self._answers.releases, "releases of Helm")

    def told(self) -> ChangesTold:
        return self._answers.past

    def _known(self, held: T, what: str) -> T | Unknown:
        return self._nothing(what) if held == NOT_ASKED else held

    def _nothing(self, what: str) -> Unknown:
        return Unknown(f"{self._where} does not hold {what}")
