"""The metadata service as one plain document: what ``-o json`` and ``-o yaml`` print, as ImdsProbe.json says.

What is not known is null, and why is said beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import cast

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.aws.machines import MetadataOptions
from kubectl_eksdoc.core.model.documents import API_VERSION, IMDS_PROBE
from kubectl_eksdoc.core.plan.metadata.affected import AffectedPod, Effect
from kubectl_eksdoc.core.plan.metadata.fixes.fix import Choice
from kubectl_eksdoc.core.plan.metadata.of_pod import OnePod
from kubectl_eksdoc.core.plan.metadata.plan import GroupPlan
from kubectl_eksdoc.core.plan.metadata.sources import Service
from kubectl_eksdoc.core.plan.pod_owner import owner_of
from kubectl_eksdoc.core.rules.metadata_service import Verdict
from kubectl_eksdoc.render.document import Fields, finding, known, metadata, strings, subject
from kubectl_eksdoc.render.encode import Json
from kubectl_eksdoc.render.metadata import words
from kubectl_eksdoc.render.metadata.view import MetadataView
from kubectl_eksdoc.render.metadata_fix.document import fix
from kubectl_eksdoc.render.since.document import since_fields


def document(view: MetadataView) -> Fields:
    """The whole of it. Lists are sorted, so the same cluster is the same document."""
    plan, choices = view.plan, dict(view.offered)
    return {
        "apiVersion": API_VERSION,
        "kind": IMDS_PROBE,
        "metadata": cast(Json, metadata(plan.facts.cluster, view.options, view.tool_version)),
        "recognised": known(view.recognised),
        "hops": plan.hops,
        "verdict": words.in_short(plan),
        "groups": [_group(each, choices.get(each.alike, Choice())) for each in plan.groups],
        "pod": None if view.pod is None else _pod(view.pod),
        **since_fields(view.since),
        "findings": [finding(each) for each in plan.findings],
    }


def _group(group: GroupPlan, choice: Choice) -> Fields:
    alike = group.alike
    return {
        "name": known(alike.name),
        "owner": alike.owner.value,
        "nodes": strings(alike.nodes),
        "sentence": words.sentence(group),
        "now": _service(alike.now, alike.here),
        "next": _service(alike.next, alike.later),
        "changed": alike.by_hand,
        "pods": {
            "brokenNow": _affected(group.of(Effect.BROKEN)),
            "willBreak": _affected(group.of(Effect.WILL_BREAK)),
            "possible": _counted(group.of(Effect.POSSIBLE)),
        },
        "fixes": [fix(each) for each in choice.fixes],
        "cannot": strings(choice.cannot),
    }


def _service(service: Service, verdict: Verdict) -> Fields:
    options = service.options
    fields: Fields = {
        "verdict": verdict.reach.value,
        "why": verdict.why,
        "by": known(service.by),
        "service": options is not None,
        "options": _options(options) if isinstance(options, MetadataOptions) else None,
    }
    if isinstance(options, Unknown) and options.missing:
        fields["missing"] = options.missing
    return fields


def _options(options: MetadataOptions) -> Fields:
    """As EC2 names them."""
    return {
        "httpTokens": options.tokens,
        "httpPutResponseHopLimit": options.hop_limit,
        "httpEndpoint": "enabled" if options.endpoint else "disabled",
        "httpProtocolIpv6": "enabled" if options.ipv6 else "disabled",
        "state": "pending" if options.pending else "applied",
    }


def _affected(found: Sequence[AffectedPod]) -> list[Json]:
    return [_affected_pod(each) for each in found]


def _affected_pod(found: AffectedPod) -> Fields:
    return {
        "namespace": found.pod.namespace,
        "name": found.pod.name,
        "why": f"{found.why}; {found.where}",
        "wayOut": found.way_out,
        "source": known(found.source),
    }


def _counted(found: Sequence[AffectedPod]) -> list[Json]:
    """By whose they are: nine hundred pods are not a list."""
    owners = Counter(owner_of(each.pod) for each in found)
    ordered = sorted(owners.items(), key=lambda item: (item[0].namespace, item[0].kind, item[0].name))
    return [{"owner": subject(owner), "pods": count} for owner, count in ordered]


def _pod(found: OnePod) -> Fields:
    return {
        "namespace": found.pod.namespace,
        "name": found.pod.name,
        "node": known(found.pod.node),
        "hops": found.hops,
        "verdict": found.here.reach.value,
        "why": found.here.why,
        "suffering": None if found.affected_pod is None else found.affected_pod.effect.value,
        "wayOut": None if found.affected_pod is None else found.affected_pod.way_out,
        "sentence": found.sentence,
    }
