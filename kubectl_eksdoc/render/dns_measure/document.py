"""A measurement as one plain document: what ``-o json`` and ``-o yaml`` print, as DnsMeasure.json says.

What is not known is null, and why is said beside it. Times of answers are milliseconds.
"""

from __future__ import annotations

from typing import cast

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.dns_measure import Counts, Report, Second, Stream, Target
from kubectl_eksdoc.core.model.documents import API_VERSION, DNS_MEASURE
from kubectl_eksdoc.core.model.probe_pods import NotMade
from kubectl_eksdoc.core.plan.dns.measuring.plan import MeasurePlan
from kubectl_eksdoc.core.plan.dns.measuring.result import Deed, Measured, MeasuredZone, offset_s
from kubectl_eksdoc.render.dns_measure import words
from kubectl_eksdoc.render.dns_measure.table import times
from kubectl_eksdoc.render.dns_measure.view import MeasureView
from kubectl_eksdoc.render.document import Fields, finding, known, metadata, moment, strings
from kubectl_eksdoc.render.encode import Json


def document(view: MeasureView) -> Fields:
    """The whole of it. Lists are sorted, so the same answers are the same document."""
    plan, measured = view.plan, view.measured
    return {
        "apiVersion": API_VERSION,
        "kind": DNS_MEASURE,
        "metadata": cast(Json, metadata(view.cluster, view.options, view.tool_version)),
        "verdict": words.in_short(view),
        "measurement": _measurement(plan),
        "zones": [{"name": known(z.name), "node": known(z.node), "whyNot": known(z.why_not)} for z in plan.zones],
        "targets": [_target(each) for each in plan.targets],
        "notApplicable": [{"family": family, "why": why} for family, why in sorted(plan.absent.items())],
        "refused": [_refused(name, view.refused[name]) for name in sorted(view.refused)],
        "done": None if measured is None else _deed(measured.deed),
        "moments": [] if measured is None else _moments(measured),
        "unseen": None if measured is None else known(measured.unseen),
        "measured": [] if measured is None else [_zone(plan, measured, each) for each in measured.zones],
        "cleanup": None if measured is None else _cleanup(measured),
        "findings": [finding(each) for each in view.findings],
    }


def _measurement(plan: MeasurePlan) -> Fields:
    manner = plan.manner
    return {
        "id": plan.ident,
        "happening": manner.happening.value,
        "namespace": manner.namespace,
        "image": manner.image,
        "questionsPerSecond": manner.rate,
        "seconds": manner.for_s,
        "timeoutSeconds": manner.timeout_s,
        "deadlineSeconds": manner.deadline_s,
        "pods": strings(pod.name for pod in plan.pods),
        "affected": strings(pod.name for pod in plan.affected),
        "changes": plan.changes,
    }


def _target(target: Target) -> Fields:
    return {
        "name": target.name,
        "address": target.address,
        "port": target.port,
        "family": target.family,
        "pod": known(target.pod),
    }


def _refused(name: str, why: NotMade) -> Fields:
    fields: Fields = {"name": name, "why": why.why}
    return fields | ({"missing": why.missing} if why.missing else {})


def _deed(deed: Deed) -> Fields:
    return {"at": moment(deed.done_at), "refused": known(deed.refused), "finished": deed.finished}


def _moments(measured: Measured) -> list[Json]:
    return [{"at": moment(each.at), "what": each.what.value, "pod": each.pod} for each in measured.moments]


def _zone(plan: MeasurePlan, measured: Measured, zone: MeasuredZone) -> Fields:
    head: Fields = {"zone": known(zone.zone.name), "node": zone.zone.node}
    report = zone.report
    if isinstance(report, Unknown):
        return head | {"ran": False, "why": report.why} | ({"missing": report.missing} if report.missing else {})
    marks: list[Json] = [
        {"second": round(offset_s(each, report)), "what": each.what.value, "pod": each.pod} for each in measured.moments
    ]
    streams: list[Json] = [_stream(report, stream) for stream in plan.streams]
    return head | {"ran": True, "began": moment(report.began), "marks": marks, "streams": streams}


def _stream(report: Report, stream: Stream) -> Fields:
    median, slowest = times(report, stream)
    of = report.seconds.get(stream, {})
    return {
        "target": stream.target,
        "transport": stream.transport,
        "total": _counts(report.total(stream)),
        "medianMs": median,
        "slowestMs": slowest,
        "seconds": [_second(number, of[number]) for number in sorted(of)],
    }


def _second(number: int, second: Second) -> Fields:
    fields: Fields = {"second": number, **_counts(second.counts)}
    fields["medianMs"], fields["p99Ms"], fields["slowestMs"] = second.ms or (None, None, None)
    return fields | {"said": strings(second.why)}


def _counts(counts: Counts) -> Fields:
    return {
        "sent": counts.sent,
        "answered": counts.answered,
        "late": counts.late,
        "lost": counts.lost,
        "refused": counts.refused,
        "failed": counts.failed,
        "unsure": counts.unsure,
        "unsent": counts.unsent,
    }


def _cleanup(measured: Measured) -> Fields:
    return {
        "owner": measured.owner,
        "interrupted": measured.interrupted,
        "left": strings(measured.left),
        "notRemoved": known(measured.not_removed),
    }
