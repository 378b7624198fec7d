"""What the levels of pod security forbid: those checks that decide about pods as this tool makes them.

Source: Pod Security Standards (kubernetes.io/docs/concepts/security/pod-security-standards); texts of
k8s.io/pod-security-admission policy/check_*.go, v0.33. Of "baseline": host namespaces, privileged containers, added
capabilities, hostPath volumes, host ports; of "restricted" besides: privilege escalation, dropped capabilities,
runAsNonRoot, the user 0, seccomp. Left out: AppArmor, SELinux, procMount, sysctls, volume types, Windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.permissions import Permission

PRIVILEGED, BASELINE, RESTRICTED = "privileged", "baseline", "restricted"

_ADDABLE = frozenset(
    ("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP")
    + ("SETGID", "SETPCAP", "SETUID", "SYS_CHROOT")
)


def violations(level: str, spec: Doc) -> tuple[str, ...]:
    """Of a pod's spec, in the order of the checks' names; a level that is not known forbids nothing."""
    checks: Sequence[_Check] = {BASELINE: _BASELINE, RESTRICTED: _BASELINE + _RESTRICTED}.get(level, ())
    return tuple(said for check in checks for said in check(spec))


def refusal(level: str, spec: Doc) -> str:
    """As admission says it, "" where it lets the pod pass."""
    found = violations(level, spec)
    return f'violates PodSecurity "{level}:latest": {", ".join(found)}' if found else ""


_Check = Callable[[Doc], Iterator[str]]


def _host_namespaces(spec: Doc) -> Iterator[str]:
    shared = [name for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    if shared:
        yield f"host namespaces ({', '.join(f'{name}=true' for name in shared)})"


def _host_path(spec: Doc) -> Iterator[str]:
    paths = [f'"{each.get("name")}"' for each in spec.get("volumes") or () if "hostPath" in each]
    if paths:
        yield f"hostPath volumes ({_counted('volume', paths)})"


def _host_ports(spec: Doc) -> Iterator[str]:
    every = [port for each in _containers(spec) for port in each.get("ports") or ()]
    ports = [str(port["hostPort"]) for port in every if port.get("hostPort")]
    if ports:
        yield f"hostPort (hostPort {', '.join(ports)})"


def _privileged(spec: Doc) -> Iterator[str]:
    bad = _named(spec, lambda own: bool(own.get("privileged")))
    if bad:
        yield f"privileged ({_counted('container', bad)} must not set securityContext.privileged=true)"


def _added(spec: Doc) -> Iterator[str]:
    bad = _named(spec, lambda own: not set(at(own, "capabilities", "add") or ()) <= _ADDABLE)
    if bad:
        yield f"non-default capabilities ({_counted('container', bad)} must not include them)"


def _escalation(spec: Doc) -> Iterator[str]:
    bad = _named(spec, lambda own: own.get("allowPrivilegeEscalation") is not False)
    if bad:
        text = f"{_counted('container', bad)} must set securityContext.allowPrivilegeEscalation=false"
        yield f"allowPrivilegeEscalation != false ({text})"


def _capabilities(spec: Doc) -> Iterator[str]:
    bad = _named(spec, lambda own: "ALL" not in (at(own, "capabilities", "drop") or ()))
    if bad:
        text = f'{_counted("container", bad)} must set securityContext.capabilities.drop=["ALL"]'
        yield f"unrestricted capabilities ({text})"


def _non_root(spec: Doc) -> Iterator[str]:
    whole = at(spec, "securityContext", "runAsNonRoot")
    bad = _named(spec, lambda own: own.get("runAsNonRoot", whole) is not True)
    if bad:
        yield f"runAsNonRoot != true (pod or {_counted('container', bad)} must set securityContext.runAsNonRoot=true)"


def _root(spec: Doc) -> Iterator[str]:
    bad = _named(spec, lambda own: own.get("runAsUser") == 0)
    if bad or at(spec, "securityContext", "runAsUser") == 0:
        yield "runAsUser=0 (must not set runAsUser=0)"


def _seccomp(spec: Doc) -> Iterator[str]:
    whole = at(spec, "securityContext", "seccompProfile", "type")
    bad = _named(spec, lambda own: (at(own, "seccompProfile", "type") or whole) not in ("RuntimeDefault", "Localhost"))
    if bad:
        text = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
        yield f"seccompProfile (pod or {_counted('container', bad)} {text})"


_BASELINE: tuple[_Check, ...] = (_added, _host_namespaces, _host_path, _host_ports, _privileged)
_RESTRICTED: tuple[_Check, ...] = (_escalation, _capabilities, _non_root, _root, _seccomp)


def _named(spec: Doc, bad: Callable[[Doc], bool]) -> list[str]:
    """The containers, quoted, of whose own security context that holds."""
    return [f'"{each.get("name")}"' for each in _containers(spec) if bad(each.get("securityContext") or {})]


def _containers(spec: Doc) -> list[Doc]:
    return [each for part in ("initContainers", "containers", "ephemeralContainers") for each in spec.get(part) or ()]


def _counted(what: str, names: Sequence[str]) -> str:
    return f"{what}{'s' if len(names) > 1 else ''} {', '.join(names)}"


# Rights as the rules of a Role or a ClusterRole (rbac.authorization.k8s.io/v1, PolicyRule).


def rules(permissions: Iterable[Permission]) -> list[Doc]:
    """One for each set of verbs in each API group, and one for paths that are no resources; sorted, each right once."""
    verbs: dict[tuple[str, str], set[str]] = {}
    for each in permissions:
        plural = f"{each.resource.plural}/{each.subresource}" if each.subresource else each.resource.plural
        verbs.setdefault((each.resource.group, plural), set()).add(each.verb)
    together: dict[tuple[bool, str, tuple[str, ...]], list[str]] = {}
    for (group, plural), found in sorted(verbs.items()):
        together.setdefault((plural.startswith("/"), group, tuple(sorted(found))), []).append(plural)
    return [_rule(is_path, group, allowed, names) for (is_path, group, allowed), names in sorted(together.items())]


def _rule(is_path: bool, group: str, verbs: Sequence[str], names: Sequence[str]) -> Doc:
    of = {"nonResourceURLs": list(names)} if is_path else {"apiGroups": [group], "resources": list(names)}
    return {**of, "verbs": list(verbs)}
