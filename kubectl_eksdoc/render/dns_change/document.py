"""The change as one plain document: what ``-o json`` and ``-o yaml`` print, as DnsChange.json says."""

from __future__ import annotations

from typing import cast

from kubectl_eksdoc.core.model.documents import API_VERSION, DNS_CHANGE
from kubectl_eksdoc.core.plan.dns.change.change import Change, Texts
from kubectl_eksdoc.core.plan.dns.change.landing import Landing
from kubectl_eksdoc.core.rules.keeping.secrets import printed, printed_corefile
from kubectl_eksdoc.core.run.dns.taking_up import Stand, Verified
from kubectl_eksdoc.render.addon_update.document import outcome
from kubectl_eksdoc.render.dns_change import words
from kubectl_eksdoc.render.dns_change.view import DnsChangeView
from kubectl_eksdoc.render.document import Fields, finding, known, metadata, strings
from kubectl_eksdoc.render.encode import Json


def document(view: DnsChangeView) -> Fields:
    """The whole of it. `outcome` and `verified` are null where nothing was sent, or nobody looked."""
    change = view.change
    return {
        "apiVersion": API_VERSION,
        "kind": DNS_CHANGE,
        "metadata": cast(Json, metadata(view.cluster, view.options, view.tool_version)),
        "recognised": known(view.recognised),
        "run": known(view.run),
        "journal": known(view.journal),
        "verdict": words.verdict(view),
        "change": None if change is None else _change(change),
        "mode": known(view.mode),
        "values": cast(Json, printed(view.values)),
        "config": cast(Json, printed(view.config)),
        "resets": strings(view.resets),
        "conflicts": [{"field": each.field, "owner": each.owner} for each in view.conflicts],
        "changes": view.changes,
        "command": known(view.command),
        "refusals": [{"why": each.why, "hint": each.hint} for each in view.guards],
        "toAcknowledge": strings(each.message for each in view.weighty),
        "wayBack": strings(view.back),
        "tried": known(view.tried),
        "applied": view.applied,
        "outcome": None if view.ended is None else outcome(view.ended),
        "verified": None if view.verified is None else _verified(view.verified),
        "findings": [finding(each) for each in view.findings],
    }


def _change(change: Change) -> Fields:
    wishes, texts = change.wishes, change.corefile
    return {
        "managed": change.managed,
        "addonVersion": known(change.version),
        "wished": {
            "lameduckSeconds": wishes.lameduck_s,
            "place": None if wishes.place is None else wishes.place.value,
            "replicas": None if wishes.scale is None else {"least": wishes.scale.least, "most": wishes.scale.most},
        },
        "corefile": None if texts is None else _corefile(texts),
        "valuesOfToday": cast(Json, printed(change.before)),
        "affinitySource": known(change.affinity_source),
        "landing": None if change.landing is None else _landing(change.landing),
        "nothing": not change.refusals and change.nothing,
        "leftToYou": strings(words.command(each) for each in change.not_done),
    }


def _corefile(texts: Texts) -> Fields:
    before, after = printed_corefile(texts.before), printed_corefile(texts.after)
    return {"before": before, "after": after, "reloads": texts.reloads}


def _landing(landing: Landing) -> Fields:
    return {
        "enough": landing.enough,
        "zones": strings(landing.zones),
        "nodes": [
            {"name": each.node, "zone": known(each.zone), "capacity": known(each.capacity), "whyNot": strings(each.why)}
            for each in landing.seats
        ],
        "unknown": strings(landing.unknown),
    }


def _verified(verified: Verified) -> Fields:
    return {
        "all": verified.all,
        "seconds": round(verified.seconds),
        "left": known(verified.left),
        "unread": known(verified.unread),
        "pods": [_stand(each) for each in verified.stands],
    }


def _stand(stand: Stand) -> Fields:
    namespace, _, name = stand.pod.partition("/")
    return {
        "namespace": namespace,
        "name": name,
        "node": known(stand.node),
        "taken": stand.taken.value,
        "by": known(stand.by),
        "why": known(stand.why),
        "missing": strings(stand.missing),
    }
