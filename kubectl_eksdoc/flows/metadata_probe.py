"""The active probe of the metadata service: look where it may run, make its pods, wait, read what they say, clean up.

What it makes belongs to one object (`flows.metadata_probe`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Protocol, TypeVar

from kubectl_eksdoc.errors import ClusterError, Forbidden
from kubectl_eksdoc.flows.ports import ProbeNamespace
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.imds_probe.probing.diagnosis import Answers
from kubectl_eksdoc.imds_probe.probing.result import (
    Probed,
    ProbePlan,
    ProbePod,
    ProbeSettings,
    owner_manifest,
    plan_probe,
    pod_manifest,
    probed_nodes,
)
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.metadata import report_in
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.placing import NotMade, PodStand, ProbeOwner
from kubectl_eksdoc.probes import INTERRUPTED, ProbeStage, stand_of, too_late

# What every flow does that makes short-lived pods: one object that owns them is made first, and removed at the end,
# whatever happened between: also after Ctrl-C. Of a process that was killed, the kubelet ends the pods after their
# deadline, and the next one removes what is left.


LOOK_S = 1.0
GONE_S = 30.0
"""So long the garbage collector is waited for, in the end."""

T = TypeVar("T")


class ImdsProbeClock(Protocol):
    def monotonic(self) -> float: ...

    def sleep(self, seconds: float) -> object: ...


@frozen
class Cleared:
    """How it went to remove `owner`: names of pods that are still `left`, and why it is `not_removed`, "" if it was."""

    owner: str
    left: tuple[str, ...] = ()
    not_removed: str = ""


def owning(
    ground: ProbeNamespace,
    probe: str,
    manifest: Doc,
    stale: Iterable[ProbeOwner],
    clock: ImdsProbeClock,
    tell: Callable[[str], object],
    body: Callable[[ProbeOwner], T],
) -> tuple[T, Cleared]:
    """What `body` gives, to which the owner of `probe` is lent, made of `manifest`; `stale` ones are removed before.

    Raises:
        Forbidden, ClusterError: not even the owner can be made; nothing is left.
        what `body` does: all is removed nevertheless, or `tell` hears what is left.
    """
    meta = manifest["metadata"]
    name, namespace = str(meta["name"]), str(meta["namespace"])
    for each in stale:
        refused = ground.remove(each)
        if refused is not None:
            tell(still_there(each.name, namespace, (), refused.why))
    owner = ProbeOwner(probe, name, "")
    try:
        owner = _owned(ground, manifest, namespace)
        found = body(owner)
    except BaseException:
        cleared = removed(owner, ground, clock)
        if cleared.not_removed or cleared.left:
            tell(still_there(name, namespace, cleared.left, cleared.not_removed))
        raise
    return found, removed(owner, ground, clock)


def still_there(owner: str, namespace: str, left: Sequence[str], not_removed: str) -> str:
    """What is left, and the command that takes it away."""
    command = f"kubectl delete configmap {owner} -n {namespace}"
    if not_removed:
        return f"ConfigMap {owner} and its pods could not be removed ({not_removed}): {command}"
    return f"{len(left)} pods of ConfigMap {owner}, which is deleted, have not gone yet: {', '.join(left)}"


def _owned(ground: ProbeNamespace, manifest: Doc, namespace: str) -> ProbeOwner:
    made = ground.make_owner(manifest)
    if isinstance(made, ProbeOwner):
        return made
    if made.missing:
        raise Forbidden(made.why, "", made.missing)
    raise ClusterError(f"nothing can be made in namespace {namespace}: {made.why}")


def removed(owner: ProbeOwner, ground: ProbeNamespace, clock: ImdsProbeClock) -> Cleared:
    """With its pods, for which the garbage collector is waited."""
    try:
        refused = ground.remove(owner)
        if refused is not None:
            return Cleared(owner.name, (), refused.why)
        begun_s = clock.monotonic()
        while True:
            stands = ground.stands(owner.probe)
            if isinstance(stands, Unknown) and stands.missing:
                return Cleared(owner.name)
            left = () if isinstance(stands, Unknown) else tuple(sorted(stands))
            if not left and not isinstance(stands, Unknown):
                return Cleared(owner.name)
            if clock.monotonic() - begun_s >= GONE_S:
                return Cleared(owner.name, left)
            clock.sleep(LOOK_S)
    except ClusterError as error:
        return Cleared(owner.name, (), error.message)


_APPEARS_S = 5.0
"""A pod of which it is unknown whether it was made may still come."""


def awaited(
    pods: Mapping[str, Doc],
    probe: str,
    wait_s: float,
    ground: ProbeNamespace,
    clock: ImdsProbeClock,
    told: Callable[[], int],
    now: Callable[[str, PodStand | None], T | Unknown | None],
) -> dict[str, T | Unknown]:
    """Of each of `pods`, which are made, what `now` says (None: it is to be waited for), or why there is nothing."""
    heard: dict[str, T | Unknown] = {}
    for name, manifest in pods.items():
        if told():
            break
        refused = ground.make_pod(manifest)
        if isinstance(refused, NotMade) and not refused.maybe:
            heard[name] = Unknown(f"the pod was refused: {refused.why}", refused.missing)
    begun_s, waited_s, stands = clock.monotonic(), 0.0, dict[str, PodStand]()
    while (missing := [name for name in pods if name not in heard]) and not told():
        found = ground.stands(probe)
        waited_s = clock.monotonic() - begun_s
        if not isinstance(found, Unknown):
            stands = dict(found)
            for name in missing:
                if name in stands or waited_s >= _APPEARS_S:
                    said = now(name, stands.get(name))
                    heard |= {} if said is None else {name: said}
        elif found.missing:
            return heard | dict.fromkeys(missing, found)
        if heard.keys() >= pods.keys() or waited_s >= wait_s:
            break
        clock.sleep(LOOK_S)
    return heard | {
        name: INTERRUPTED if told() else too_late(stands.get(name), clock.monotonic() - begun_s)
        for name in pods
        if name not in heard
    }


AT_ONCE = 30
"""So many nodes are probed at a time, with two pods each."""


def prepared(
    nodes: Iterable[Node],
    ground: ProbeNamespace,
    probe: str,
    manner: ProbeSettings,
    named: Sequence[str] = (),
    every: bool = False,
) -> ProbePlan:
    """Nothing is made.

    Raises:
        UsageError: a node that is `named` is not there.
        ClusterError: the cluster cannot be talked to.
    """
    return plan_probe(nodes, ground.pod_security(), ground.owners(), probe, manner, named, every)


def tried(what: ProbePlan, ground: ProbeNamespace) -> dict[str, NotMade]:
    """What the server would refuse to make, by the names of the pods; nothing is made.

    Raises:
        Unauthorized, ConfigError: nothing can be asked.
    """
    answers = {pod.name: ground.make_pod(pod_manifest(pod, what.probe, what.manner), dry=True) for pod in what.pods}
    return {name: refused for name, refused in answers.items() if refused is not None}


def probed(
    what: ProbePlan,
    ground: ProbeNamespace,
    clock: ImdsProbeClock,
    told: Callable[[], int],
    tell: Callable[[str], object],
) -> Probed:
    """`told`: how often the process was told to end; `tell` hears how far it is, a line each.

    Raises:
        Forbidden, ClusterError: not even the first object can be made; nothing is left.
    """
    manifest = owner_manifest(what.probe, what.manner)

    def body(owner: ProbeOwner) -> dict[str, Answers]:
        heard: dict[str, Answers] = {}
        for wave in _waves(what):
            if told():
                break
            pods = {pod.name: pod_manifest(pod, what.probe, what.manner, owner.uid) for pod in wave}
            heard |= awaited(pods, what.probe, what.manner.wait_s, ground, clock, told, partial(_read, ground))
            tell(f"{len(heard)} of {len(what.pods)} pods were heard of")
        return heard

    answers, cleared = owning(ground, what.probe, manifest, what.stale, clock, tell, body)
    return Probed(probed_nodes(what, answers), cleared.owner, cleared.left, cleared.not_removed, told() > 0)


def _waves(what: ProbePlan) -> Iterator[list[ProbePod]]:
    nodes = what.nodes
    for begin in range(0, len(nodes), AT_ONCE):
        these = nodes[begin : begin + AT_ONCE]
        yield [pod for pod in what.pods if pod.node in these]


def _read(ground: ProbeNamespace, name: str, stand: PodStand | None) -> Answers | None:
    now = stand_of(stand)
    if now is not ProbeStage.READ:
        return now if isinstance(now, Unknown) else None
    log = ground.log(name)
    return log if isinstance(log, Unknown) else report_in(log)
