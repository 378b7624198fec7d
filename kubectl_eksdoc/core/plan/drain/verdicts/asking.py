"""What the rules say of pods, budgets aside: of most there is nothing to say."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.core.model.budgets import Budget
from kubectl_eksdoc.core.model.pods import Owner, Pod, Volume, VolumeKind
from kubectl_eksdoc.core.plan.drain.outcome import PodVerdict
from kubectl_eksdoc.core.plan.drain.survey import Survey
from kubectl_eksdoc.core.plan.drain.verdicts import filters, pods
from kubectl_eksdoc.core.plan.drain.verdicts.said import Said, fold


class Rules:
    """Asks every rule about a pod. Most pods are healthy replicas, and to ask about each of them would take most of
    the time: what does not depend on the pod itself is remembered for those like it."""

    def __init__(self, world: Survey) -> None:
        self._world = world
        self._options = filters.options_of(world.policy)
        self._remembered: dict[object, Told] = {}
        self._guards_of = world.guards.known
        served = (pod for found in world.needed.values() for backends in found for pod in backends.pods)
        self._needed = {pod.owner.uid for pod in served if pod.owner is not None}  # owners of what others need

    def ask(self, pod: Pod) -> Told:
        """The verdict, and everything they say; a pod that stays is asked nothing more. And the budgets that select
        it."""
        owner = pod.owner
        if owner is None or pod.deletion_deadline is not None or pod.annotations or owner.uid in self._needed:
            return self._ask(pod)  # one by itself
        alike: object = (owner.uid, id(pod.labels), id(pod.tolerations), pod.phase, pod.ready)
        if pod.volumes or pod.readiness_gates:
            alike = alike, pod.readiness_gates, tuple([_alike(volume) for volume in pod.volumes])
        told = self._remembered.get(alike)
        if told is None:
            told = self._ask(pod)
            if self._told_of_all(pod, owner, *told[:2]):
                self._remembered[alike] = told
        elif pod.volumes and told[0] is not PodVerdict.STAY and pods.is_bound_to_its_node(self._world, pod) is not None:
            told = self._ask(pod)
        return told

    def _ask(self, pod: Pod) -> Told:
        told = filters.ask(self._world, pod, self._options)
        verdict = fold(told)
        if verdict is not PodVerdict.STAY:
            more = [said for rule in pods.RULES if (said := rule(self._world, pod)) is not None]
            if more:
                told += more
                verdict = fold(told)
        return verdict, tuple(told), self._guards_of(pod)

    def _told_of_all(self, pod: Pod, owner: Owner, verdict: PodVerdict, told: Sequence[Said]) -> bool:
        """Whether the same is told of all like it: nothing, or that they stay, which is no finding."""
        made_by = self._world.workloads.get(owner.uid)
        if pod.finished or (made_by is not None and made_by.pinned_to):
            return False
        return not told or (verdict is PodVerdict.STAY and all(said.finding is None for said in told))


def _alike(volume: Volume) -> object:
    """What the rules ask of a volume, but for the one that asks for the volumes of claims: each replica of a
    StatefulSet has its own."""
    return (volume.kind, "" if volume.kind is VolumeKind.CLAIM else volume.detail)


Told = tuple[PodVerdict, tuple[Said, ...], tuple[Budget, ...]]
"""The worst of what is said, all of it, and the budgets that select the pod."""
