"""What EKS calls unhealthy in a cluster, a node group or an add-on. Source of the shapes: botocore 1.44.5,
eks/2017-11-01."""

from __future__ import annotations

from kubectl_eksdoc.aws.asking import Json, parts, text, texts
from kubectl_eksdoc.core.model.aws.addons import Issue
from kubectl_eksdoc.core.rules.keeping.secrets import hidden


def issues(said: Json) -> tuple[Issue, ...]:
    """Of what was described.

    Raises:
        TypeError: they are none.
    """
    found = parts(said.get("health") or {}, "issues")
    return tuple(issue(each, "code", "message") for each in found)


def issue(said: Json, code: str, message: str) -> Issue:
    """By the names of its fields. EKS repeats what an API server said, and that repeats values: none that looks like a
    secret is taken."""
    return Issue(text(said, code), hidden(text(said, message)), texts(said, "resourceIds"))
