"""The first incident: an update of vpc-cni, whose DaemonSet users had changed by hand."""

from __future__ import annotations

import json
from functools import cache

from kubectl_eksdoc.addon_diff.expected import EKS
from kubectl_eksdoc.addon_diff.fields import MISSING, value_at
from kubectl_eksdoc.addon_diff.manifests import addon_manifests, build_document
from kubectl_eksdoc.addon_diff.prediction import AddonVersionFacts
from kubectl_eksdoc.addon_diff.schema import SchemaPaths, read_schema
from kubectl_eksdoc.aws.addon_side import chart_defaults
from kubectl_eksdoc.kubernetes.api.types import schema_of
from kubectl_eksdoc.kubernetes.field_paths import field_step
from kubectl_eksdoc.kubernetes.managed_fields import read_entries, with_update
from kubectl_eksdoc.kubernetes.server_side_apply import AppliedDocument, apply, extract, merge
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, object_name
from kubectl_eksdoc.model.kinds import Unknown
from tests.raw_facts import DATA, recorded

AWS_NODE = ObjectName("apps/v1", "DaemonSet", "kube-system", "aws-node")
EARLY_DEMUX = ("init", "env", "DISABLE_TCP_EARLY_DEMUX")
POD_ENI = ("env", "ENABLE_POD_ENI")
NOW = "2026-11-22T09:00:00Z"
SCHEMA = schema_of("apps/v1", "DaemonSet")


def chart(version: str) -> Doc:
    found = chart_defaults("vpc-cni", f"{version}-eksbuild.1")
    assert not isinstance(found, Unknown)
    return found


@cache
def schema(version: str) -> SchemaPaths | Unknown:
    """The schema, as far as EKS's are published: none for v1.11.0, and only a quoted part for v1.12.6."""
    path = DATA / "aws" / "eks" / "schemas" / f"vpc-cni_{version}-eksbuild.1.json"
    return read_schema(json.loads(path.read_text())) if path.exists() else Unknown(f"no schema of {version}")


def version(of: str) -> AddonVersionFacts:
    return AddonVersionFacts(f"{of}-eksbuild.1", chart(of), schema(of))


CHART = chart("v1.12.0")


@cache
def rich() -> Doc:
    """aws-node of the cluster `rich`, with a volume and a variable that v1.12.0's manifest adds: EKS owns the names of
    the two entries, users own their values."""
    live = next(item for item in recorded("rich", "daemonsets") if item["metadata"]["name"] == "aws-node")
    lock = {"name": "xtables-lock", "mountPath": "/run/xtables.lock"}
    filter = {"name": "AWS_VPC_K8S_CNI_CONFIGURE_RPFILTER", "value": "false"}
    pod: Doc = {
        "containers": [{"name": "aws-node", "env": [filter], "volumeMounts": [lock]}],
        "volumes": [{"name": "xtables-lock", "hostPath": {"path": "/run/xtables.lock"}}],
    }
    mine = extract(live, read_entries(live)[EKS].fields, SCHEMA.root)
    whole = merge(merge({**_daemon_set({}), **mine}, _lacking(live), SCHEMA.root), _daemon_set(pod), SCHEMA.root)
    made = apply(live, whole, "eks", True, NOW, SCHEMA)
    assert isinstance(made, AppliedDocument)
    return made.doc


def _lacking(live: Doc) -> Doc:
    """Additional content of v1.12.0's manifest; EKS's schema of that version has no ``init``."""
    known = addon_manifests("vpc-cni", "v1.12.0", "v1.12.0", True)
    assert known is not None
    values = known.current.fields_of(object_name(live))
    there = {path: value_at(live, path, SCHEMA.root) for path in values}
    first = field_step("initContainers")
    return build_document({path: values[path] for path in values if there[path] == MISSING and first not in path})


@cache
def a_persons() -> Doc:
    """EKS applied the chart without ``init``, as it did up to v1.12.0; a user added the entry and owns all of it."""
    pod = json.loads(json.dumps(rich()["spec"]["template"]["spec"]))
    of_pod = [entry for entry in pod["containers"][0]["env"] if "valueFrom" in entry]
    set_by_chart = [{"name": name, "value": value} for name, value in CHART["env"].items()]
    pod["containers"][0]["env"] = [*set_by_chart, *of_pod]
    del pod["initContainers"][0]["env"]
    config = _daemon_set(pod)
    config["metadata"]["labels"] = rich()["metadata"]["labels"]
    config["spec"]["updateStrategy"] = rich()["spec"]["updateStrategy"]
    config["spec"]["template"]["metadata"] = {"labels": rich()["spec"]["template"]["metadata"]["labels"]}
    made = apply(None, config, "eks", True, NOW, SCHEMA)
    assert isinstance(made, AppliedDocument)
    return by_hand(
        by_hand(made.doc, "initContainers", 0, *EARLY_DEMUX[2:], "true"), "containers", 0, POD_ENI[1], "true"
    )


def _daemon_set(pod: Doc) -> Doc:
    meta = {"name": "aws-node", "namespace": "kube-system"}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": meta, "spec": {"template": {"spec": pod}}}


def by_hand(live: Doc, listed: str, at: int, name: str, value: str) -> Doc:
    """A user sets a variable, by ``kubectl patch``."""
    new: Doc = json.loads(json.dumps(live))
    container = new["spec"]["template"]["spec"][listed][at]
    entries = [entry for entry in container.get("env", ()) if entry["name"] != name]
    container["env"] = [*entries, {"name": name, "value": value}]
    return with_update(live, new, "kubectl-patch", NOW, SCHEMA)


RBAC = ("ClusterRole", "ClusterRoleBinding")


def applied(addon: str, of: str, kind: str = "", name: str = "", api_version: str = "v1") -> Doc:
    """An object, by default the workload, as EKS would write it if it applied the public manifest of that version."""
    known = addon_manifests(addon, of, of, True)
    assert known is not None
    name = name or ("aws-node" if addon == "vpc-cni" else addon)
    version_of = api_version if kind else "apps/v1"
    kind = kind or ("Deployment" if addon == "coredns" else "DaemonSet")
    doc = build_document(known.current.objects[f"{kind} {name}"])
    meta = {**doc["metadata"], "name": name, **({} if kind in RBAC else {"namespace": "kube-system"})}
    schema = schema_of(version_of, kind)
    made = apply(None, {"apiVersion": version_of, "kind": kind, **doc, "metadata": meta}, "eks", True, NOW, schema)
    assert isinstance(made, AppliedDocument)
    return made.doc


@cache
def beside(of: str) -> tuple[Doc, ...]:
    """The objects that EKS applies for that version of vpc-cni besides the DaemonSet."""
    account = applied("vpc-cni", of, "ServiceAccount", "aws-node")
    return account, *(applied("vpc-cni", of, kind, "aws-node", "rbac.authorization.k8s.io/v1") for kind in RBAC)
