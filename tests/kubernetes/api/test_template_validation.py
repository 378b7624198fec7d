"""Objects whose single writes are valid, and which are rejected for their combination."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.kubernetes.api.workload_validation import template_problems as problems
from kubectl_eksdoc.model.api_objects import Doc

VOLUME = {"name": "v", "hostPath": {"path": "/"}}
ENV = [{"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]
TWICE = [{"name": "m", "containerPort": 1}, {"name": "m", "containerPort": 2}]
PROBE = {"exec": {"command": ["x"]}, "tcpSocket": {"port": 1}}
LABELS = {"app": "x"}
C = "spec.template.spec.containers[0]"


def a_daemon_set(volumes: tuple[Doc, ...] = (VOLUME,), **container: object) -> Doc:
    pod = {"containers": [{"name": "c", **container}, {"name": "d", "ports": TWICE[:1]}], "volumes": list(volumes)}
    spec = {"selector": {"matchLabels": LABELS}, "template": {"metadata": {"labels": LABELS}, "spec": pod}}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "x"}, "spec": spec}


@pytest.mark.parametrize(
    ("doc", "said"),
    [
        (a_daemon_set(ports=TWICE), f'{C}.ports[1].name: Duplicate value: "m"'),
        (
            a_daemon_set(env=ENV),
            f'{C}.env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
        ),
        (a_daemon_set(volumeMounts=[{"name": "w"}]), f'{C}.volumeMounts[0].name: Not found: "w"'),
        (
            a_daemon_set(livenessProbe=PROBE),
            f"{C}.livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
        ),
        (a_daemon_set(name="d"), 'spec.template.spec.containers[1].name: Duplicate value: "d"'),
    ],
)
def test_it_is_refused_in_the_servers_words(doc: Doc, said: str) -> None:
    assert [f"{each.field}: {each.text}" for each in problems(a_daemon_set(), doc)] == [said]
    assert problems(doc, doc) == (), "what is wrong already is not the update's doing"
    assert problems(a_daemon_set(), a_daemon_set(ports=TWICE[:1])) == (), "two containers may have ports of one name"


def test_a_budget_has_one_of_the_two() -> None:
    budget: Doc = {"kind": "PodDisruptionBudget", "spec": {"maxUnavailable": 1}}
    both = {**budget, "spec": {"maxUnavailable": 1, "minAvailable": 1}}
    assert len(problems(budget, both)) == 1 and problems(budget, budget) == ()
