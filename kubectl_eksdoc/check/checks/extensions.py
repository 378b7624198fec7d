"""Groups of the API that other servers answer for, and custom resources: conversion, and versions that end."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.check.areas import Area, Gate
from kubectl_eksdoc.check.checking import UpgradeCheck, unknown, unread
from kubectl_eksdoc.check.checks.webhooks import KINDS, backends, endpoints_of
from kubectl_eksdoc.check.facts import CheckFacts
from kubectl_eksdoc.check.wording import listed
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_usage import ApiService, Callee, Definition
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.commands import in_turn, kubectl, saved
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Status, Subject, When

_READERS = {
    "metrics.k8s.io": "autoscalers by CPU or memory do not scale, and `kubectl top` shows nothing",
    "custom.metrics.k8s.io": "autoscalers by metrics of pods and objects do not scale",
    "external.metrics.k8s.io": "autoscalers by external metrics do not scale",
}
_DISCOVERY = (
    "discovery is not complete: namespaces that are deleted stay Terminating (NamespaceDeletionDiscoveryFailure)"
)


def _groups(facts: CheckFacts) -> Iterator[Finding]:
    what = "whether every group of the API has a server that answers"
    yield from unread(facts, Code.of("apiservice-down"), what, kinds.API_SERVICES)
    for each in facts.cluster.api_services:
        subject = Subject("APIService", each.name)
        if each.available == "False":
            yield _unavailable(each, subject)
        elif each.available != "True":
            told = Unknown(f"its condition Available is {each.available or 'not there'}")
            yield unknown(Code.of("apiservice-down"), subject, "whether its server answers", told)


def _unavailable(each: ApiService, subject: Subject) -> Finding:
    told = ": ".join(text for text in (each.reason, each.message) if text)
    reads = _READERS.get(each.group)
    remedies = [Remedy("See what the API server says of it.", kubectl("describe", "apiservice", each.name))]
    if each.service is not None and each.service.service:
        show = endpoints_of(each.service.namespace, each.service.service)
        remedies.append(Remedy("Make its server answer.", show))
    gone = in_turn(saved("apiservice", each.name, ""), kubectl("delete", "apiservice", each.name))
    remedies.append(Remedy("If nothing uses the group any more, take it away.", gone, When.LATER))
    return Finding(
        Code.of("apiservice-down"),
        Severity.HIGH,
        Status.FAIL,
        subject,
        f"there is no backend for {each.group}/{each.version}{f', so {reads}' if reads else ''}",
        (*((told,) if told else ()), _DISCOVERY),
        tuple(remedies),
    )


def _conversions(facts: CheckFacts) -> Iterator[Finding]:
    what = "whether custom resources can be converted"
    yield from unread(facts, Code.of("crd-conversion"), what, kinds.DEFINITIONS)
    called = [(each, each.converter) for each in facts.cluster.definitions if each.converter is not None]
    if any(converter.service for _, converter in called):
        yield from unread(facts, Code.of("crd-conversion"), what, *KINDS)
    behind = backends(facts.cluster)
    for each, converter in called:
        if not converter.service:
            where = converter.url or "no backend"
            told = Unknown(f"its webhook is at {where}, which cannot be checked from here")
            yield unknown(Code.of("crd-conversion"), _subject(each), "whether it can be converted", told, Severity.INFO)
            continue
        why = behind.why_down(converter.namespace, converter.service)
        if isinstance(why, Unknown):
            if not behind.blind:
                yield unknown(Code.of("crd-conversion"), _subject(each), "whether it can be converted", why)
        elif why is not None:
            yield _unconverted(each, converter, why)


def _unconverted(each: Definition, converter: Callee, why: str) -> Finding:
    """One version alone needs nobody; with several the API server asks at every list of another than the stored."""
    served = [version.name for version in each.versions if version.served]
    several = len({*served, *each.stored}) > 1
    harm = f"objects of {each.kind} that lie in another version than is asked for cannot be read"
    return Finding(
        Code.of("crd-conversion"),
        Severity.HIGH if several else Severity.LOW,
        Status.FAIL,
        _subject(each),
        f"{why}: {harm if several else 'it is not called now, as there is one version only'}",
        (f"served: {', '.join(served) or 'none'}", f"stored: {', '.join(each.stored) or 'not told'}"),
        (
            Remedy(
                (
                    "Make the pods behind its Service Ready, or set spec.conversion.strategy to None if its "
                    "documentation allows it."
                ),
                endpoints_of(converter.namespace, converter.service),
            ),
        ),
    )


def _stored(facts: CheckFacts) -> Iterator[Finding]:
    what = "in which versions custom resources lie"
    yield from unread(facts, Code.of("crd-stored-version"), what, kinds.DEFINITIONS, severity=Severity.LOW)
    for each in facts.cluster.definitions:
        known = {version.name: version for version in each.versions}
        ends = {name: _how_it_ends(each, name) for name in each.stored}
        old = {name: why for name, why in ends.items() if why}
        if old:
            yield Finding(
                Code.of("crd-stored-version"),
                Severity.LOW,
                Status.FAIL,
                _subject(each),
                "; ".join(f"some of its objects may lie in {name}, which is {why}" for name, why in old.items()),
                (f"stored: {', '.join(each.stored)}", f"versions: {listed(tuple(known))}"),
                (
                    Remedy(
                        (
                            "Rewrite all objects, then remove the old versions from status.storedVersions, before a "
                            "release of its makers leaves them out."
                        ),
                        kubectl(
                            "get", "customresourcedefinition", each.name, "", "-o", "jsonpath={.status.storedVersions}"
                        ),
                        When.LATER,
                    ),
                ),
            )


def _how_it_ends(each: Definition, name: str) -> str:
    """ "" where the version is a living one."""
    found = next((version for version in each.versions if version.name == name), None)
    if found is None:
        return "not defined any more"
    if not found.served:
        return "not served any more"
    return "deprecated" if found.deprecated else ""


def _subject(each: Definition) -> Subject:
    return Subject("CustomResourceDefinition", each.name)


CHECKS = (
    UpgradeCheck(
        (Code.of("apiservice-down"),),
        Area.EXTENSIONS,
        Gate.BEFORE_CONTROL_PLANE,
        _groups,
        Code.of("apiservice-down").needs,
    ),
    UpgradeCheck(
        (Code.of("crd-conversion"),),
        Area.EXTENSIONS,
        Gate.BEFORE_CONTROL_PLANE,
        _conversions,
        Code.of("crd-conversion").needs,
    ),
    UpgradeCheck(
        (Code.of("crd-stored-version"),),
        Area.EXTENSIONS,
        Gate.BEFORE_CONTROL_PLANE,
        _stored,
        Code.of("crd-stored-version").needs,
    ),
)
