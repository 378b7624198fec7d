"""What is to run inside a cluster, and by which names and labels all that it is made of is found again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.own_labels import (
    COMPONENT,
    INSTANCE,
    MANAGED_BY,
    MANAGER,
    NAME,
    OF_NAMESPACE,
    PROGRAM,
    VERSION,
)

_TELLING = (MANAGED_BY, COMPONENT, INSTANCE, OF_NAMESPACE)
FOLDER = "/etc/eksdoc"
"""Where the files of an errand are mounted."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """Other clusters: each has its kubeconfig under one of the `keys` of a Secret in the errand's namespace."""

    secret: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Errand:
    """`args`: of the command line, without the program. `files`: contents in base64 by their names. `final`: exit codes
    after which it is not tried again. `role`: the ARN of an IAM role (IRSA), "" for none. `fleet`: None where it is
    about the cluster in which it runs."""

    name: str
    component: str
    instance: str
    namespace: str
    image: str
    version: str
    args: tuple[str, ...]
    final: tuple[int, ...]
    role: str = ""
    region: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    fleet: Fleet | None = None

    @property
    def labels(self) -> Doc:
        return {
            NAME: PROGRAM,
            INSTANCE: self.instance,
            VERSION: self.version,
            COMPONENT: self.component,
            MANAGED_BY: MANAGER,
            OF_NAMESPACE: self.namespace,
        }

    @property
    def selector(self) -> str:
        """By which everything that it is made of is found, and nothing else."""
        return ",".join(f"{key}={self.labels[key]}" for key in _TELLING)

    def metadata(self, annotations: Doc | None = None) -> Doc:
        more = {"annotations": annotations} if annotations else {}
        return {"name": self.name, "namespace": self.namespace, "labels": self.labels, **more}

    def role_metadata(self, namespace: str) -> Doc:
        """Of a role and its binding there, "" for everywhere. Errands of one name in several namespaces do not share
        them, and `permissions` prints none of that name."""
        where = {"namespace": namespace} if namespace else {}
        return {"name": f"{self.name}.{self.namespace}", **where, "labels": self.labels}


def is_ours(doc: Doc, errand: Errand) -> bool:
    """Whether an object of that name was made for this very errand."""
    meta = doc.get("metadata")
    labels = meta.get("labels") if isinstance(meta, dict) else None
    wanted = errand.labels
    return isinstance(labels, dict) and all(labels.get(key) == wanted[key] for key in _TELLING)
