"""The active probe of the metadata service: look where it may run, make its pods, wait, read what they say, clean up.

What it makes belongs to one object (`flows.probe_pods`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.aws.machines import MetadataOptions
from kubectl_eksdoc.core.model.metadata_probe import report_in
from kubectl_eksdoc.core.model.nodes import Node
from kubectl_eksdoc.core.model.probe_pods import NotMade, Owner, PodStand
from kubectl_eksdoc.core.plan.metadata.probing.diagnosis import Answers
from kubectl_eksdoc.core.plan.metadata.probing.plan import ProbePlan, plan_probe
from kubectl_eksdoc.core.plan.metadata.probing.pods import (
    Manner,
    ProbePod,
    owner_manifest,
    pod_manifest,
)
from kubectl_eksdoc.core.plan.metadata.probing.result import INTERRUPTED, Probed, probed_nodes
from kubectl_eksdoc.core.plan.probe_stands import Now, stand_of, too_late
from kubectl_eksdoc.flows.ports import ProbeGround
from kubectl_eksdoc.flows.probe_pods import LOOK_S, Clock, owning

AT_ONCE = 30
"""So many nodes are probed at a time, with two pods each."""


def prepared(
    nodes: Iterable[Node],
    ground: ProbeGround,
    probe: str,
    manner: Manner,
    named: Sequence[str] = (),
    every: bool = False,
) -> ProbePlan:
    """Nothing is made.

    Raises:
        UsageError: a node that is `named` is not there.
        ClusterError: the cluster cannot be talked to.
    """
    return plan_probe(nodes, ground.pod_security(), ground.owners(), probe, manner, named, every)


def tried(what: ProbePlan, ground: ProbeGround) -> dict[str, NotMade]:
    """What the server would refuse to make, by the names of the pods; nothing is made.

    Raises:
        Unauthorized, ConfigError: nothing can be asked.
    """
    answers = {pod.name: ground.make_pod(pod_manifest(pod, what.probe, what.manner), dry=True) for pod in what.pods}
    return {name: refused for name, refused in answers.items() if refused is not None}


def probed(
    what: ProbePlan,
    ground: ProbeGround,
    clock: Clock,
    told: Callable[[], int],
    tell: Callable[[str], object],
    options: Mapping[str, MetadataOptions] | None = None,
) -> Probed:
    """`told`: how often the process was told to end; `tell` hears how far it is, a line each. `options`: what EC2 says
    of the nodes' instances, where that is known.

    Raises:
        Forbidden, ClusterError: not even the first object can be made; nothing is left.
    """
    manifest = owner_manifest(what.probe, what.manner)

    def heard(owner: Owner) -> dict[str, Answers]:
        return _heard_all(what, owner, ground, clock, told, tell)

    answers, cleared = owning(ground, what.probe, manifest, what.stale, clock, tell, heard)
    nodes = probed_nodes(what, answers, options or {})
    return Probed(nodes, cleared.owner, cleared.left, cleared.not_removed, told() > 0)


def _heard_all(
    what: ProbePlan,
    owner: Owner,
    ground: ProbeGround,
    clock: Clock,
    told: Callable[[], int],
    tell: Callable[[str], object],
) -> dict[str, Answers]:
    heard: dict[str, Answers] = {}
    for wave in _waves(what):
        if told():
            break
        heard |= _heard(wave, what, owner, ground, clock, told)
        tell(f"{len(heard)} of {len(what.pods)} pods were heard of")
    return heard


def _waves(what: ProbePlan) -> Iterator[list[ProbePod]]:
    nodes = what.nodes
    for begin in range(0, len(nodes), AT_ONCE):
        these = nodes[begin : begin + AT_ONCE]
        yield [pod for pod in what.pods if pod.node in these]


def _heard(
    wave: Sequence[ProbePod],
    what: ProbePlan,
    owner: Owner,
    ground: ProbeGround,
    clock: Clock,
    told: Callable[[], int],
) -> dict[str, Answers]:
    """Of each pod, by its name, what it printed or why it did not."""
    heard: dict[str, Answers] = {}
    for pod in wave:
        if told():
            break
        refused = ground.make_pod(pod_manifest(pod, what.probe, what.manner, owner.uid))
        if isinstance(refused, NotMade) and not refused.maybe:
            heard[pod.name] = Unknown(f"the pod was refused: {refused.why}", refused.missing)
    begun_s, missing = clock.monotonic(), [pod.name for pod in wave if pod.name not in heard]
    stands: Mapping[str, PodStand] | Unknown = {}
    while missing and not told():
        stands = ground.stands(what.probe)
        if isinstance(stands, Unknown):
            if stands.missing:
                return heard | dict.fromkeys(missing, stands)
        else:
            heard |= _over(missing, stands, ground, clock.monotonic() - begun_s)
            missing = [name for name in missing if name not in heard]
        if not missing or clock.monotonic() - begun_s >= what.manner.wait_s:
            break
        clock.sleep(LOOK_S)
    waited_s = clock.monotonic() - begun_s
    known = {} if isinstance(stands, Unknown) else stands
    return heard | {name: INTERRUPTED if told() else too_late(known.get(name), waited_s) for name in missing}


_APPEARS_S = 5.0
"""A pod of which nobody knows whether it was made may still come."""


def _over(
    names: Sequence[str], stands: Mapping[str, PodStand], ground: ProbeGround, waited_s: float
) -> dict[str, Answers]:
    found: dict[str, Answers] = {}
    for name in names:
        if name not in stands and waited_s < _APPEARS_S:
            continue
        now = stand_of(stands.get(name))
        if isinstance(now, Unknown):
            found[name] = now
        elif now is Now.READ:
            log = ground.log(name)
            found[name] = log if isinstance(log, Unknown) else report_in(log)
    return found
