"""Objects with secrets in every place where a cluster keeps some."""

from __future__ import annotations

import base64
import copy
import gzip
import json
from collections.abc import Mapping
from typing import Any, Protocol


class Plants(Protocol):
    """Hands out secrets, as `Planted`."""

    def any(self) -> str: ...

    def known(self) -> str: ...

    def label(self, number: int) -> str: ...

    def of_route53(self) -> str: ...


def in_pod(spec: dict[str, Any], of: Plants) -> None:
    for container in (*spec.get("containers", ()), *spec.get("initContainers", ())):
        container["env"] = [*container.get("env", ()), *({"name": f"V{i}", "value": of.any()} for i in range(3))]
        container["args"] = [*container.get("args", ()), f"--password={of.any()}", f"-p{of.any()}", of.any()]
        headers = [{"name": "Authorization", "value": of.any()}]
        container["startupProbe"] = {
            "httpGet": {"path": f"/{of.any()}?k={of.any()}", "port": 1, "httpHeaders": headers}
        }
        container["lifecycle"] = {"postStart": {"exec": {"command": ["curl", "-u", of.any()]}}}
    attributes = {"password": of.any()}
    spec["volumes"] = [*spec.get("volumes", ()), {"name": "x", "csi": {"driver": "d", "volumeAttributes": attributes}}]
    spec["volumes"].append({"name": "y", "flexVolume": {"driver": "d", "options": {"token": of.any()}}})


def planted(doc: Mapping[str, Any], of: Plants) -> dict[str, Any]:
    doc = copy.deepcopy(dict(doc))
    notes = doc["metadata"].setdefault("annotations", {})
    notes["example.com/token"] = of.any()
    doc["metadata"].setdefault("labels", {})["made-by"] = of.label(len(notes))
    notes["kubectl.kubernetes.io/last-applied-configuration"] = json.dumps({"spec": {"password": of.any()}})
    if doc["kind"] == "Pod":
        in_pod(doc["spec"], of)
        for status in doc.get("status", {}).get("containerStatuses", ()):
            status["lastState"] = {"terminated": {"exitCode": 1, "reason": "Error", "message": of.any()}}
    template = (doc.get("spec") or {}).get("template") if doc["kind"] != "NodePool" else None
    if isinstance(template, dict) and isinstance(template.get("spec"), dict):
        in_pod(template["spec"], of)
        template.setdefault("metadata", {}).setdefault("annotations", {})["token"] = of.any()
    if doc["kind"] == "ConfigMap":
        doc.setdefault("data", {})["password"] = of.any()
        if "Corefile" in doc["data"]:
            keys = f"aws_access_key {of.of_route53()}"
            doc["data"]["Corefile"] += (
                f"\nexample.org {{\n  route53 example.org.:Z1 {{\n    {keys}\n  }}\n}}\n# {of.known()}"
            )
    if doc["kind"] == "VolumeAttachment":
        inline = {"csi": {"driver": "d", "volumeHandle": "h", "volumeAttributes": {"password": of.any()}}}
        doc["spec"]["source"] = {"inlineVolumeSpec": {"accessModes": [], **inline}}
    if doc["kind"] == "EC2NodeClass":
        doc["spec"]["userData"] = of.any()
    if doc["kind"] == "PersistentVolume":
        doc["spec"]["csi"] = {"driver": "d", "volumeHandle": "h", "volumeAttributes": {"password": of.any()}}
    return doc


def helm_secret(of: Plants) -> dict[str, Any]:
    manifest = f"apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata: {{name: a}}\n# {of.any()}\n"
    held = {"name": "web", "namespace": "default", "version": 1, "manifest": manifest, "hooks": []}
    held |= {"config": {"password": of.any()}, "info": {"status": "deployed", "notes": of.any()}}
    packed = base64.b64encode(base64.b64encode(gzip.compress(json.dumps(held).encode()))).decode()
    labels = {"owner": "helm", "name": "web", "version": "1", "status": "deployed"}
    meta = {"name": "sh.helm.release.v1.web.v1", "namespace": "default", "labels": labels}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "helm.sh/release.v1",
        "metadata": meta,
        "data": {"release": packed},
    }


def plain_secret(of: Plants) -> dict[str, Any]:
    data = {"password": base64.b64encode(of.any().encode()).decode()}
    meta = {"name": "db", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": meta, "data": data}
