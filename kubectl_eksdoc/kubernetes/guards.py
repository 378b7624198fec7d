"""Index of the PodDisruptionBudgets that select each pod; also redaction of URLs, kube-proxy's mode, Pod Security, RBAC
rules.

The index is fast enough for the pods and budgets of a large cluster.

A budget selects pods of its own namespace. The empty selector of policy/v1 selects all of them, an invalid one none
(pkg/registry/core/pod/storage/eviction.go: getPodDisruptionBudgets).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, nested_field
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.permissions import Permission
from kubectl_eksdoc.model.selectors import Requirement


@frozen
class _NamespaceBudgets:
    """Budgets of one namespace: those found by the value of one label, and those that must be tried on every pod."""

    by_label: dict[str, dict[str, list[Budget]]] = field(default_factory=dict)
    others: list[Budget] = field(default_factory=list)

    def candidates(self, labels: Mapping[str, str]) -> Iterable[Budget]:
        for key, by_value in self.by_label.items():
            value = labels.get(key)
            if value is not None:
                yield from by_value.get(value, ())
        yield from self.others


_LabelsKey = tuple[str, int]
"""Pods with the same key are selected by the same budgets: namespace and identity of the labels, which replicas share.
"""


@frozen
class PodBudgets:
    """An index of budgets and pods. Create it with `index_budgets`."""

    _namespaces: Mapping[str, _NamespaceBudgets]
    _pods: Mapping[str, tuple[Pod, ...]]
    _selecting: Mapping[_LabelsKey, tuple[Budget, ...]] = field(
        compare=False
    )  # without entries for pods that no budget selects
    shared: frozenset[str] = frozenset()  # UIDs of pods that several budgets select

    def for_pod(self, pod: Pod) -> tuple[Budget, ...]:
        """The budgets that select `pod`, by name; the pod need not be in the index."""
        namespace = self._namespaces.get(pod.namespace)
        if namespace is None:
            return ()
        selecting_budgets = [b for b in namespace.candidates(pod.labels) if b.selector.matches(pod.labels)]
        if len(selecting_budgets) > 1:
            selecting_budgets.sort(key=lambda b: b.name)
        return tuple(selecting_budgets)

    def for_indexed_pod(self, pod: Pod) -> tuple[Budget, ...]:
        """The same for a pod of the index, but faster; replicas get the same tuple."""
        return self._selecting.get((pod.namespace, id(pod.labels)), ())

    def with_budgets(self, changed: Mapping[str, Budget]) -> PodBudgets:
        """The index with the budgets of these keys (namespace/name) replaced; the new ones differ only in their
        status."""
        selecting = {
            like: tuple(changed.get(b.key, b) for b in selecting_budgets)
            if any(b.key in changed for b in selecting_budgets)
            else selecting_budgets
            for like, selecting_budgets in self._selecting.items()
        }
        return replace(self, _selecting=selecting)

    def selected_pods(self, budget: Budget) -> tuple[Pod, ...]:
        """The indexed pods that `budget` selects, in the order they were given."""
        return self._pods.get(budget.key, ())


def index_budgets(budgets: Iterable[Budget], pods: Iterable[Pod]) -> PodBudgets:
    """Build the index; its cost grows with the sum of pods and budgets, not with their product."""
    index = PodBudgets(_by_namespace(tuple(budgets)), {}, {})
    selected: dict[str, list[Pod]] = {}
    shared: list[str] = []
    entries: dict[_LabelsKey, tuple[tuple[Budget, ...], list[list[Pod]]]] = {}
    for pod in pods:
        labels_key = (pod.namespace, id(pod.labels))
        entry = entries.get(labels_key)
        if entry is None:
            selecting_budgets = index.for_pod(pod)
            entry = entries[labels_key] = (
                selecting_budgets,
                [selected.setdefault(budget.key, []) for budget in selecting_budgets],
            )
        for budget_pods in entry[1]:
            budget_pods.append(pod)
        if len(entry[0]) > 1:
            shared.append(pod.uid)
    selecting = {
        labels_key: selecting_budgets for labels_key, (selecting_budgets, _) in entries.items() if selecting_budgets
    }
    by_budget = {key: tuple(budget_pods) for key, budget_pods in selected.items()}
    return PodBudgets(index._namespaces, by_budget, selecting, frozenset(shared))


def _by_namespace(budgets: tuple[Budget, ...]) -> dict[str, _NamespaceBudgets]:
    # Among several labels, the rarest one gives the fewest candidates.
    shared = Counter(
        (b.namespace, r.key, r.values[0]) for b in budgets for r in b.selector.requirements if _is_exact(r)
    )
    namespaces: dict[str, _NamespaceBudgets] = {}
    for budget in budgets:
        if not budget.selector.valid:
            continue
        namespace = namespaces.setdefault(budget.namespace, _NamespaceBudgets())
        exact = [r for r in budget.selector.requirements if _is_exact(r)]
        if not exact:
            namespace.others.append(budget)
            continue
        best = min(exact, key=lambda r: shared[budget.namespace, r.key, r.values[0]])
        namespace.by_label.setdefault(best.key, {}).setdefault(best.values[0], []).append(budget)
    return namespaces


def _is_exact(requirement: Requirement) -> bool:
    return requirement.operator == "In" and len(requirement.values) == 1


# Redaction of URLs before they are printed or stored: without user information, tokens and parameters.
#
# Sources: RFC 3986 (authority, query); kubectl prints the user information of a URL without its password.


TOKEN_PREFIX = "/as/"
"""Prefix of the paths of a rehearsal's server; the user's token follows."""

_TOKEN = re.compile(rf"{TOKEN_PREFIX}([^/\s?#'\"<>]+)")
_AUTHORITY = re.compile(r"(?:\[[0-9A-Fa-f:.%]+\]|[\w.~-]*)(?::\d*)?")
_URL = re.compile(r"(?i)(?<![a-z0-9+.-])[a-z0-9+.-]+://[^\s'\"<>]+")
"""Searched only at the start of a word: otherwise the time for a long word grows with the square of its length."""


def redact_url(url: str) -> str:
    """`url` as it may appear in a message, a journal and a snapshot."""
    return _TOKEN.sub("", re.split(r"[?#]", strip_user_info(url), maxsplit=1)[0])


def redact_urls(text: str) -> str:
    """A text of a library, a server or a proxy, with each URL in it redacted by `redact_url`."""
    return _TOKEN.sub("", _URL.sub(lambda match: redact_url(match.group()), text))


def url_token(url: str) -> str:
    """The token in the path of a rehearsal's server, "" for any other URL."""
    match = _TOKEN.search(url)
    return match.group(1) if match else ""


def strip_user_info(url: str) -> str:
    """Remove only the user information. A password may contain characters that a URL would have to escape."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        scheme, rest = "", url
    end = re.search(r"[/?#]|\Z", rest)
    assert end is not None
    authority, path = rest[: end.start()], rest[end.start() :]
    authority = authority.rpartition("@")[2]
    if "@" in path:  # part of a password, probably
        authority = authority if _AUTHORITY.fullmatch(authority) else path.rpartition("@")[2]
        path = ""
    return f"{scheme}{separator}{authority}{path}"


# kube-proxy's mode: from its flags, or from the configuration file that --config names, which EKS stores in a
# ConfigMap. With a file the flags do not count: a field that the file omits has its default (kubernetes.io, kube-proxy:
# "ignored if a config file is specified by --config").


KUBE_PROXY_CONFIG = ObjectName("v1", "ConfigMap", "kube-system", "kube-proxy-config")
KUBE_PROXY_DAEMON_SET = ObjectName("apps/v1", "DaemonSet", "kube-system", "kube-proxy")
"""Names of the objects in EKS."""
IPVS = "ipvs"
CONNTRACK_DELETING_MODES = ("iptables", "nftables")
"""Modes in which kube-proxy deletes the conntrack entries of an endpoint that it removes."""

_MODE = re.compile(r"(?:(?:^|[{,])[ \t]*[\"']?mode[\"']?[ \t]*:[ \t]*|--proxy-mode[= ])[\"']?([\w:$(-]*)", re.MULTILINE)
_CONFIG_FLAG = re.compile(r"--config(?=[= ]|\Z)")


def kube_proxy_configuration(
    daemon_set: Doc | Absent | Unknown, config: Doc | Absent | Unknown
) -> str | Absent | Unknown:
    """The text of the ConfigMap, or the flags; "" if there is neither. Absent: another program may do kube-proxy's
    work."""
    if isinstance(daemon_set, Unknown):
        return daemon_set
    flags = None if isinstance(daemon_set, Absent) else _container_flags(daemon_set)
    if flags is not None and not _CONFIG_FLAG.search(flags):
        return flags if "--" in flags else ""
    if isinstance(config, Absent) and flags is not None:
        return Unknown(f"{KUBE_PROXY_CONFIG} is not there, and its flag --config names a file of another one")
    return config if isinstance(config, (Absent, Unknown)) else _config_text(config)


def _container_flags(daemon_set: Doc) -> str:
    containers = nested_field(daemon_set, "spec", "template", "spec", "containers") or ()
    kube_proxy_containers = [
        each for each in containers if each.get("name") == KUBE_PROXY_DAEMON_SET.name
    ] or containers
    return " ".join(
        word for each in kube_proxy_containers for key in ("command", "args") for word in each.get(key) or ()
    )


def _config_text(config: Doc) -> str:
    return str(nested_field(config, "data", "config") or nested_field(config, "data", "config.conf") or "")


def kube_proxy_mode(text: str) -> str:
    """The configured mode, iptables if it is omitted; "" without a configuration."""
    match = _MODE.search(text)
    return "" if not text.strip() else (match[1] if match else "") or "iptables"


# Pod Security Standards: the checks that matter for the pods this tool creates.
#
# Source: Pod Security Standards (kubernetes.io/docs/concepts/security/pod-security-standards); texts of
# k8s.io/pod-security-admission policy/check_*.go, v0.33. Of "baseline": host namespaces, privileged containers, added
# capabilities, hostPath volumes, host ports; of "restricted" also: privilege escalation, dropped capabilities,
# runAsNonRoot, the user 0, seccomp. Left out: AppArmor, SELinux, procMount, sysctls, volume types, Windows.


PRIVILEGED, BASELINE, RESTRICTED = "privileged", "baseline", "restricted"

_ALLOWED_CAPABILITIES = frozenset(
    ("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP")
    + ("SETGID", "SETPCAP", "SETUID", "SYS_CHROOT")
)


def pod_security_violations(level: str, spec: Doc) -> tuple[str, ...]:
    """The violations of a pod's spec, in the order of the checks' names; an unknown level forbids nothing."""
    checks: Sequence[_Check] = {BASELINE: _BASELINE, RESTRICTED: _BASELINE + _RESTRICTED}.get(level, ())
    return tuple(violation for check in checks for violation in check(spec))


def pod_security_refusal(level: str, spec: Doc) -> str:
    """The message of the admission plugin, "" if it admits the pod."""
    violations_found = pod_security_violations(level, spec)
    return f'violates PodSecurity "{level}:latest": {", ".join(violations_found)}' if violations_found else ""


_Check = Callable[[Doc], Iterator[str]]


def _host_namespaces(spec: Doc) -> Iterator[str]:
    shared = [name for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    if shared:
        yield f"host namespaces ({', '.join(f'{name}=true' for name in shared)})"


def _host_path(spec: Doc) -> Iterator[str]:
    paths = [f'"{each.get("name")}"' for each in spec.get("volumes") or () if "hostPath" in each]
    if paths:
        yield f"hostPath volumes ({_listed_names('volume', paths)})"


def _host_ports(spec: Doc) -> Iterator[str]:
    every = [port for each in _containers(spec) for port in each.get("ports") or ()]
    ports = [str(port["hostPort"]) for port in every if port.get("hostPort")]
    if ports:
        yield f"hostPort (hostPort {', '.join(ports)})"


def _privileged(spec: Doc) -> Iterator[str]:
    bad = _violating_containers(spec, lambda own: bool(own.get("privileged")))
    if bad:
        yield f"privileged ({_listed_names('container', bad)} must not set securityContext.privileged=true)"


def _added_capabilities(spec: Doc) -> Iterator[str]:
    bad = _violating_containers(
        spec, lambda own: not set(nested_field(own, "capabilities", "add") or ()) <= _ALLOWED_CAPABILITIES
    )
    if bad:
        yield f"non-default capabilities ({_listed_names('container', bad)} must not include them)"


def _privilege_escalation(spec: Doc) -> Iterator[str]:
    bad = _violating_containers(spec, lambda own: own.get("allowPrivilegeEscalation") is not False)
    if bad:
        text = f"{_listed_names('container', bad)} must set securityContext.allowPrivilegeEscalation=false"
        yield f"allowPrivilegeEscalation != false ({text})"


def _dropped_capabilities(spec: Doc) -> Iterator[str]:
    bad = _violating_containers(spec, lambda own: "ALL" not in (nested_field(own, "capabilities", "drop") or ()))
    if bad:
        text = f'{_listed_names("container", bad)} must set securityContext.capabilities.drop=["ALL"]'
        yield f"unrestricted capabilities ({text})"


def _non_root(spec: Doc) -> Iterator[str]:
    pod_level = nested_field(spec, "securityContext", "runAsNonRoot")
    bad = _violating_containers(spec, lambda own: own.get("runAsNonRoot", pod_level) is not True)
    if bad:
        yield (
            f"runAsNonRoot != true (pod or {_listed_names('container', bad)} must set "
            "securityContext.runAsNonRoot=true)"
        )


def _root_user(spec: Doc) -> Iterator[str]:
    bad = _violating_containers(spec, lambda own: own.get("runAsUser") == 0)
    if bad or nested_field(spec, "securityContext", "runAsUser") == 0:
        yield "runAsUser=0 (must not set runAsUser=0)"


def _seccomp(spec: Doc) -> Iterator[str]:
    pod_level = nested_field(spec, "securityContext", "seccompProfile", "type")
    bad = _violating_containers(
        spec,
        lambda own: (nested_field(own, "seccompProfile", "type") or pod_level) not in ("RuntimeDefault", "Localhost"),
    )
    if bad:
        text = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
        yield f"seccompProfile (pod or {_listed_names('container', bad)} {text})"


_BASELINE: tuple[_Check, ...] = (_added_capabilities, _host_namespaces, _host_path, _host_ports, _privileged)
_RESTRICTED: tuple[_Check, ...] = (_privilege_escalation, _dropped_capabilities, _non_root, _root_user, _seccomp)


def _violating_containers(spec: Doc, violates: Callable[[Doc], bool]) -> list[str]:
    """Quoted names of the containers whose own security context violates a check."""
    return [f'"{each.get("name")}"' for each in _containers(spec) if violates(each.get("securityContext") or {})]


def _containers(spec: Doc) -> list[Doc]:
    return [each for part in ("initContainers", "containers", "ephemeralContainers") for each in spec.get(part) or ()]


def _listed_names(noun: str, names: Sequence[str]) -> str:
    return f"{noun}{'s' if len(names) > 1 else ''} {', '.join(names)}"


# Permissions as rules of a Role or a ClusterRole (rbac.authorization.k8s.io/v1, PolicyRule).


def policy_rules(permissions: Iterable[Permission]) -> list[Doc]:
    """One rule for each set of verbs in each API group, and one for non-resource URLs; sorted, without duplicates."""
    verbs: dict[tuple[str, str], set[str]] = {}
    for each in permissions:
        plural = f"{each.resource.plural}/{each.subresource}" if each.subresource else each.resource.plural
        verbs.setdefault((each.resource.group, plural), set()).add(each.verb)
    grouped: dict[tuple[bool, str, tuple[str, ...]], list[str]] = {}
    for (group, plural), verb_set in sorted(verbs.items()):
        grouped.setdefault((plural.startswith("/"), group, tuple(sorted(verb_set))), []).append(plural)
    return [
        _policy_rule(is_path, group, allowed, names) for (is_path, group, allowed), names in sorted(grouped.items())
    ]


def _policy_rule(is_path: bool, group: str, verbs: Sequence[str], names: Sequence[str]) -> Doc:
    targets = {"nonResourceURLs": list(names)} if is_path else {"apiGroups": [group], "resources": list(names)}
    return {**targets, "verbs": list(verbs)}
