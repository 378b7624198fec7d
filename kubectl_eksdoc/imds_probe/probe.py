"""Active probe of the metadata service: find out where it may run, create its pods, read their answers, delete them.

One object owns all objects of a probe (`imds_probe.probe`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.metadata import parse_report
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.placement import ProbeFailure, ProbeOwner, ProbePodStatus
from kubectl_eksdoc.ports import ProbeNamespace
from kubectl_eksdoc.probes.pods import ProbeClock, ProbeStage, probe_stage, run_with_owner, wait_for_pods

from .probe_diagnosis import ProbeAnswers
from .probe_result import (
    ProbePlan,
    ProbePod,
    ProbeRun,
    ProbeSettings,
    owner_manifest,
    plan_probe,
    pod_manifest,
    probed_nodes,
)

# Rules of all commands that create short-lived pods: the owner of the pods is created first and deleted last, also
# after Ctrl-C. If the process is killed, the kubelet ends the pods after their deadline, and the next probe deletes the
# rest.


NODES_AT_ONCE = 30
"""Number of nodes that are probed at a time, with two pods each."""


def prepare_probe(
    nodes: Iterable[Node],
    probe_namespace: ProbeNamespace,
    probe_id: str,
    settings: ProbeSettings,
    node_names: Sequence[str] = (),
    is_every_node: bool = False,
) -> ProbePlan:
    """Plan a probe; nothing is created.

    Raises:
        UsageError: a node of `node_names` does not exist.
        ClusterError: the cluster cannot be reached.
    """
    return plan_probe(
        nodes, probe_namespace.pod_security(), probe_namespace.owners(), probe_id, settings, node_names, is_every_node
    )


def dry_run(plan: ProbePlan, probe_namespace: ProbeNamespace) -> dict[str, ProbeFailure]:
    """Pods that the API server would refuse, by name; nothing is created.

    Raises:
        Unauthorized, ConfigError: no request is possible.
    """
    answers = {
        pod.name: probe_namespace.create_pod(pod_manifest(pod, plan.probe, plan.settings), is_dry_run=True)
        for pod in plan.pods
    }
    return {name: refusal for name, refusal in answers.items() if refusal is not None}


def run_probe(
    plan: ProbePlan,
    probe_namespace: ProbeNamespace,
    clock: ProbeClock,
    interrupts: Callable[[], int],
    report: Callable[[str], object],
) -> ProbeRun:
    """Run the probe. `interrupts`: number of interruptions by the user; `report` receives progress lines.

    Raises:
        Forbidden, ClusterError: the owner cannot be created; nothing is left in the cluster.
    """
    manifest = owner_manifest(plan.probe, plan.settings)

    def body(owner: ProbeOwner) -> dict[str, ProbeAnswers]:
        received: dict[str, ProbeAnswers] = {}
        for batch in _batches(plan):
            if interrupts():
                break
            pods = {pod.name: pod_manifest(pod, plan.probe, plan.settings, owner.uid) for pod in batch}
            received |= wait_for_pods(
                pods,
                plan.probe,
                plan.settings.wait_s,
                probe_namespace,
                clock,
                interrupts,
                partial(_read_answers, probe_namespace),
            )
            report(f"{len(received)} of {len(plan.pods)} pods were heard of")
        return received

    answers, cleared = run_with_owner(probe_namespace, plan.probe, manifest, plan.stale, clock, report, body)
    return ProbeRun(probed_nodes(plan, answers), cleared.owner, cleared.left, cleared.not_removed, interrupts() > 0)


def _batches(plan: ProbePlan) -> Iterator[list[ProbePod]]:
    nodes = plan.nodes
    for start in range(0, len(nodes), NODES_AT_ONCE):
        batch = nodes[start : start + NODES_AT_ONCE]
        yield [pod for pod in plan.pods if pod.node in batch]


def _read_answers(probe_namespace: ProbeNamespace, name: str, pod_state: ProbePodStatus | None) -> ProbeAnswers | None:
    stage = probe_stage(pod_state)
    if stage is not ProbeStage.READ:
        return stage if isinstance(stage, Unknown) else None
    log = probe_namespace.log(name)
    return log if isinstance(log, Unknown) else parse_report(log)
