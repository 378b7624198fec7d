"""What EKS applies of its add-ons' objects in every version: where it is not there, a user has removed it.

Sources: the manifests of amazon-vpc-cni-k8s (config/master, v1.11.0 to v1.22.4), and of CoreDNS and kube-proxy as EKS
makes them. What a template has only in some versions, or only for some values, is not listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.named import Named
from kubectl_eksdoc.core.model.versions import Version, parse
from kubectl_eksdoc.core.plan.addon.expected import EKS, Expected, Update, Witness, leaves_of
from kubectl_eksdoc.core.plan.addon.fields import value_at
from kubectl_eksdoc.core.plan.addon.merging import MISSING
from kubectl_eksdoc.core.plan.addon.rendering import (
    AWS_NODE,
    CNI_ACCESS,
    CNI_MAP,
    COREDNS,
    COREFILE,
    DNS_ACCESS,
    KUBE_DNS,
    KUBE_PROXY,
)
from kubectl_eksdoc.core.rules.api.ownership.steps import field_step
from kubectl_eksdoc.core.rules.api.ownership.trees import Path
from kubectl_eksdoc.core.rules.api.schema import Schema

_AGENT_SINCE = Version(1, 14, 0)


def missing(of: Named, live: Doc, will: Expected, update: Update, schema: Schema) -> dict[Path, bool]:
    """Fields that EKS has applied, and that are empty or not there: a user has emptied or removed them, as nobody owns
    them any more, so they come back in every mode. With each whether it is certain that EKS applies it again."""
    if EKS not in will.owners:
        return {}
    found: dict[Path, bool] = {}
    for path in (*_emptied(live, will, schema), *leaves_of(standing(of, update.installed, update.agent), schema)):
        found[path] = False
    wanted = {path: value for part in update.after if part.of == of for path, value in _values(part.part, schema)}
    for part in (each for each in update.before if each.of == of):
        known_now = None if update.schema_now is None else update.schema_now.of(part.config) is not None
        for path, value in _values(part.part, schema):
            why = will.why.get(path)
            if why is Witness.VALUES and wanted.get(path) != value:
                found.pop(path, None)  # the call sets it on purpose
            elif path in wanted and (why is Witness.OWNED or known_now is not False):
                found[path] = why is Witness.OWNED or (known_now is True and why is not None)
    return {path: certain for path, certain in found.items() if _is_gone(live, path, schema)}


def _values(part: Doc, schema: Schema) -> Iterator[tuple[Path, object]]:
    return ((path, value_at(part, path, schema.root)) for path in leaves_of(part, schema))


def _emptied(live: Doc, will: Expected, schema: Schema) -> Iterator[Path]:
    """Values of environment variables whose entries EKS owns: ``kubectl set env NAME=`` leaves the name."""
    mine = will.owners[EKS]
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
    return value_at(live, path, schema.root) in (MISSING, None, "", {}, [])


def standing(of: Named, version: str, agent: bool) -> Doc:
    """The fields of that object that EKS applies with the add-on's `version`, whatever the values are, as a part of it;
    what stands in them varies. `agent`: the values leave vpc-cni's network policy agent on."""
    installed = parse(version)
    if of == AWS_NODE and agent and installed is not None and not installed < _AGENT_SINCE:
        return _aws_node({"name": "aws-eks-nodeagent", **_some("image")})
    return _STANDING.get(of, {})


def _aws_node(*beside: Doc) -> Doc:
    init = {"name": "aws-vpc-cni-init", **_some("image securityContext")}
    main = {
        "name": "aws-node",
        "env": _each("name", _VARIABLES, "value"),
        "volumeMounts": _each("mountPath", _MOUNTS, "name"),
        **_some("image livenessProbe readinessProbe resources securityContext"),
    }
    volumes = _each("name", "cni-bin-dir cni-net-dir log-dir run-dir xtables-lock", "hostPath")
    return _labelled(_OF_CNI, _pod([main, *beside], volumes, "hostNetwork", initContainers=[init]))


def _pod(containers: list[Doc], volumes: list[Doc], *fields: str, **more: object) -> Doc:
    always = _some("affinity priorityClassName serviceAccountName tolerations")
    pod = {"containers": containers, "volumes": volumes, **always, **dict.fromkeys(fields, ""), **more}
    return {"spec": {"template": {"spec": pod}}}


def _some(names: str) -> Doc:
    return dict.fromkeys(names.split(), "")


def _each(key: str, names: str, field: str) -> list[Doc]:
    return [{key: name, field: ""} for name in names.split()]


def _labelled(labels: str, part: Doc) -> Doc:
    return {"metadata": {"labels": _some(labels)}, **part}


_OF_CNI = "app.kubernetes.io/instance app.kubernetes.io/name app.kubernetes.io/version k8s-app"
_OF_DNS = "eks.amazonaws.com/component k8s-app"
_MOUNTS = "/host/etc/cni/net.d /host/opt/cni/bin /host/var/log/aws-routed-eni /run/xtables.lock /var/run/aws-node"
_VARIABLES = (
    "ADDITIONAL_ENI_TAGS AWS_VPC_CNI_NODE_PORT_SUPPORT AWS_VPC_ENI_MTU AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG "
    "AWS_VPC_K8S_CNI_EXTERNALSNAT AWS_VPC_K8S_CNI_LOGLEVEL AWS_VPC_K8S_CNI_LOG_FILE AWS_VPC_K8S_CNI_RANDOMIZESNAT "
    "AWS_VPC_K8S_CNI_VETHPREFIX AWS_VPC_K8S_PLUGIN_LOG_FILE AWS_VPC_K8S_PLUGIN_LOG_LEVEL DISABLE_INTROSPECTION "
    "DISABLE_METRICS DISABLE_NETWORK_RESOURCE_PROVISIONING ENABLE_IPv4 ENABLE_IPv6 ENABLE_POD_ENI "
    "ENABLE_PREFIX_DELEGATION WARM_ENI_TARGET WARM_PREFIX_TARGET"
)
_DNS = {
    "name": "coredns",
    "volumeMounts": _each("mountPath", "/etc/coredns", "name"),
    "securityContext": {"capabilities": {"add": [], "drop": []}, **_some("readOnlyRootFilesystem")},
    **_some("args image livenessProbe readinessProbe resources"),
}
_PROXY = {"name": "kube-proxy", **_some("command image resources securityContext")}


def _access(labels: str, account: Named, role: Named, binding: Named, of_role: str = "") -> dict[Named, Doc]:
    return {
        account: _labelled(labels, {}),
        role: _labelled(f"{labels} {of_role}", _some("rules")),
        binding: _labelled(labels, _some("roleRef subjects")),
    }


_STANDING: Mapping[Named, Doc] = {
    AWS_NODE: _aws_node(),
    CNI_MAP: _labelled(_OF_CNI, {"data": _some("enable-network-policy-controller enable-windows-ipam")}),
    **_access(_OF_CNI, *CNI_ACCESS),
    COREDNS: _labelled(_OF_DNS, _pod([_DNS], _each("name", "config-volume", "configMap"))),
    COREFILE: _labelled(_OF_DNS, {"data": _some("Corefile")}),
    **_access(_OF_DNS, *DNS_ACCESS, of_role="kubernetes.io/bootstrapping"),
    KUBE_DNS: {
        "metadata": {
            "labels": _some(f"{_OF_DNS} kubernetes.io/cluster-service kubernetes.io/name"),
            "annotations": _some("prometheus.io/port prometheus.io/scrape"),
        },
        "spec": {"ports": [{"port": 53, "protocol": each, "name": ""} for each in ("TCP", "UDP")]},
    },
    KUBE_PROXY: _pod([_PROXY], [], "hostNetwork"),
}
