"""Admission webhooks, aggregated APIs and CRD conversion: backends that are down, and requests an upgrade depends on.

Source of what selectors and rules leave out: admissionregistration.k8s.io/v1 (ValidatingWebhook: namespaceSelector
never leaves out an object that is in no namespace, other than a Namespace itself).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.replacement import NAMESPACE_NAME, blocks_pod_creation
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import ApiService, CustomResourceDefinition, ServerTarget
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import in_sequence, kubectl, save_command, shell
from kubectl_eksdoc.model.findings import Finding, Severity, Subject, clause
from kubectl_eksdoc.model.kinds import Resource, Unknown
from kubectl_eksdoc.model.network import Service, Webhook, WebhookRule
from kubectl_eksdoc.model.selectors import EVERYTHING, Labels

from ..checking import CheckFacts, UpgradeCheck, join_names, unknown_finding, unread_lists

BACKEND_KINDS = (kinds.SERVICES, kinds.ENDPOINT_SLICES)


@frozen
class _WebhookBackends:
    """`ready_endpoints`: by Service; `is_incomplete`: not all of `BACKEND_KINDS` was read, which is reported once."""

    services: Mapping[str, Service]
    ready_endpoints: Mapping[str, int]
    is_incomplete: bool

    def reason_down(self, callee: Webhook | ServerTarget) -> str | Unknown | None:
        """A clause; None where the backend answers. The API server calls no port that the Service does not list
        (apiserver pkg/util/proxy: findServicePort)."""
        key = f"{callee.namespace}/{callee.service}"
        service = self.services.get(key)
        port_offered = service is None or not service.ports or callee.port in service.ports
        if self.ready_endpoints.get(key) and port_offered:
            return None
        if self.is_incomplete:
            return Unknown("Services or their endpoints were not read")
        if service is not None and service.type == "ExternalName":
            return Unknown(f"Service {key} is a name of something outside the cluster")
        if not port_offered:
            return clause("/port-missing", key=key, port=callee.port)
        return clause("/unanswered", key=key, exists=service is not None)


def webhook_backends(cluster: Cluster) -> _WebhookBackends:
    ready_endpoints: Counter[str] = Counter()
    for each in cluster.endpoint_slices:
        ready_endpoints[f"{each.namespace}/{each.service}"] += sum(endpoint.ready for endpoint in each.endpoints)
    return _WebhookBackends(
        {each.key: each for each in cluster.services}, ready_endpoints, bool(cluster.not_read(*BACKEND_KINDS))
    )


def endpoints_command(namespace: str, service: str) -> str:
    """The command that shows the endpoints of a Service."""
    label = f"kubernetes.io/service-name={service}"
    return shell("kubectl", "get", "endpointslices", "-n", namespace, "-l", label)


_WEBHOOK_KINDS = (kinds.VALIDATING_WEBHOOKS, kinds.MUTATING_WEBHOOKS)
_SYSTEM_NAMESPACE, _NODE_LEASE_NAMESPACE = "kube-system", "kube-node-lease"


_ON_API_SERVER = re.compile(r"https://(127\.0\.0\.1|localhost)(?![^:/?])")
"""A URL on the machine of the API server: EKS's own webhooks are there (pod identity, VPC resources)."""


_NAMESPACED = frozenset(
    (each.group, each.plural) for each in vars(kinds).values() if isinstance(each, Resource) and each.namespaced
)


@frozen
class _WebhookScope:
    """The objects that webhooks are called for; `namespaces`: labels by name, as far as they were read."""

    cluster: Cluster
    namespaces: Mapping[str, Labels]

    def critical_requests(self, hook: Webhook) -> dict[str, str]:
        """The requests that an upgrade depends on, each with what happens when it is refused."""
        harm_by_request = {}
        node_request = (hook, "Cluster", "", "nodes")
        if self._matches_rule(*node_request, ("CREATE", "UPDATE")) and self._selects_any(hook, self.cluster.nodes):
            join_harm = "nodes cannot join" if self._matches_rule(*node_request, ("CREATE",)) else ""
            update_harm = (
                "nodes cannot be cordoned, labelled or tainted"
                if self._matches_rule(*node_request, ("UPDATE",))
                else ""
            )
            harm_by_request["nodes"] = "; ".join(filter(None, (join_harm, update_harm)))
        lease_request = (hook, "Namespaced", kinds.LEASES.group, "leases", ("CREATE", "UPDATE"))
        lease_namespaces = [
            name for name in (_SYSTEM_NAMESPACE, _NODE_LEASE_NAMESPACE) if self._selects_namespace(hook, name)
        ]
        if lease_namespaces and hook.object_selector == EVERYTHING and self._matches_rule(*lease_request):
            harm_by_request[f"leases of {' and '.join(lease_namespaces)}"] = (
                "kubelets cannot renew theirs, so nodes become NotReady; controllers cannot elect who leads"
            )
        system_pods = (pod for pod in self.cluster.pods if pod.namespace == _SYSTEM_NAMESPACE)
        catches_pods = self._matches_rule(hook, "Namespaced", "", "pods", ("CREATE",)) and self._selects_namespace(
            hook, _SYSTEM_NAMESPACE
        )
        if catches_pods and self._selects_any(hook, system_pods):
            harm_by_request[f"pods of {_SYSTEM_NAMESPACE}"] = (
                "aws-node, kube-proxy and CoreDNS cannot start on new nodes"
            )
        return harm_by_request

    def matches_no_namespace(self, hook: Webhook) -> bool:
        """Whether no namespace has the labels that it selects, and all its rules are about namespaced objects."""
        if not self.namespaces or self.cluster.not_read(kinds.NAMESPACES):
            return False
        only_namespaced = all(_is_only_namespaced(rule) for rule in hook.rules)
        return only_namespaced and not any(self._selects_namespace(hook, name) for name in self.namespaces)

    def _selects_namespace(self, hook: Webhook, namespace: str) -> bool:
        labels = self.namespaces.get(namespace, {})
        return hook.namespace_selector.matches({NAMESPACE_NAME: namespace, **labels})

    def _selects_any(self, hook: Webhook, objects: Iterable[object]) -> bool:
        """Whether it selects the labels of any of them; without a selector it is called for future objects, too."""
        if hook.object_selector == EVERYTHING:
            return True
        return any(hook.object_selector.matches(getattr(each, "labels", {})) for each in objects)

    def _matches_rule(self, hook: Webhook, scope: str, group: str, plural: str, operations: tuple[str, ...]) -> bool:
        return any(
            rule.scope in ("*", "", scope)
            and any(each in ("*", group) for each in rule.groups)
            and any(each in ("*", "*/*", plural) for each in rule.resources)
            and any(each == "*" or each in operations for each in rule.operations)
            for rule in hook.rules
        )


def _is_only_namespaced(rule: WebhookRule) -> bool:
    if rule.scope == "Namespaced":
        return True
    resources = [(group, each.partition("/")[0]) for group in rule.groups for each in rule.resources]
    return bool(resources) and all(each in _NAMESPACED for each in resources)


def _webhook_scope(cluster: Cluster) -> _WebhookScope:
    return _WebhookScope(cluster, {each.name: each.labels for each in cluster.namespaces})


def _check_webhooks_down(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread_lists(facts, "webhook-down/all", *_WEBHOOK_KINDS, severity=Severity.HIGH)
    if any(hook.service for hook in facts.cluster.webhooks):
        yield from unread_lists(facts, "webhook-down/all", *BACKEND_KINDS, severity=Severity.HIGH)
    backend_index, scope = webhook_backends(facts.cluster), _webhook_scope(facts.cluster)
    for hooks in _group_webhooks(facts.cluster.webhooks):
        first = hooks[0]
        if _ON_API_SERVER.match(first.url):
            continue  # EKS's own, on the machine of the API server
        if not first.service:
            reason = Unknown(f"it is called at {first.url or 'no address'}, which cannot be checked from here")
            yield unknown_finding("webhook-down/one", _webhook_subject(first), reason, Severity.INFO)
            continue
        reason_down = backend_index.reason_down(first)
        if isinstance(reason_down, Unknown):
            if not backend_index.is_incomplete:
                yield unknown_finding("webhook-down/one", _webhook_subject(first), reason_down, Severity.LOW)
        elif reason_down is not None:
            yield _webhook_down_finding(hooks, scope, reason_down)


def _group_webhooks(hooks: Iterable[Webhook]) -> list[list[Webhook]]:
    """The webhooks of one configuration with the same backend and failure policy, in groups."""
    hooks_by_key: dict[tuple[str, ...], list[Webhook]] = defaultdict(list)
    for hook in hooks:
        target = (hook.namespace, hook.service, hook.url, str(hook.port), str(hook.fails_closed))
        key = (hook.configuration_kind, hook.configuration, *target)
        hooks_by_key[key].append(hook)
    return [hooks_by_key[key] for key in sorted(hooks_by_key)]


def _webhook_down_finding(hooks: list[Webhook], scope: _WebhookScope, reason: str) -> Finding:
    first, kind_name = hooks[0], hooks[0].configuration_kind.lower()
    refusing_hooks = [hook for hook in hooks if hook.fails_closed and not scope.matches_no_namespace(hook)]
    harms = [text for hook in refusing_hooks for text in scope.critical_requests(hook).values()]
    endpoints = endpoints_command(first.namespace, first.service)
    command = in_sequence(
        save_command(kind_name, first.configuration, ""), kubectl("delete", kind_name, first.configuration)
    )
    evidence = tuple(dict.fromkeys((*(_hook_text(hook) for hook in hooks), *_condition_evidence(hooks), *harms)))
    if refusing_hooks:
        blocks_upgrade = bool(harms) or any(blocks_pod_creation(hook) for hook in refusing_hooks)
        return Finding.of(
            "webhook-down/refuses",
            _webhook_subject(first),
            evidence,
            severity=Severity.CRITICAL if blocks_upgrade else Severity.HIGH,
            why=reason,
            what="; ".join(dict.fromkeys(_requests_text(hook) for hook in refusing_hooks)),
            endpoints=endpoints,
            command=command,
        )
    return Finding.of(
        "webhook-down/nothing-yet" if first.fails_closed else "webhook-down/fails-open",
        _webhook_subject(first),
        evidence,
        why=reason,
        endpoints=endpoints,
        command=command,
    )


def _check_catch_all(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread_lists(facts, "webhook-catches-all", *_WEBHOOK_KINDS, kinds.NAMESPACES)
    if any(hook.object_selector != EVERYTHING for hook in facts.cluster.webhooks):
        yield from unread_lists(facts, "webhook-catches-all", kinds.NODES, kinds.PODS)
    backend_index, scope = webhook_backends(facts.cluster), _webhook_scope(facts.cluster)
    for hooks in _group_webhooks(facts.cluster.webhooks):
        if hooks[0].fails_closed and not _ON_API_SERVER.match(hooks[0].url):
            harm_by_request = {each: harm for hook in hooks for each, harm in scope.critical_requests(hook).items()}
            if harm_by_request:
                yield _catch_all_finding(
                    [hook for hook in hooks if scope.critical_requests(hook)], harm_by_request, backend_index
                )


def _catch_all_finding(hooks: list[Webhook], harm_by_request: Mapping[str, str], backends: _WebhookBackends) -> Finding:
    first = hooks[0]
    ready_count = backends.ready_endpoints.get(f"{first.namespace}/{first.service}", 0)
    catches_nodes = any(not each.startswith("pods") for each in harm_by_request)
    is_conditional = all(hook.conditional for hook in hooks)
    endpoint_text = (
        "endpoints that were not read"
        if backends.is_incomplete
        else f"{ready_count} ready endpoint{'s' * (ready_count != 1)}"
    )
    backend_text = (
        f"Service {first.namespace}/{first.service} has {endpoint_text} now"
        if first.service
        else f"called at {first.url}"
    )
    return Finding.of(
        "webhook-catches-all/may-be-called" if is_conditional else "webhook-catches-all/called",
        _webhook_subject(first),
        (
            *(f"{each}: {harm}" for each, harm in harm_by_request.items()),
            *map(_hook_text, hooks),
            *_condition_evidence(hooks),
            backend_text,
        ),
        severity=Severity.HIGH
        if catches_nodes or (first.service and not backends.is_incomplete and ready_count < 2)
        else Severity.MEDIUM,
        caught=" and ".join(harm_by_request),
        service=first.service,
        command=kubectl("get", first.configuration_kind.lower(), first.configuration, "", "-o", "yaml"),
    )


def _condition_evidence(hooks: Iterable[Webhook]) -> Iterator[str]:
    names = [hook.name for hook in hooks if hook.conditional]
    if names:
        yield f"matchConditions of {join_names(names)} may leave out some of it"


def _hook_text(hook: Webhook) -> str:
    selector_text = "" if hook.namespace_selector == EVERYTHING else f", in namespaces with {hook.namespace_selector}"
    return f"{hook.name}: {_requests_text(hook)}{selector_text}"


def _requests_text(hook: Webhook) -> str:
    """``CREATE of pods and UPDATE of leases.coordination.k8s.io``."""
    return " and ".join(dict.fromkeys(_request_text(rule) for rule in hook.rules)) or "nothing"


def _request_text(rule: WebhookRule) -> str:
    groups = [group for group in rule.groups if group and group != "*"]
    return clause(
        "webhook-down/request",
        operations="" if "*" in rule.operations else ", ".join(rule.operations),
        names="" if {"*", "*/*"} & set(rule.resources) else join_names(rule.resources),
        groups=join_names(groups) if groups else "",
    )


def _webhook_subject(hook: Webhook) -> Subject:
    return Subject(hook.configuration_kind, hook.configuration)


CHECKS = (
    UpgradeCheck.of("webhook-down", _check_webhooks_down),
    UpgradeCheck.of("webhook-catches-all", _check_catch_all),
)


# Aggregated API groups (APIService), and the conversion webhooks of custom resources.


_METRICS_GROUPS = ("metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io")
_DISCOVERY_EFFECT = (
    "discovery is not complete: namespaces that are deleted stay Terminating (NamespaceDeletionDiscoveryFailure)"
)


def _check_api_services(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread_lists(facts, "apiservice-down/all")
    for api_service in facts.cluster.api_services:
        subject = Subject("APIService", api_service.name)
        if api_service.available == "False":
            yield _api_service_down(api_service, subject)
        elif api_service.available != "True":
            reason = Unknown(f"its condition Available is {api_service.available or 'not there'}")
            yield unknown_finding("apiservice-down/one", subject, reason)


def _api_service_down(api_service: ApiService, subject: Subject) -> Finding:
    condition_text = ": ".join(text for text in (api_service.reason, api_service.message) if text)
    service = api_service.service
    return Finding.of(
        "apiservice-down",
        subject,
        (*((condition_text,) if condition_text else ()), _DISCOVERY_EFFECT),
        group=f"{api_service.group}/{api_service.version}",
        reads=clause(f"apiservice-down/{api_service.group}") if api_service.group in _METRICS_GROUPS else "",
        describe=kubectl("describe", "apiservice", api_service.name),
        endpoints=endpoints_command(service.namespace, service.service)
        if service is not None and service.service
        else "",
        delete=in_sequence(
            save_command("apiservice", api_service.name, ""), kubectl("delete", "apiservice", api_service.name)
        ),
    )


def _check_conversions(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread_lists(facts, "crd-conversion/all", kinds.DEFINITIONS)
    with_webhook = [(each, each.converter) for each in facts.cluster.definitions if each.converter is not None]
    if any(converter.service for _, converter in with_webhook):
        yield from unread_lists(facts, "crd-conversion/all", *BACKEND_KINDS)
    backend_index = webhook_backends(facts.cluster)
    for each, converter in with_webhook:
        if not converter.service:
            location = converter.url or "no backend"
            reason = Unknown(f"its webhook is at {location}, which cannot be checked from here")
            yield unknown_finding("crd-conversion/one", _definition_subject(each), reason, Severity.INFO)
            continue
        reason_down = backend_index.reason_down(converter)
        if isinstance(reason_down, Unknown):
            if not backend_index.is_incomplete:
                yield unknown_finding("crd-conversion/one", _definition_subject(each), reason_down)
        elif reason_down is not None:
            yield _conversion_down(each, converter, reason_down)


def _conversion_down(definition: CustomResourceDefinition, converter: ServerTarget, reason: str) -> Finding:
    """A single version needs no conversion; with several the API server converts in every list of another version."""
    served = [version.name for version in definition.versions if version.served]
    has_several_versions = len({*served, *definition.stored}) > 1
    return Finding.of(
        "crd-conversion",
        _definition_subject(definition),
        (f"served: {', '.join(served) or 'none'}", f"stored: {', '.join(definition.stored) or 'not told'}"),
        severity=Severity.HIGH if has_several_versions else Severity.LOW,
        why=reason,
        several=has_several_versions,
        kind=definition.kind,
        endpoints=endpoints_command(converter.namespace, converter.service),
    )


def _definition_subject(definition: CustomResourceDefinition) -> Subject:
    return Subject("CustomResourceDefinition", definition.name)


EXTENSION_CHECKS = (
    UpgradeCheck.of("apiservice-down", _check_api_services),
    UpgradeCheck.of("crd-conversion", _check_conversions),
)
