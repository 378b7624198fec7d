"""Users of the API that 1.34 does not serve: a policy webhook that requests it, and objects that were written in it.

`tools.demo.aws.insights` has the same client.
"""

from __future__ import annotations

import base64
import json

from tools.demo.meta import Json, ago, an_object

_GROUP = "admissionregistration.k8s.io"
_OLD, _NOW = f"{_GROUP}/v1beta1", f"{_GROUP}/v1"
_POLICY, _BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
_CLIENT, _NAMESPACE, _OWNERS = "policy-webhook", "policy", "require-owner"
_AGE = 61_000

METRICS = (
    "# HELP apiserver_requested_deprecated_apis [STABLE] Gauge of deprecated APIs that have been requested, broken out "
    "by API group, version, resource, subresource, and removed_release.\n"
    "# TYPE apiserver_requested_deprecated_apis gauge\n"
    f'apiserver_requested_deprecated_apis{{group="{_GROUP}",removed_release="1.34",'
    'resource="validatingadmissionpolicies",subresource="",version="v1beta1"} 1\n'
)
"""The request metrics of the API server, as in the answer to ``/metrics``."""


def old_apis() -> list[Json]:
    """A policy that was applied by hand, two objects of a chart's policy, and the Helm release of that chart."""
    return [_applied("no-host-path"), _of_chart(_POLICY), _of_chart(_BINDING), _release()]


def _applied(name: str) -> Json:
    by_hand: Json = {"apiVersion": _OLD, "kind": _POLICY, "metadata": {"annotations": {}, "name": name}, "spec": _SPEC}
    last = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(by_hand, separators=(",", ":")) + "\n"}
    made = an_object(_NOW, _POLICY, name, age=_AGE, annotations=last, spec=_SPEC)
    made["metadata"]["managedFields"] = [_wrote("kubectl-client-side-apply", _AGE)]
    return made


def _of_chart(kind: str) -> Json:
    """The client writes the binding again by itself; the API server counts these requests."""
    labels = {"app.kubernetes.io/managed-by": "Helm"}
    noted = {"meta.helm.sh/release-name": _CLIENT, "meta.helm.sh/release-namespace": _NAMESPACE}
    spec = _SPEC if kind == _POLICY else {"policyName": _OWNERS, "validationActions": ["Deny"]}
    made = an_object(_NOW, kind, _OWNERS, age=_AGE, labels=labels, annotations=noted, spec=spec)
    entries = [_wrote("helm", _AGE), *([_wrote(_CLIENT, 47)] if kind == _BINDING else [])]
    made["metadata"]["managedFields"] = entries
    return made


def _wrote(manager: str, minutes: int) -> Json:
    entry: Json = {"apiVersion": _OLD, "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}}
    return {**entry, "manager": manager, "operation": "Update", "time": ago(minutes)}


_SPEC: Json = {
    "failurePolicy": "Fail",
    "matchConstraints": {
        "resourceRules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]},
        ]
    },
    "validations": [{"expression": "has(object.metadata.labels.owner)"}],
}

_MANIFEST = f"""\
---
# Source: policy-webhook/templates/policy.yaml
apiVersion: {_OLD}
kind: {_POLICY}
metadata:
  name: {_OWNERS}
---
# Source: policy-webhook/templates/policy.yaml
apiVersion: {_OLD}
kind: {_BINDING}
metadata:
  name: {_OWNERS}
---
# Source: policy-webhook/templates/webhook.yaml
apiVersion: {_NOW}
kind: ValidatingWebhookConfiguration
metadata:
  name: {_CLIENT}
"""


def _release() -> Json:
    said: Json = {"name": _CLIENT, "namespace": _NAMESPACE, "version": 4, "info": {"status": "deployed"}}
    said |= {"chart": {"metadata": {"name": _CLIENT, "version": "0.9.4"}}, "manifest": _MANIFEST}
    # Helm also reads releases that are not compressed, and their bytes are the same on every machine.
    packed = base64.b64encode(json.dumps(said).encode())
    labels = {"name": _CLIENT, "owner": "helm", "status": "deployed", "version": "4"}
    name, data = f"sh.helm.release.v1.{_CLIENT}.v4", {"release": base64.b64encode(packed).decode()}
    body: Json = {"type": "helm.sh/release.v1", "data": data}
    return an_object("v1", "Secret", name, _NAMESPACE, age=_AGE, labels=labels, **body)
