"""Admission webhooks, aggregated APIs and CRD conversion: backends that are down, and requests an upgrade depends on.

Source of what selectors and rules leave out: admissionregistration.k8s.io/v1 (ValidatingWebhook: namespaceSelector
never leaves out an object that is in no namespace, other than a Namespace itself).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.replacement import NAMESPACE_NAME, guards_pod_creation
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import ApiService, Callee, Definition
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import in_turn, kubectl, saved, shell
from kubectl_eksdoc.model.findings import Finding, Severity, Subject, clause
from kubectl_eksdoc.model.kinds import Resource, Unknown
from kubectl_eksdoc.model.network import Service, Webhook, WebhookRule
from kubectl_eksdoc.model.selectors import EVERYTHING, Labels

from ..checking import CheckFacts, UpgradeCheck, listed, unknown, unread

KINDS = (kinds.SERVICES, kinds.ENDPOINT_SLICES)


@frozen
class _Backends:
    """`ready_endpoints`: by Service; `is_incomplete`: not all of `BACKEND_KINDS` was read, which is reported once."""

    services: Mapping[str, Service]
    ready: Mapping[str, int]
    blind: bool

    def why_down(self, callee: Webhook | Callee) -> str | Unknown | None:
        """A clause; None where the backend answers. The API server calls no port that the Service does not list
        (apiserver pkg/util/proxy: findServicePort)."""
        key = f"{callee.namespace}/{callee.service}"
        found = self.services.get(key)
        offered = found is None or not found.ports or callee.port in found.ports
        if self.ready.get(key) and offered:
            return None
        if self.blind:
            return Unknown("Services or their endpoints were not read")
        if found is not None and found.type == "ExternalName":
            return Unknown(f"Service {key} is a name of something outside the cluster")
        if not offered:
            return clause("/port-missing", key=key, port=callee.port)
        return clause("/unanswered", key=key, exists=found is not None)


def backends(cluster: Cluster) -> _Backends:
    ready: Counter[str] = Counter()
    for each in cluster.endpoint_slices:
        ready[f"{each.namespace}/{each.service}"] += sum(endpoint.ready for endpoint in each.endpoints)
    return _Backends({each.key: each for each in cluster.services}, ready, bool(cluster.unread(*KINDS)))


def endpoints_of(namespace: str, service: str) -> str:
    """The command that shows the endpoints of a Service."""
    label = f"kubernetes.io/service-name={service}"
    return shell("kubectl", "get", "endpointslices", "-n", namespace, "-l", label)


_CONFIGURATIONS = (kinds.VALIDATING_WEBHOOKS, kinds.MUTATING_WEBHOOKS)
_SYSTEM, _NODE_LEASES = "kube-system", "kube-node-lease"


_ON_ITSELF = re.compile(r"https://(127\.0\.0\.1|localhost)(?![^:/?])")
"""A URL on the machine of the API server: EKS's own webhooks are there (pod identity, VPC resources)."""


_NAMESPACED = frozenset(
    (each.group, each.plural) for each in vars(kinds).values() if isinstance(each, Resource) and each.namespaced
)


@frozen
class _Whom:
    """The objects that webhooks are called for; `namespaces`: labels by name, as far as they were read."""

    cluster: Cluster
    namespaces: Mapping[str, Labels]

    def needed(self, hook: Webhook) -> dict[str, str]:
        """The requests that an upgrade depends on, each with what happens when it is refused."""
        found = {}
        nodes = (hook, "Cluster", "", "nodes")
        if self._calls(*nodes, ("CREATE", "UPDATE")) and self._some(hook, self.cluster.nodes):
            joins = "nodes cannot join" if self._calls(*nodes, ("CREATE",)) else ""
            changes = "nodes cannot be cordoned, labelled or tainted" if self._calls(*nodes, ("UPDATE",)) else ""
            found["nodes"] = "; ".join(filter(None, (joins, changes)))
        leases = (hook, "Namespaced", kinds.LEASES.group, "leases", ("CREATE", "UPDATE"))
        places = [name for name in (_SYSTEM, _NODE_LEASES) if self._selected(hook, name)]
        if places and hook.object_selector == EVERYTHING and self._calls(*leases):
            found[f"leases of {' and '.join(places)}"] = (
                "kubelets cannot renew theirs, so nodes become NotReady; controllers cannot elect who leads"
            )
        system = (pod for pod in self.cluster.pods if pod.namespace == _SYSTEM)
        pods = self._calls(hook, "Namespaced", "", "pods", ("CREATE",)) and self._selected(hook, _SYSTEM)
        if pods and self._some(hook, system):
            found[f"pods of {_SYSTEM}"] = "aws-node, kube-proxy and CoreDNS cannot start on new nodes"
        return found

    def nowhere(self, hook: Webhook) -> bool:
        """Whether no namespace has the labels that it selects, and all its rules are about namespaced objects."""
        if not self.namespaces or self.cluster.unread(kinds.NAMESPACES):
            return False
        inside = all(_only_namespaced(rule) for rule in hook.rules)
        return inside and not any(self._selected(hook, name) for name in self.namespaces)

    def _selected(self, hook: Webhook, namespace: str) -> bool:
        labels = self.namespaces.get(namespace, {})
        return hook.namespace_selector.matches({NAMESPACE_NAME: namespace, **labels})

    def _some(self, hook: Webhook, objects: Iterable[object]) -> bool:
        """Whether it selects the labels of any of them; without a selector it is called for future objects, too."""
        if hook.object_selector == EVERYTHING:
            return True
        return any(hook.object_selector.matches(getattr(each, "labels", {})) for each in objects)

    def _calls(self, hook: Webhook, scope: str, group: str, plural: str, operations: tuple[str, ...]) -> bool:
        return any(
            rule.scope in ("*", "", scope)
            and any(each in ("*", group) for each in rule.groups)
            and any(each in ("*", "*/*", plural) for each in rule.resources)
            and any(each == "*" or each in operations for each in rule.operations)
            for rule in hook.rules
        )


def _only_namespaced(rule: WebhookRule) -> bool:
    if rule.scope == "Namespaced":
        return True
    named = [(group, each.partition("/")[0]) for group in rule.groups for each in rule.resources]
    return bool(named) and all(each in _NAMESPACED for each in named)


def _whom(cluster: Cluster) -> _Whom:
    return _Whom(cluster, {each.name: each.labels for each in cluster.namespaces})


def _down(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread(facts, "webhook-down/all", *_CONFIGURATIONS, severity=Severity.HIGH)
    if any(hook.service for hook in facts.cluster.webhooks):
        yield from unread(facts, "webhook-down/all", *KINDS, severity=Severity.HIGH)
    behind, whom = backends(facts.cluster), _whom(facts.cluster)
    for hooks in _together(facts.cluster.webhooks):
        first = hooks[0]
        if _ON_ITSELF.match(first.url):
            continue  # EKS's own, on the machine of the API server
        if not first.service:
            told = Unknown(f"it is called at {first.url or 'no address'}, which cannot be checked from here")
            yield unknown("webhook-down/one", _subject(first), told, Severity.INFO)
            continue
        why = behind.why_down(first)
        if isinstance(why, Unknown):
            if not behind.blind:
                yield unknown("webhook-down/one", _subject(first), why, Severity.LOW)
        elif why is not None:
            yield _unanswered(hooks, whom, why)


def _together(hooks: Iterable[Webhook]) -> list[list[Webhook]]:
    """The webhooks of one configuration with the same backend and failure policy, in groups."""
    found: dict[tuple[str, ...], list[Webhook]] = defaultdict(list)
    for hook in hooks:
        whom = (hook.namespace, hook.service, hook.url, str(hook.port), str(hook.fails_closed))
        key = (hook.configuration_kind, hook.configuration, *whom)
        found[key].append(hook)
    return [found[key] for key in sorted(found)]


def _unanswered(hooks: list[Webhook], whom: _Whom, why: str) -> Finding:
    first, word = hooks[0], hooks[0].configuration_kind.lower()
    refused = [hook for hook in hooks if hook.fails_closed and not whom.nowhere(hook)]
    harm = [text for hook in refused for text in whom.needed(hook).values()]
    shown = endpoints_of(first.namespace, first.service)
    command = in_turn(saved(word, first.configuration, ""), kubectl("delete", word, first.configuration))
    evidence = tuple(dict.fromkeys((*(_named(hook) for hook in hooks), *_conditional(hooks), *harm)))
    if refused:
        stops = bool(harm) or any(guards_pod_creation(hook) for hook in refused)
        return Finding.of(
            "webhook-down/refuses",
            _subject(first),
            evidence,
            severity=Severity.CRITICAL if stops else Severity.HIGH,
            why=why,
            what="; ".join(dict.fromkeys(_requests(hook) for hook in refused)),
            endpoints=shown,
            command=command,
        )
    return Finding.of(
        "webhook-down/nothing-yet" if first.fails_closed else "webhook-down/fails-open",
        _subject(first),
        evidence,
        why=why,
        endpoints=shown,
        command=command,
    )


def _catching(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread(facts, "webhook-catches-all", *_CONFIGURATIONS, kinds.NAMESPACES)
    if any(hook.object_selector != EVERYTHING for hook in facts.cluster.webhooks):
        yield from unread(facts, "webhook-catches-all", kinds.NODES, kinds.PODS)
    behind, whom = backends(facts.cluster), _whom(facts.cluster)
    for hooks in _together(facts.cluster.webhooks):
        if hooks[0].fails_closed and not _ON_ITSELF.match(hooks[0].url):
            caught = {each: harm for hook in hooks for each, harm in whom.needed(hook).items()}
            if caught:
                yield _caught([hook for hook in hooks if whom.needed(hook)], caught, behind)


def _caught(hooks: list[Webhook], caught: Mapping[str, str], behind: _Backends) -> Finding:
    first = hooks[0]
    answering = behind.ready.get(f"{first.namespace}/{first.service}", 0)
    wide = any(not each.startswith("pods") for each in caught)
    maybe = all(hook.conditional for hook in hooks)
    many = "endpoints that were not read" if behind.blind else f"{answering} ready endpoint{'s' * (answering != 1)}"
    who = f"Service {first.namespace}/{first.service} has {many} now" if first.service else f"called at {first.url}"
    return Finding.of(
        "webhook-catches-all/may-be-called" if maybe else "webhook-catches-all/called",
        _subject(first),
        (*(f"{each}: {harm}" for each, harm in caught.items()), *map(_named, hooks), *_conditional(hooks), who),
        severity=Severity.HIGH if wide or (first.service and not behind.blind and answering < 2) else Severity.MEDIUM,
        caught=" and ".join(caught),
        service=first.service,
        command=kubectl("get", first.configuration_kind.lower(), first.configuration, "", "-o", "yaml"),
    )


def _conditional(hooks: Iterable[Webhook]) -> Iterator[str]:
    names = [hook.name for hook in hooks if hook.conditional]
    if names:
        yield f"matchConditions of {listed(names)} may leave out some of it"


def _named(hook: Webhook) -> str:
    selected = "" if hook.namespace_selector == EVERYTHING else f", in namespaces with {hook.namespace_selector}"
    return f"{hook.name}: {_requests(hook)}{selected}"


def _requests(hook: Webhook) -> str:
    """``CREATE of pods and UPDATE of leases.coordination.k8s.io``."""
    return " and ".join(dict.fromkeys(_request(rule) for rule in hook.rules)) or "nothing"


def _request(rule: WebhookRule) -> str:
    groups = [group for group in rule.groups if group and group != "*"]
    return clause(
        "webhook-down/request",
        operations="" if "*" in rule.operations else ", ".join(rule.operations),
        names="" if {"*", "*/*"} & set(rule.resources) else listed(rule.resources),
        groups=listed(groups) if groups else "",
    )


def _subject(hook: Webhook) -> Subject:
    return Subject(hook.configuration_kind, hook.configuration)


CHECKS = (
    UpgradeCheck.of("webhook-down", _down),
    UpgradeCheck.of("webhook-catches-all", _catching),
)


# Aggregated API groups (APIService), and the conversion webhooks of custom resources.


_METRICS = ("metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io")
_DISCOVERY = (
    "discovery is not complete: namespaces that are deleted stay Terminating (NamespaceDeletionDiscoveryFailure)"
)


def _groups(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread(facts, "apiservice-down/all")
    for each in facts.cluster.api_services:
        subject = Subject("APIService", each.name)
        if each.available == "False":
            yield _unavailable(each, subject)
        elif each.available != "True":
            told = Unknown(f"its condition Available is {each.available or 'not there'}")
            yield unknown("apiservice-down/one", subject, told)


def _unavailable(each: ApiService, subject: Subject) -> Finding:
    told = ": ".join(text for text in (each.reason, each.message) if text)
    of = each.service
    return Finding.of(
        "apiservice-down",
        subject,
        (*((told,) if told else ()), _DISCOVERY),
        group=f"{each.group}/{each.version}",
        reads=clause(f"apiservice-down/{each.group}") if each.group in _METRICS else "",
        describe=kubectl("describe", "apiservice", each.name),
        endpoints=endpoints_of(of.namespace, of.service) if of is not None and of.service else "",
        delete=in_turn(saved("apiservice", each.name, ""), kubectl("delete", "apiservice", each.name)),
    )


def _conversions(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread(facts, "crd-conversion/all", kinds.DEFINITIONS)
    called = [(each, each.converter) for each in facts.cluster.definitions if each.converter is not None]
    if any(converter.service for _, converter in called):
        yield from unread(facts, "crd-conversion/all", *KINDS)
    behind = backends(facts.cluster)
    for each, converter in called:
        if not converter.service:
            where = converter.url or "no backend"
            told = Unknown(f"its webhook is at {where}, which cannot be checked from here")
            yield unknown("crd-conversion/one", _extensions_subject(each), told, Severity.INFO)
            continue
        why = behind.why_down(converter)
        if isinstance(why, Unknown):
            if not behind.blind:
                yield unknown("crd-conversion/one", _extensions_subject(each), why)
        elif why is not None:
            yield _unconverted(each, converter, why)


def _unconverted(each: Definition, converter: Callee, why: str) -> Finding:
    """A single version needs no conversion; with several the API server converts in every list of another version."""
    served = [version.name for version in each.versions if version.served]
    several = len({*served, *each.stored}) > 1
    return Finding.of(
        "crd-conversion",
        _extensions_subject(each),
        (f"served: {', '.join(served) or 'none'}", f"stored: {', '.join(each.stored) or 'not told'}"),
        severity=Severity.HIGH if several else Severity.LOW,
        why=why,
        several=several,
        kind=each.kind,
        endpoints=endpoints_of(converter.namespace, converter.service),
    )


def _extensions_subject(each: Definition) -> Subject:
    return Subject("CustomResourceDefinition", each.name)


EXTENSION_CHECKS = (
    UpgradeCheck.of("apiservice-down", _groups),
    UpgradeCheck.of("crd-conversion", _conversions),
)
