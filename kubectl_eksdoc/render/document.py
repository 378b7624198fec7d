"""What every document of this tool begins with, and the findings it ends with, in JSON's types.

What is not known is null or left out, never 0 and never "".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from kubectl_eksdoc.core.model.findings import Finding, Remedy, Subject
from kubectl_eksdoc.render.encode import Json, plain_value
from kubectl_eksdoc.render.times import rfc3339

if TYPE_CHECKING:  # a document without a cluster must not pay for its facts
    from kubectl_eksdoc.core.model.cluster import Cluster, Identity
    from kubectl_eksdoc.core.model.kinds import KindRead

Fields = dict[str, Json]


def known(text: str) -> str | None:
    """`text`, or None for the "" by which the facts say that it is not known or not there."""
    return text or None


def moment(when: datetime | None) -> str | None:
    return None if when is None else rfc3339(when)


def strings(texts: Iterable[str]) -> list[Json]:
    return list(texts)


def metadata(cluster: Cluster, options: Mapping[str, object], tool_version: str) -> Fields:
    """`metadata` of every document: which tool, which cluster, how old, what was read, as asked how."""
    fields: Fields = {
        "toolVersion": tool_version,
        "cluster": identity(cluster.identity),
        "source": cluster.source.value,
        "observedAt": rfc3339(cluster.observed_at),
        "kindsRead": [_read(r) for r in sorted(cluster.reads, key=lambda r: r.resource.full_name)],
        "options": {key: plain_value(options[key]) for key in sorted(options)},
    }
    if cluster.notes:
        fields["notes"] = strings(cluster.notes)
    return fields


def finding(found: Finding) -> Fields:
    fields: Fields = {
        "code": found.code.name,
        "title": found.code.title,
        "severity": found.severity.value,
        "status": found.status.value,
        "subject": subject(found.subject),
        "message": found.message,
        "evidence": strings(found.evidence),
        "remedy": [remedy(each) for each in found.remedy],
    }
    if found.missing:
        fields["missing"] = found.missing
    return fields


def identity(who: Identity) -> Fields:
    fields: Fields = {
        "context": known(who.context),
        "cluster": known(who.cluster),
        "account": known(who.account),
        "region": known(who.region),
        "serverVersion": known(who.server_version),
        "uid": known(who.uid),
    }
    return fields | {"unverified": strings(who.unverified)} if who.unverified else fields


def _read(read: KindRead) -> Fields:
    """`count` is null where the objects could not be counted."""
    fields: Fields = {
        "resource": read.resource.full_name,
        "state": read.state.value,
        "count": read.count if read.known else None,
    }
    if read.detail:
        fields["detail"] = read.detail
    return fields


def subject(of: Subject) -> Fields:
    fields: Fields = {"kind": of.kind}
    if of.namespace:
        fields["namespace"] = of.namespace
    return fields | {"name": of.name}


def remedy(given: Remedy) -> Fields:
    fields: Fields = {"text": given.text}
    if given.command:
        fields["command"] = given.command
    return fields | {"when": given.when.value}
