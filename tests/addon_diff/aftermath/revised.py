"""A DaemonSet and its ControllerRevisions, created as its controller creates them, one pod template after another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

from kubectl_eksdoc.model.api_objects import Doc

START = datetime(2026, 11, 20, 8, 0, 0, tzinfo=timezone.utc)
META = {"name": "aws-node", "namespace": "kube-system", "uid": "uid-ds"}


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def written(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def template(image: str = "v1", init: dict[str, str] | None = None, **env: str) -> Doc:
    """A template with the containers of aws-node; `env` is the main container's, `init` the init container's."""
    main = {"name": "aws-node", "image": f"r/amazon-k8s-cni:{image}", "env": _env(env)}
    first = {"name": "aws-vpc-cni-init", "image": f"r/amazon-k8s-cni-init:{image}", "env": _env(init or {})}
    return {"metadata": {"labels": {"k8s-app": "aws-node"}}, "spec": {"containers": [main], "initContainers": [first]}}


def _env(said: dict[str, str]) -> list[Doc]:
    return [{"name": name, "value": value} for name, value in said.items()]


def daemon_set(now: Doc, **more: Any) -> Doc:
    """A DaemonSet with the chart's update strategy; `more` is added to its metadata."""
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {**META, **more},
        "spec": {"template": now, "updateStrategy": rolling},
        "status": {"desiredNumberScheduled": 3},
    }


@dataclass
class Controller:
    """Mutable. Keep a revision for each template, reuse that of an equal template, and count. `notes_times`: in
    managedFields, which a dump may lack."""

    notes_times: bool = True
    docs: list[Doc] = field(default_factory=list)
    count: int = 0

    def sees(self, now: Doc, moment: datetime) -> None:
        said = {**now, "$patch": "replace", "metadata": {**now["metadata"], "creationTimestamp": None}}
        same = [doc for doc in self.docs if doc["data"]["spec"]["template"] == said]
        if same and same[0]["revision"] == self.count:
            return
        self.count += 1
        if same:
            same[0]["revision"] = self.count
        else:
            self.docs.append(self._made(said, moment))
        if self.notes_times:
            doc = same[0] if same else self.docs[-1]
            entry = {"manager": "kube-controller-manager", "operation": "Update", "apiVersion": "apps/v1"}
            fields = {"fieldsType": "FieldsV1", "fieldsV1": {"f:revision": {}}}
            doc["metadata"]["managedFields"] = [{**entry, **fields, "time": written(moment)}]

    def _made(self, said: Doc, moment: datetime) -> Doc:
        name = f"h{len(self.docs)}"
        owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": META["name"], "uid": META["uid"]}
        meta: Doc = {"name": f"aws-node-{name}", "namespace": "kube-system", "creationTimestamp": written(moment)}
        meta |= {"labels": {"controller-revision-hash": name}, "ownerReferences": [{**owner, "controller": True}]}
        body = {"data": {"spec": {"template": said}}, "revision": self.count, "metadata": meta}
        return {"apiVersion": "apps/v1", "kind": "ControllerRevision", **body}


def lived(story: Iterable[tuple[float, Doc]], notes_times: bool = True) -> list[Doc]:
    """The revisions after templates that were applied at so many seconds after `START`."""
    controller = Controller(notes_times)
    for seconds, now in story:
        controller.sees(now, at(seconds))
    return controller.docs
