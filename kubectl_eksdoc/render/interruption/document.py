"""The handling of interruptions as one plain document: what ``-o json`` and ``-o yaml`` print, as Interruption.json
says.

What is not known is null, and why is said beside it.
"""

from __future__ import annotations

from typing import cast

from kubectl_eksdoc.core.model.documents import API_VERSION, INTERRUPTION
from kubectl_eksdoc.core.model.interruption import KarpenterInstall
from kubectl_eksdoc.core.plan.interruption.handlers import Handler
from kubectl_eksdoc.core.plan.interruption.links import Link
from kubectl_eksdoc.core.plan.interruption.outage import Outage, sentences
from kubectl_eksdoc.core.plan.interruption.repair.missing import Missing
from kubectl_eksdoc.core.plan.interruption.setting import effective
from kubectl_eksdoc.core.plan.interruption.spot import AtRisk, SpotNode
from kubectl_eksdoc.render.document import Fields, finding, known, metadata, strings, subject
from kubectl_eksdoc.render.encode import Json, plain_value
from kubectl_eksdoc.render.interruption import words
from kubectl_eksdoc.render.interruption.view import InterruptionView


def document(view: InterruptionView) -> Fields:
    """The whole of it; the same cluster is the same document."""
    plan = view.plan
    return {
        "apiVersion": API_VERSION,
        "kind": INTERRUPTION,
        "metadata": cast(Json, metadata(plan.facts.cluster, view.options, view.tool_version)),
        "recognised": known(view.recognised),
        "verdict": words.in_short(plan),
        "handled": words.HANDLED[plan.outage.handled],
        "handledBy": plan.outage.by if plan.outage.handled else None,
        "toQueue": [{"kind": kind, "delivered": words.HANDLED[so]} for kind, so in plan.to_queue.items()],
        "toKarpenter": words.HANDLED[plan.to_karpenter] if plan.links else None,
        "karpenter": None if plan.install is None else _install(plan.install),
        "queue": _queue(view),
        "links": [_link(each) for each in plan.links],
        "outage": _outage(plan.outage),
        "nodeTerminationHandlers": [_handler(each) for each in plan.handlers],
        "missing": None if plan.missing is None else _missing(plan.missing, plan.stack),
        "findings": [finding(each) for each in plan.findings],
    }


def _install(install: KarpenterInstall) -> Fields:
    said = effective(install)
    return {
        "namespace": install.namespace,
        "name": install.name,
        "version": None if install.version is None else str(install.version),
        "serviceAccount": install.service_account,
        "queue": known(said.queue),
        "queueSetBy": getattr(said.used, "where", None) if said.queue else None,
        "ignored": [{"queue": each.queue, "where": each.where} for each in said.ignored],
        "pods": strings(install.pods),
    }


def _queue(view: InterruptionView) -> Fields | None:
    facts = view.plan.facts
    if view.plan.install is None:
        return None
    return {
        "name": known(facts.queue),
        "arn": known(facts.queue_arn),
        "url": known(getattr(facts.told.queue, "url", "")),
    }


def _link(link: Link) -> Fields:
    fields: Fields = {
        "code": link.code.name,
        "name": link.name,
        "subject": cast(Json, subject(link.subject)),
        "status": "not-judged" if link.status is None else link.status.value,
        "what": link.what,
        "vital": link.vital,
        "evidence": strings(link.evidence),
    }
    return fields | ({"missing": link.missing} if link.missing else {})


def _outage(outage: Outage) -> Fields:
    return {
        "nodes": [_node(each) for each in outage.nodes],
        "workloads": [_loser(each) for each in outage.losers],
        "sentences": strings(sentences(outage)),
    }


def _node(node: SpotNode) -> Fields:
    return {
        "name": node.name,
        "nodePool": known(node.node.group),
        "instanceType": known(node.node.instance_type),
        "zone": known(node.node.zone),
        "notice": strings(node.heard),
        "pods": strings(sorted(pod.key for pod in node.dying)),
        "critical": strings(sorted(pod.key for pod in node.critical)),
        "secondsBeforeCritical": node.before_s,
        "drainWaitsFor": strings(node.holds),
    }


def _loser(loser: AtRisk) -> Fields:
    return {
        "workload": cast(Json, subject(loser.subject)),
        "ready": loser.ready,
        "onSpot": loser.on_spot,
        "atOnce": loser.at_once,
        "node": loser.node,
        "critical": loser.critical,
        "dns": loser.dns,
    }


def _handler(handler: Handler) -> Fields:
    return {
        "kind": handler.kind,
        "namespace": handler.namespace,
        "name": handler.name,
        "onSpotNodesOfKarpenter": strings(handler.on),
    }


def _missing(missing: Missing, stack: str) -> Fields:
    return {
        "anything": missing.anything,
        "stack": stack,
        "queue": missing.queue,
        "policy": plain_value(missing.policy),
        "keyPolicy": plain_value(missing.key_policy),
        "rules": [
            {
                "kind": each.kind.name,
                "detailType": each.kind.detail_type,
                "mend": None if each.there is None else each.there.name,
            }
            for each in missing.rules
        ],
        "rights": strings(missing.rights),
        "role": known(missing.role),
        "setting": missing.setting,
        "notKnown": strings(missing.not_known),
    }
