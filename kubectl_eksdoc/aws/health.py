"""What EKS calls unhealthy in a cluster, a node group or an add-on. Source of the shapes: botocore 1.44.5,
eks/2017-11-01."""

from __future__ import annotations

from kubectl_eksdoc.aws.asking import Json, parts, text, texts
from kubectl_eksdoc.core.model.aws.addons import Issue


def issues(said: Json) -> tuple[Issue, ...]:
    """Of what was described.

    Raises:
        TypeError: they are none.
    """
    found = parts(said.get("health") or {}, "issues")
    return tuple(Issue(text(each, "code"), text(each, "message"), texts(each, "resourceIds")) for each in found)
