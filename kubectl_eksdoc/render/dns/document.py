"""CoreDNS as one plain document: what ``-o json`` and ``-o yaml`` print, as CorednsLameduck.json says.

What is not known is null, and why is said beside it.
"""

from __future__ import annotations

from typing import cast

from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.documents import API_VERSION, COREDNS_LAMEDUCK
from kubectl_eksdoc.core.plan.dns.facts import DnsFacts
from kubectl_eksdoc.core.plan.dns.judging.failing import endpoints
from kubectl_eksdoc.core.plan.dns.judging.leaving import Ending
from kubectl_eksdoc.core.plan.dns.order import Step
from kubectl_eksdoc.core.plan.dns.plan import Zone
from kubectl_eksdoc.core.plan.dns.shutdown import CLIENT_S, CLOSING_S, MARGIN_S
from kubectl_eksdoc.core.rules.keeping.secrets import printed_corefile
from kubectl_eksdoc.render.dns import words
from kubectl_eksdoc.render.dns.view import DnsView
from kubectl_eksdoc.render.document import Fields, finding, known, metadata, moment, strings
from kubectl_eksdoc.render.encode import Json


def document(view: DnsView) -> Fields:
    """The whole of it. Lists are sorted, so the same cluster is the same document."""
    plan = view.plan
    return {
        "apiVersion": API_VERSION,
        "kind": COREDNS_LAMEDUCK,
        "metadata": cast(Json, metadata(plan.facts.cluster, view.options, view.tool_version)),
        "recognised": known(view.recognised),
        "verdict": words.verdict(plan),
        "outlook": strings(plan.outlook),
        "steps": [_step(each) for each in plan.steps],
        "coredns": _coredns(plan.facts),
        "shutdown": _ending(plan.ending),
        "pods": _pods(plan.facts),
        "zones": [_zone(each) for each in plan.zones],
        "findings": [finding(each) for each in plan.findings],
    }


def _step(step: Step) -> Fields:
    return {"what": step.what, "why": step.why, "moves": known(step.moves), "command": known(step.command)}


def _coredns(facts: DnsFacts) -> Fields:
    of, addon, text = facts.deployed, facts.addon, facts.text
    managed = None if isinstance(addon, Unknown) else not isinstance(addon, Absent)
    if isinstance(of, (Absent, Unknown)):
        deployed: Fields = {"version": None, "replicas": None, "why": of.why if isinstance(of, Unknown) else of.said}
    else:
        deployed = {"version": known(of.version), "replicas": of.replicas}
    return {**deployed, "managedAddon": managed, "corefile": printed_corefile(text) if isinstance(text, str) else None}


def _ending(end: Ending) -> Fields:
    """Durations in seconds."""
    found = end.budget
    if isinstance(found, Unknown):
        return {"lameduckSeconds": end.lameduck_s, "why": found.why}
    return {
        "lameduckSeconds": end.lameduck_s,
        "graceSeconds": found.shutdown.grace_s,
        "preStopSeconds": found.shutdown.pre_stop_s,
        "closingSeconds": CLOSING_S,
        "marginSeconds": MARGIN_S,
        "propagationSeconds": found.propagation.seconds,
        "propagationMeasuredAt": moment(found.propagation.measured_at),
        "clientSeconds": CLIENT_S,
        "leastSeconds": found.least_s,
        "mostSeconds": found.most_s,
        "advisedSeconds": found.advised_s if found.fits else None,
    }


def _pods(facts: DnsFacts) -> list[Json]:
    told = endpoints(facts)
    found: list[Json] = []
    for pod in facts.pods:
        node, looked = facts.node_of(pod), facts.inside.get(pod.key)
        container = None if looked is None else looked.container
        found.append(
            {
                "name": pod.name,
                "node": known(pod.node),
                "zone": known(node.zone) if node else None,
                "capacityType": known(node.capacity_type) if node else None,
                "ready": pod.ready,
                "leaving": pod.deleting,
                "serving": None if isinstance(told, Unknown) else pod.uid in told.ready,
                "restarts": None if container is None else container.restarts,
            }
        )
    return found


def _zone(zone: Zone) -> Fields:
    return {
        "name": known(zone.name),
        "nodes": zone.nodes,
        "pods": zone.pods,
        "ready": zone.ready,
        "serving": zone.serving,
    }
