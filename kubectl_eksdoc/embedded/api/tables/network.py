"""Services, endpoints, ingresses and network policies."""

from __future__ import annotations

from datetime import datetime

from kubectl_eksdoc.embedded.api.tables.columns import AGE, NAME, SELECTOR, Cells, Column, Printer, integer, wide
from kubectl_eksdoc.embedded.api.tables.fields import (
    NONE,
    a_few,
    age,
    condition,
    labels,
    listed,
    mapped,
    name,
    selector,
    text,
)
from kubectl_eksdoc.model.api_objects import Doc, at

_UNSET = "<unset>"


def _balancers(found: Doc) -> str:
    """The addresses of a load balancer; whole, since a server makes its tables for ``-o wide``."""
    ingress = listed(found, "status", "loadBalancer", "ingress")
    return ",".join(sorted({text(one, "ip") or text(one, "hostname") for one in ingress} - {""}))


def _external(service: Doc) -> str:
    kind, own = text(service, "spec", "type"), ",".join(listed(service, "spec", "externalIPs"))
    if kind in ("ClusterIP", "NodePort"):
        return own or NONE
    if kind == "LoadBalancer":
        return ",".join(filter(None, (_balancers(service), own))) or "<pending>"
    return text(service, "spec", "externalName") if kind == "ExternalName" else "<unknown>"


def _port(port: Doc) -> str:
    where = f"{text(port, 'port')}:{port['nodePort']}" if port.get("nodePort") else text(port, "port")
    return f"{where}/{port.get('protocol') or 'TCP'}"


def _service(service: Doc, now: datetime) -> Cells:
    addresses = listed(service, "spec", "clusterIPs") or [text(service, "spec", "clusterIP")]
    return [
        name(service),
        text(service, "spec", "type"),
        addresses[0] or NONE,
        _external(service),
        ",".join(map(_port, listed(service, "spec", "ports"))) or NONE,
        age(service, now),
        labels(mapped(service, "spec", "selector")),
    ]


def _subset(subset: Doc) -> list[str]:
    addresses, ports = [text(a, "ip") for a in listed(subset, "addresses")], listed(subset, "ports")
    if not ports:
        return addresses
    return [f"[{a}]:{text(p, 'port')}" if ":" in a else f"{a}:{text(p, 'port')}" for p in ports for a in addresses]


def _endpoints(endpoints: Doc, now: datetime) -> Cells:
    subsets = listed(endpoints, "subsets")
    found = [address for subset in subsets for address in _subset(subset)]
    return [name(endpoints), a_few(found, len(found)) if subsets else NONE, age(endpoints, now)]


def _slice(endpoint_slice: Doc, now: datetime) -> Cells:
    ports = [text(p, "port") or text(p, "name") or "*" for p in listed(endpoint_slice, "ports")]
    addresses = [a for e in listed(endpoint_slice, "endpoints") for a in listed(e, "addresses")]
    return [
        name(endpoint_slice),
        text(endpoint_slice, "addressType"),
        a_few(ports, len(ports)) or _UNSET,
        a_few(addresses, len(addresses)) or _UNSET,
        age(endpoint_slice, now),
    ]


def _hosts(ingress: Doc) -> str:
    """Three hosts; how many more counts rules, with and without a host, as upstream does.

    It starts to count at the first rule after three hosts were found.
    """
    rules = listed(ingress, "spec", "rules")
    shown: list[str] = []
    for rule in rules:
        if len(shown) == 3:
            return f"{','.join(shown)} + {len(rules) - 3} more..."
        shown += [host] if (host := text(rule, "host")) else []
    return ",".join(shown) or "*"


def _ingress(ingress: Doc, now: datetime) -> Cells:
    return [
        name(ingress),
        text(ingress, "spec", "ingressClassName") or NONE,
        _hosts(ingress),
        _balancers(ingress),
        "80, 443" if listed(ingress, "spec", "tls") else "80",
        age(ingress, now),
    ]


def _ingress_class(ingress_class: Doc, now: datetime) -> Cells:
    default = mapped(ingress_class, "metadata", "annotations").get("ingressclass.kubernetes.io/is-default-class")
    parameters = at(ingress_class, "spec", "parameters")
    shown = NONE
    if parameters is not None:
        group = text(parameters, "apiGroup")
        shown = f"{text(parameters, 'kind')}{f'.{group}' if group else ''}/{text(parameters, 'name')}"
    return [
        f"{name(ingress_class)} (default)" if default == "true" else name(ingress_class),
        text(ingress_class, "spec", "controller"),
        shown,
        age(ingress_class, now),
    ]


def _policy(policy: Doc, now: datetime) -> Cells:
    return [name(policy), selector(at(policy, "spec", "podSelector")) or NONE, age(policy, now)]


SERVICES = Printer(
    (
        NAME,
        Column("Type", "How the service is reached"),
        Column("Cluster-IP", "Its address in the cluster"),
        Column("External-IP", "Its addresses outside the cluster"),
        Column("Port(s)", "Its ports"),
        AGE,
        SELECTOR,
    ),
    _service,
)
ENDPOINTS = Printer((NAME, Column("Endpoints", "Addresses and ports behind the service"), AGE), _endpoints)
ENDPOINT_SLICES = Printer(
    (
        NAME,
        Column("AddressType", "What kind of addresses the slice has"),
        Column("Ports", "The ports of every endpoint"),
        Column("Endpoints", "The addresses of the endpoints"),
        AGE,
    ),
    _slice,
)
INGRESSES = Printer(
    (
        NAME,
        Column("Class", "The IngressClass that handles the ingress"),
        Column("Hosts", "The hosts its rules are for"),
        Column("Address", "The addresses of its load balancer"),
        Column("Ports", "The ports it listens on"),
        AGE,
    ),
    _ingress,
)
INGRESS_CLASSES = Printer(
    (
        NAME,
        Column("Controller", "Which controller handles the class"),
        Column("Parameters", "The object with the class's parameters"),
        AGE,
    ),
    _ingress_class,
)
NETWORK_POLICIES = Printer((NAME, Column("Pod-Selector", "Which pods the policy is for"), AGE), _policy)


# What extends the API server: APIServices, webhooks and admission policies.


def _api_service(service: Doc, now: datetime) -> Cells:
    behind = at(service, "spec", "service")
    where = "Local" if behind is None else f"{text(behind, 'namespace')}/{text(behind, 'name')}"
    return [name(service), where, _available(service), age(service, now)]


def _available(service: Doc) -> str:
    found = condition(service, "Available")
    if found is None:
        return "Unknown"
    word, reason = text(found, "status"), text(found, "reason")
    return word if word == "True" or not reason else f"{word} ({reason})"


def _webhooks(configuration: Doc, now: datetime) -> Cells:
    return [name(configuration), len(listed(configuration, "webhooks")), age(configuration, now)]


def _parameter_kind(policy: Doc) -> str:
    found = at(policy, "spec", "paramKind")
    return _UNSET if found is None else f"{text(found, 'apiVersion')}/{text(found, 'kind')}"


def _validating_policy(policy: Doc, now: datetime) -> Cells:
    return [name(policy), len(listed(policy, "spec", "validations")), _parameter_kind(policy), age(policy, now)]


def _mutating_policy(policy: Doc, now: datetime) -> Cells:
    return [name(policy), len(listed(policy, "spec", "mutations")), _parameter_kind(policy), age(policy, now)]


def _policy_binding(binding: Doc, now: datetime) -> Cells:
    reference = at(binding, "spec", "paramRef") or {}
    shown = _UNSET
    if reference.get("name"):
        shown = f"{text(reference, 'namespace') or '*'}/{reference['name']}"
    elif reference.get("selector") is not None:
        shown = selector(reference["selector"])
    return [name(binding), text(binding, "spec", "policyName"), shown, age(binding, now)]


API_SERVICES = Printer(
    (
        NAME,
        Column("Service", "The service that answers for the group version"),
        Column("Available", "Whether it does"),
        AGE,
    ),
    _api_service,
)
WEBHOOKS = Printer((NAME, integer("Webhooks", "How many webhooks it registers"), AGE), _webhooks)
VALIDATING_POLICIES = Printer(
    (
        NAME,
        integer("Validations", "How many rules it has"),
        Column("ParamKind", "The kind of its parameters"),
        AGE,
    ),
    _validating_policy,
)
MUTATING_POLICIES = Printer(
    (
        NAME,
        integer("Mutations", "How many rules it has"),
        Column("ParamKind", "The kind of its parameters"),
        AGE,
    ),
    _mutating_policy,
)
POLICY_BINDINGS = Printer(
    (
        NAME,
        Column("PolicyName", "The policy that is bound"),
        Column("ParamRef", "The object with its parameters"),
        AGE,
    ),
    _policy_binding,
)


# Bindings of roles; roles themselves are shown by name and creation alone.


def _binding(binding: Doc, now: datetime) -> Cells:
    return [
        name(binding),
        f"{text(binding, 'roleRef', 'kind')}/{text(binding, 'roleRef', 'name')}",
        age(binding, now),
        ", ".join(_subjects(binding, "User")),
        ", ".join(_subjects(binding, "Group")),
        ", ".join(_subjects(binding, "ServiceAccount")),
    ]


def _subjects(binding: Doc, kind: str) -> list[str]:
    found = (s for s in listed(binding, "subjects") if s.get("kind") == kind)
    account = kind == "ServiceAccount"
    return [f"{text(s, 'namespace')}/{text(s, 'name')}" if account else text(s, "name") for s in found]


BINDINGS = Printer(
    (
        NAME,
        Column("Role", "The role that is given"),
        AGE,
        wide("Users", "Users who get it"),
        wide("Groups", "Groups that get it"),
        wide("ServiceAccounts", "Service accounts that get it"),
    ),
    _binding,
)
