"""Active probe of the metadata service: find out where it may run, create its pods, read their answers, delete them.

One object owns all objects of a probe (`imds_probe.probe`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.metadata import report_in
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.placing import NotMade, PodStand, ProbeOwner
from kubectl_eksdoc.ports import ProbeNamespace
from kubectl_eksdoc.probes.pods import ImdsProbeClock, ProbeStage, awaited, owning, stand_of

from .probe_diagnosis import Answers
from .probe_result import (
    Probed,
    ProbePlan,
    ProbePod,
    ProbeSettings,
    owner_manifest,
    plan_probe,
    pod_manifest,
    probed_nodes,
)

# Rules of all commands that create short-lived pods: the owner of the pods is created first and deleted last, also
# after Ctrl-C. If the process is killed, the kubelet ends the pods after their deadline, and the next probe deletes the
# rest.


AT_ONCE = 30
"""Number of nodes that are probed at a time, with two pods each."""


def prepared(
    nodes: Iterable[Node],
    ground: ProbeNamespace,
    probe: str,
    manner: ProbeSettings,
    named: Sequence[str] = (),
    every: bool = False,
) -> ProbePlan:
    """Plan a probe; nothing is created.

    Raises:
        UsageError: a node of `node_names` does not exist.
        ClusterError: the cluster cannot be reached.
    """
    return plan_probe(nodes, ground.pod_security(), ground.owners(), probe, manner, named, every)


def tried(what: ProbePlan, ground: ProbeNamespace) -> dict[str, NotMade]:
    """Pods that the API server would refuse, by name; nothing is created.

    Raises:
        Unauthorized, ConfigError: no request is possible.
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
    """Run the probe. `interrupts`: number of interruptions by the user; `report` receives progress lines.

    Raises:
        Forbidden, ClusterError: the owner cannot be created; nothing is left in the cluster.
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
