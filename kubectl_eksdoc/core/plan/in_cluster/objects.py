"""All objects of an errand, in the order in which they are created: what runs comes last."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.permissions import Permission
from kubectl_eksdoc.core.model.placing import PLACED
from kubectl_eksdoc.core.plan.in_cluster.errand import Errand
from kubectl_eksdoc.core.plan.in_cluster.granting import granted
from kubectl_eksdoc.core.plan.in_cluster.jobs import When, cron_job, job
from kubectl_eksdoc.core.plan.in_cluster.places import Avoided
from kubectl_eksdoc.core.plan.in_cluster.pods import template

LARGEST = 1 << 20
"""Bytes that all values of a ConfigMap may have together (MaxSecretSize, pkg/apis/core/validation)."""

KINDS = tuple(each.full_name for each in reversed(PLACED))
"""As kubectl names them, in the order in which they are taken away."""


def objects(
    errand: Errand, permissions: Sequence[Permission], avoid: Avoided = Avoided(), when: When | None = None
) -> tuple[Doc, ...]:
    """`when` None: at once, and once."""
    pod = template(errand, avoid)
    runs = job(errand, pod) if when is None else cron_job(errand, pod, when)
    return (*granted(errand, permissions), *_files(errand), runs)


def _files(errand: Errand) -> tuple[Doc, ...]:
    """Nobody changes them while it runs."""
    if not errand.files:
        return ()
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    return ({**kind, "metadata": errand.metadata(), "immutable": True, "binaryData": dict(errand.files)},)
