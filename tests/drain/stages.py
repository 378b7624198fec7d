"""Stages for rehearsals: recorded and generated clusters, with simulated controllers."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from functools import cache
from pathlib import Path

from kubectl_eksdoc.drain.duration.generations import learned_kubelet_times
from kubectl_eksdoc.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.drain.read import plan_drain
from kubectl_eksdoc.drain.run.engine import Engine
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.pod_evictions import ObservedState
from kubectl_eksdoc.embedded import faults as of_requests
from kubectl_eksdoc.embedded.loading import load_documents
from kubectl_eksdoc.embedded.stage import SimulatedStage
from kubectl_eksdoc.host.dump import DumpReader
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse
from kubectl_eksdoc.kubernetes.updates import RequestAnswered, RunUpdate
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.actions import ClusterAction, Cordon, Evict
from kubectl_eksdoc.model.api_objects import Doc, with_value
from kubectl_eksdoc.model.budgets import IntOrPercent
from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
from kubectl_eksdoc.model.kinds import KindRead, ReadState
from kubectl_eksdoc.model.options import ALL
from kubectl_eksdoc.objects.single import RawObjects
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from tests.simulator.control_planes import a_node_doc, a_pod_doc

CLUSTERS = Path(__file__).parents[1] / "data" / "clusters"
NOW = datetime(2026, 11, 20, 9, tzinfo=timezone.utc)
BLUE = Targeting(nodegroups=("blue",))
ONE_BY_ONE = DrainPolicy(max_unavailable=((ALL, IntOrPercent(1)),))


def recorded(archive: str) -> tuple[ControlPlane, SimulatedStage]:
    """A recorded cluster, read from its dump."""
    raw, observed = read(archive)
    return staged(raw.documents(), observed)


@cache
def read(archive: str) -> tuple[RawObjects, Cluster]:
    """The documents and facts of a recorded cluster; its documents are created again at each request."""
    raw = RawObjects()
    return raw, DumpReader(str(CLUSTERS / archive), raw=raw).read(kinds.ALL)


def made(*docs: Doc) -> tuple[ControlPlane, SimulatedStage]:
    """A cluster of exactly these objects."""
    reads = tuple(KindRead(resource, ReadState.READ) for resource in kinds.ALL)
    return staged(docs, Cluster(Identity("test", "test"), Source.SNAPSHOT, NOW, reads=reads))


def staged(docs: Iterable[Doc], observed: Cluster) -> tuple[ControlPlane, SimulatedStage]:
    plane = load_documents(docs, observed.observed_at).plane
    return plane, SimulatedStage(plane, observed)


def web(replicas: int, nodes: int) -> list[Doc]:
    """A ReplicaSet's pods, one on each of the first nodes; each takes most of its node."""
    template = {"metadata": {"labels": {"app": "web"}}, "spec": a_pod_doc("x", cpu="3")["spec"]}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    meta = {"name": "web", "namespace": "default", "uid": "uid-rs", "generation": 1}
    status = {"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas, "observedGeneration": 1}
    owner = {"kind": "ReplicaSet", "apiVersion": "apps/v1", "name": "web", "uid": "uid-rs", "controller": True}
    pods = [a_pod_doc(f"web-{i}", f"old-{i}", cpu="3") for i in range(replicas)]
    for pod in pods:
        pod["metadata"]["ownerReferences"] = [owner]
    made_nodes = [with_group(a_node_doc(f"old-{i}")) for i in range(nodes)]
    head = {"kind": "ReplicaSet", "apiVersion": "apps/v1", "metadata": meta}
    return [*made_nodes, *pods, {**head, "spec": spec, "status": status}]


def with_group(node: Doc) -> Doc:
    return with_value(node, ("metadata", "labels", "eks.amazonaws.com/nodegroup"), "blue")


def begun(
    stage: SimulatedStage,
    policy: DrainPolicy = ONE_BY_ONE,
    limits: RunLimits = RunLimits(),
    hooks: frozenset[str] = frozenset(),
) -> Engine:
    """A drain of node group blue, before its first act."""
    cluster, plan = plan_drain(stage, BLUE, policy)
    stage.start(learned_kubelet_times(cluster))
    return Engine(plan, ObservedState(cluster), limits, hooks)


def steps(stage: SimulatedStage, engine: Engine, until_s: float = 3600.0, look: Callable[[], object] = list) -> None:
    """Step until the drain is over, has settled, or the time is up; call `look` whenever an act is due."""
    while not engine.is_finished and stage.seconds < until_s and not engine.is_settled(stage.seconds):
        for news in stage.updates():
            engine.handle(news, stage.seconds)
        for act in engine.due_actions(stage.seconds):
            engine.handle(stage.do(act), stage.seconds)  # type: ignore[arg-type]
        look()
        stage.pass_time(min(engine.next_s(stage.seconds), stage.seconds + 5))


class Granting(SimulatedStage):
    """`granted`: by pod UID, the number of granted evictions; a pod is only evicted from a cordoned node. `faults`
    affect the cluster."""

    def __init__(self, plane: ControlPlane, observed: Cluster, faults: Sequence[str] = (), seed: int = 0) -> None:
        chosen = of_requests.build_faults([of_requests.parse_fault(text) for text in faults], seed)
        super().__init__(plane, observed, chosen.cluster, seed)
        self._store = plane.store
        self.granted: Counter[str] = Counter()

    def do(self, act: ClusterAction) -> RunUpdate:
        if isinstance(act, Evict):
            node = self._store.get(kinds.NODES.full_name, ("", act.pod.node))
            assert node is None or node.doc["spec"].get("unschedulable"), "only from cordoned nodes"
        match news := super().do(act):
            case RequestAnswered(Evict(pod), ApiStatus(ok=True)):
                self.granted[pod.uid] += 1
        return news


class Bad(Granting):
    """With probability `share` an act fails: with an answer of `before` it is not done, with one of `after` it is."""

    def __init__(
        self,
        cluster: tuple[ControlPlane, SimulatedStage],
        before: Mapping[str, ApiStatus | LostResponse],
        after: Mapping[str, ApiStatus | LostResponse],
        share: float,
        seed: int,
        acts: tuple[type[ClusterAction], ...] = (Cordon, Evict),
    ) -> None:
        super().__init__(cluster[0], cluster[1].read(kinds.ALL))
        self._before, self._after, self._share, self._acts = before, after, share, acts
        self._chance = random.Random(seed)
        self.answered: Counter[str] = Counter()

    def do(self, act: ClusterAction) -> RunUpdate:
        if not isinstance(act, self._acts) or self._chance.random() >= self._share:
            return super().do(act)
        fault = self._chance.choice(sorted({*self._before, *self._after}))
        self.answered[fault] += 1
        if fault in self._after:
            super().do(act)
        return RequestAnswered(act, {**self._before, **self._after}[fault])
