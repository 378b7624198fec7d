"""Single objects of a cluster by their names, called as server-side apply calls them."""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.core.model.api_objects import Doc, at


@dataclass(frozen=True, slots=True, order=True)
class Named:
    """An object. `namespace` is "" for those of the cluster."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """``DaemonSet.apps aws-node``, ``ConfigMap coredns``: as in the message of a conflict."""
        group = self.api_version.rpartition("/")[0]
        return f"{self.kind}.{group} {self.name}" if group else f"{self.kind} {self.name}"


def named(doc: Doc) -> Named:
    """Whatever of it is missing is ""."""
    said = (doc.get("apiVersion"), doc.get("kind"), at(doc, "metadata", "namespace"), at(doc, "metadata", "name"))
    return Named(*(each if isinstance(each, str) else "" for each in said))
