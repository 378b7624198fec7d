"""What EKS applies of its add-ons' objects in every version: where it is not there, a user has removed it.

Sources: the manifests of amazon-vpc-cni-k8s (config/master, v1.11.0 to v1.22.4), and of CoreDNS and kube-proxy as EKS
makes them. What a template has only in some versions, or only for some values, is not listed.

Whose the objects are that EKS has applied: of which add-on, by their names and labels.

Sources: public dumps of EKS clusters (labels of add-ons); EKS user guide, "Amazon EKS created Kubernetes roles and
users" (names that begin with ``eks:``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from kubectl_eksdoc.addon_diff.expected import (
    EKS,
    EMPTY,
    ExpectedApply,
    ExpectedConfig,
    Witness,
    applies,
    config_of,
    leaves_of,
)
from kubectl_eksdoc.addon_diff.fields import value_at
from kubectl_eksdoc.addon_diff.manifests import (
    AWS_NODE,
    CNI_ACCESS,
    CNI_MAP,
    COREDNS,
    COREFILE,
    DNS_ACCESS,
    DNS_BUDGET,
    KUBE_DNS,
    KUBE_PROXY,
    objects_of,
)
from kubectl_eksdoc.addon_diff.merging import MISSING, MissingValue
from kubectl_eksdoc.amazon.addon_needs import KNOWN
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.types import Schema, schema_of
from kubectl_eksdoc.kubernetes.ownership.applying import merged
from kubectl_eksdoc.kubernetes.ownership.comparing import NONE, FieldSet, Path
from kubectl_eksdoc.kubernetes.ownership.steps import field_step
from kubectl_eksdoc.model.api_objects import AppliedObjects, Doc, ObjectName
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.quantities import Version, parse


def missing(of: ObjectName, live: Doc, will: ExpectedConfig, update: ExpectedApply, schema: Schema) -> dict[Path, bool]:
    """Fields that EKS has applied, and that are empty or not there: a user has emptied or removed them, as nobody owns
    them any more, so they come back in every mode. With each whether it is certain that EKS applies it again."""
    now, target = ({}, {}) if update.manifests is not None and update.manifests.far else update.values_of(of)
    if not applies(will.owners):  # EKS may own nothing any more of what it applies
        absent = (path for path in target if target[path] not in EMPTY and _is_gone(live, path, schema))
        return {path: False for path in absent if path[-1][2:] not in _DEFAULTED.split()}
    standing_now = () if target else leaves_of(standing(of, update.installed, update.agent), schema)
    found: dict[Path, bool] = dict.fromkeys((*_emptied(live, will, schema), *standing_now), False)
    if target:
        found = {path: False for path in found if path in target}
        sure = will.why.get
        found |= {
            path: path not in will.may_lack and sure(path) is not Witness.VALUES
            for path in now
            if target.get(path) not in EMPTY
            and path[-1][2:] not in _DEFAULTED.split()
            and not _was_not_allowed(path, of, update, schema)
        }
    wanted = {path: value for part in update.after if part.of == of for path, value in _values(part.part, schema)}
    for part in (each for each in update.before if each.of == of):
        known_now = None if update.schema_now is None else update.schema_now.of(part.config) is not None
        for path, value in _values(part.part, schema):
            why = will.why.get(path)
            if why is Witness.VALUES and wanted.get(path) != value:
                found.pop(path, None)  # the call sets it on purpose
            elif path in wanted and (why is Witness.OWNED or known_now is not False):
                found[path] = why is Witness.OWNED or (known_now is True and why is not None)
    mine = will.owners.get(EKS, NONE)
    gone = {path: certain for path, certain in found.items() if _is_gone(live, path, schema)}
    others = [fields for owner, fields in will.owners.items() if owner != EKS]
    return {
        path: certain
        for path, certain in gone.items()
        if not _is_instead(path, mine) and not (_stands(live, path, schema) and any(path in each for each in others))
    }


def _values(part: Doc, schema: Schema) -> Iterator[tuple[Path, object]]:
    return ((path, value_at(part, path, schema.root)) for path in leaves_of(part, schema))


def _emptied(live: Doc, will: ExpectedConfig, schema: Schema) -> Iterator[Path]:
    """Values of environment variables whose entries EKS owns: ``kubectl set env NAME=`` leaves the name."""
    mine = will.owners.get(EKS, NONE)
    for path in mine:
        value = (*path, field_step("value"))
        if path[-2:-1] == (field_step("env"),) and value not in mine:
            yield value


def _is_gone(live: Doc, path: Path, schema: Schema) -> bool:
    if (
        path[-1] == field_step("value")
        and value_at(live, (*path[:-1], field_step("valueFrom")), schema.root) != MISSING
    ):
        return False
    return value_at(live, path, schema.root) in EMPTY


_DEFAULTED = (
    "defaultMode dnsPolicy failureThreshold imagePullPolicy internalTrafficPolicy ipFamilies ipFamilyPolicy "
    "maxSurge maxUnavailable periodSeconds progressDeadlineSeconds protocol replicas restartPolicy "
    "revisionHistoryLimit schedulerName scheme selector serviceAccount sessionAffinity successThreshold "
    "targetPort terminationGracePeriodSeconds terminationMessagePath terminationMessagePolicy timeoutSeconds "
    "type"
)
"""The API server gives these a value where they are removed, or refuses to remove them: they are never missing."""


def _was_not_allowed(path: Path, of: ObjectName, update: ExpectedApply, schema: Schema) -> bool:
    """Today's schema has no such value: EKS's chart of that version has not, either."""
    config = config_of(update.addon, of, path, schema)
    return bool(config) and update.schema_now is not None and update.schema_now.of(config) is None


def _stands(live: Doc, path: Path, schema: Schema) -> bool:
    return not isinstance(value_at(live, path, schema.root), MissingValue)


_PROBES = tuple(map(field_step, ("exec", "grpc", "httpGet", "tcpSocket")))


def _is_instead(path: Path, mine: FieldSet) -> bool:
    """A probe for which EKS itself applies another kind of question."""
    at = next((at for at, step in enumerate(path) if step in _PROBES), 0)
    others = [each for each in mine if at and each[:at] == path[:at] and len(each) > at]
    return any(each[at] in _PROBES and each[at] != path[at] for each in others)


def standing(of: ObjectName, version: str, agent: bool) -> Doc:
    """The fields of that object that EKS applies with the add-on's `version`, whatever the values are, as a part of it;
    what stands in them varies. `agent`: the values leave vpc-cni's network policy agent on."""
    installed = parse(version)
    whole: Doc = {}
    for since, part in _STANDING.get(of, ()):
        known = since is None or (installed is not None and not installed < since)
        if known and (agent or all(part is not each for each in _WITH_AGENT)):
            whole = merged(whole, part, schema_of(of.api_version, of.kind).root)
    return whole


def _pod(containers: list[Doc], volumes: list[Doc], fields: str = "", **more: object) -> Doc:
    pod = {**_some(fields), **more, "containers": containers, "volumes": volumes}
    return {"spec": {"template": {"spec": {key: each for key, each in pod.items() if each != []}}}}


def _some(paths: str) -> Doc:
    """``a.b c`` as ``{"a": {"b": ""}, "c": ""}``."""
    found: Doc = {}
    for path in paths.split():
        *above, last = path.split(".")
        at = found
        for key in above:
            at = at.setdefault(key, {})
        at[last] = ""
    return found


def _each(key: str, names: str, fields: str) -> list[Doc]:
    return [{key: name, **_some(fields)} for name in names.split()]


def _container(name: str, fields: str, mounts: str, *ports: tuple[int, str], **more: object) -> Doc:
    mounted = [{"mountPath": path, "name": ""} for path in mounts.split()]
    opened = [{"containerPort": number, "protocol": protocol, "name": ""} for number, protocol in ports]
    found = {"name": name, **_some(f"image {fields}"), "volumeMounts": mounted, "ports": opened, **more}
    return {key: each for key, each in found.items() if each != []}


def _labelled(labels: str, part: Doc) -> Doc:
    return {**part, "metadata": {"labels": dict.fromkeys(labels.split(), "")}}


def _both_labelled(labels: str, of_pods: str, part: Doc) -> Doc:
    template = _labelled(of_pods, part["spec"]["template"])
    return _labelled(labels, {**part, "spec": {**part["spec"], "template": template}})


_OF_CNI = "app.kubernetes.io/instance app.kubernetes.io/name app.kubernetes.io/version k8s-app"
_OF_EKS = "eks.amazonaws.com/component k8s-app"
_OF_POD = (
    "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution priorityClassName serviceAccountName "
    "tolerations"
)
_VARIABLES = (
    "ADDITIONAL_ENI_TAGS AWS_VPC_CNI_NODE_PORT_SUPPORT AWS_VPC_ENI_MTU AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG "
    "AWS_VPC_K8S_CNI_EXTERNALSNAT AWS_VPC_K8S_CNI_LOGLEVEL AWS_VPC_K8S_CNI_LOG_FILE AWS_VPC_K8S_CNI_RANDOMIZESNAT "
    "AWS_VPC_K8S_CNI_VETHPREFIX AWS_VPC_K8S_PLUGIN_LOG_FILE AWS_VPC_K8S_PLUGIN_LOG_LEVEL DISABLE_INTROSPECTION "
    "DISABLE_METRICS DISABLE_NETWORK_RESOURCE_PROVISIONING ENABLE_IPv4 ENABLE_IPv6 ENABLE_POD_ENI "
    "ENABLE_PREFIX_DELEGATION WARM_ENI_TARGET WARM_PREFIX_TARGET"
)
_NODE_NAME = _each("name", "MY_NODE_NAME", "valueFrom.fieldRef")
_AWS_NODE = _pod(
    [
        _container(
            "aws-node",
            "livenessProbe.exec.command livenessProbe.initialDelaySeconds readinessProbe.exec.command "
            "readinessProbe.initialDelaySeconds resources.requests.cpu securityContext.capabilities.add",
            "/host/etc/cni/net.d /host/opt/cni/bin /host/var/log/aws-routed-eni /run/xtables.lock /var/run/aws-node",
            (61678, "TCP"),
            env=[*_each("name", _VARIABLES, "value"), *_NODE_NAME],
        )
    ],
    _each("name", "cni-bin-dir cni-net-dir log-dir run-dir xtables-lock", "hostPath.path"),
    f"{_OF_POD} hostNetwork",
    initContainers=[_container("aws-vpc-cni-init", "securityContext.privileged", "/host/opt/cni/bin")],
)
_AGENT = "aws-eks-nodeagent"
_WITH_AGENT = (
    _pod(
        [
            _container(
                _AGENT,
                "args resources.requests.cpu securityContext.capabilities.add securityContext.privileged",
                "/host/opt/cni/bin /sys/fs/bpf /var/log/aws-routed-eni /var/run/aws-node",
                env=_NODE_NAME,
            )
        ],
        _each("name", "bpf-pin-path", "hostPath.path"),
    ),
    _pod([{"name": _AGENT, "ports": [{"containerPort": 8162, "protocol": "TCP", "name": ""}]}], []),
)
_NEWER_AWS_NODE = _pod(
    [
        {
            "name": "aws-node",
            "env": [*_each("name", "VPC_CNI_VERSION", "value"), *_each("name", "MY_POD_NAME", "valueFrom.fieldRef")],
        }
    ],
    [],
    initContainers=[{"name": "aws-vpc-cni-init", **_some("resources.requests.cpu")}],
)
_COREDNS = _pod(
    [
        _container(
            "coredns",
            "args livenessProbe.httpGet.path livenessProbe.httpGet.port livenessProbe.initialDelaySeconds "
            "readinessProbe.httpGet.path readinessProbe.httpGet.port resources.limits.memory resources.requests.cpu "
            "resources.requests.memory securityContext.allowPrivilegeEscalation securityContext.capabilities.add "
            "securityContext.capabilities.drop securityContext.readOnlyRootFilesystem",
            "",
            *((53, "UDP"), (53, "TCP"), (9153, "TCP")),
            volumeMounts=_each("mountPath", "/etc/coredns", "name readOnly"),
        )
    ],
    _each("name", "config-volume", "configMap.items configMap.name"),
    f"{_OF_POD} affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution",
)
_SPREAD = {
    "topologyKey": "topology.kubernetes.io/zone",
    "whenUnsatisfiable": "ScheduleAnyway",
    **_some("labelSelector maxSkew"),
}
_KUBE_DNS = {
    "metadata": {"annotations": dict.fromkeys(("prometheus.io/port", "prometheus.io/scrape"), "")},
    "spec": {"ports": [{"port": 53, "protocol": each, "name": ""} for each in ("TCP", "UDP")], "selector": ""},
}
_PROXY = _pod(
    [_container("kube-proxy", "command resources.requests.cpu securityContext.privileged", "")],
    [],
    f"{_OF_POD} hostNetwork",
)


_Parts = tuple[tuple[Version | None, Doc], ...]


def _access(
    labels: str, account: ObjectName, role: ObjectName, binding: ObjectName, of_role: str = ""
) -> dict[ObjectName, _Parts]:
    return {
        account: ((None, _labelled(labels, {})),),
        role: ((None, _labelled(f"{labels} {of_role}", _some("rules"))),),
        binding: ((None, _labelled(labels, _some("roleRef subjects"))),),
    }


_STANDING: Mapping[ObjectName, _Parts] = {
    AWS_NODE: (
        (None, _both_labelled(_OF_CNI, _OF_CNI.replace("app.kubernetes.io/version ", ""), _AWS_NODE)),
        (Version(1, 14, 0), _WITH_AGENT[0]),
        (Version(1, 19, 4), _WITH_AGENT[1]),
        (Version(1, 15, 1), _NEWER_AWS_NODE),
    ),
    CNI_MAP: (
        (None, _labelled(_OF_CNI, _some("data.enable-network-policy-controller data.enable-windows-ipam"))),
        (
            Version(1, 18, 6),
            _some(
                "data.branch-eni-cooldown data.enable-windows-prefix-delegation data.minimum-ip-target "
                "data.warm-ip-target data.warm-prefix-target"
            ),
        ),
    ),
    **_access(_OF_CNI, *CNI_ACCESS),
    COREDNS: (
        (None, _both_labelled(f"{_OF_EKS} kubernetes.io/name", _OF_EKS, _COREDNS)),
        (Version(1, 13, 2), _pod([], [], topologySpreadConstraints=[_SPREAD])),
    ),
    DNS_BUDGET: ((Version(1, 11, 0), _some("spec.maxUnavailable")),),
    COREFILE: ((None, _labelled(_OF_EKS, _some("data.Corefile"))),),
    **_access(_OF_EKS, *DNS_ACCESS, of_role="kubernetes.io/bootstrapping"),
    KUBE_DNS: (
        (None, _KUBE_DNS),
        (None, _labelled(f"{_OF_EKS} kubernetes.io/cluster-service kubernetes.io/name", {})),
        (Version(1, 11, 4), {"spec": {"ports": [{"port": 9153, "protocol": "TCP", "name": ""}]}}),
    ),
    KUBE_PROXY: ((None, _PROXY),),
}
"""Each part with the version since when it is known to be there, None for ever."""


@frozen
class ObjectSearch:
    """What a search over all kinds has found. `more`: objects of the add-on that no manifest known here has. `whose`:
    objects that EKS has applied, and nothing tells for which add-on. `unlisted`: by resource or group, as RBAC names
    it, where it could not look."""

    more: tuple[ObjectName, ...] = ()
    whose: tuple[ObjectName, ...] = ()
    unlisted: Mapping[str, Unknown] = field(default_factory=dict)


EVERY_KIND = "objects of all kinds"


def searched(parts: Iterable[AppliedObjects | Unknown], addon: str, known: Iterable[ObjectName]) -> ObjectSearch:
    """`known`: the add-on's objects by its manifests."""
    whole = tuple(parts)
    found = tuple(each for each in whole if isinstance(each, AppliedObjects))
    labels = {of: told for each in found for of, told in each.labels.items()}
    of = _addons(labels)
    stripped = {name for each in found for name in each.stripped}
    mine = {each for each, names in of.items() if addon in names}
    nobodys = {each for each, names in of.items() if not names and each not in stripped}
    seen = {(each.kind, each.namespace, each.name) for each in known}
    more = (each for each in mine if (each.kind, each.namespace, each.name) not in seen)
    unlisted = {kind: why for each in found for kind, why in each.unlisted.items()}
    unlisted.update((EVERY_KIND, each) for each in whole if isinstance(each, Unknown))
    return ObjectSearch(tuple(sorted(more)), tuple(sorted(nobodys)), unlisted)


def _addons(found: Mapping[ObjectName, Mapping[str, str]]) -> dict[ObjectName, frozenset[str]]:
    """Of each those it may be of, or other software, whose objects have such a name, or a label in common with one that
    has; EKS's own are of "eks"."""
    by_name = {of: frozenset(each.name for each in KNOWN if of in objects_of(each.name)) for of in found}
    by_label: dict[tuple[str, str], set[str]] = {}
    for software in KNOWN:
        for label in software.labels:
            by_label.setdefault(label, set()).add(software.name)
    for of, names in by_name.items():
        for label in found[of].items():
            by_label.setdefault(label, set()).update(names)

    def told(of: ObjectName) -> frozenset[str]:
        words = {_plain(re.sub(r"-v?[0-9]+\..*", "", value)) for value in found[of].values()}
        names = {each.name for each in KNOWN if _plain(each.name) in words}
        names |= {name for label in found[of].items() for name in by_label.get(label, ())}
        return frozenset(names or ({"eks"} if of.name.startswith("eks:") else ()))

    return {of: names or told(of) for of, names in by_name.items()}


def _plain(name: str) -> str:
    """``aws-vpc-cni`` → ``vpc-cni``."""
    return re.sub(r"^(aws|amazon|eks)-", "", name)
