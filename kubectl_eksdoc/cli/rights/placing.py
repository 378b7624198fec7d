"""The rights of ``--in-cluster --apply``: to create its objects, and to have whatever these give.

Source: Kubernetes, RBAC, "Privilege escalation prevention and bootstrapping": who creates a role must have its rights
already in the same scope, or the verb escalate; and who creates a binding those of its role, or the verb bind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from kubectl_eksdoc.cli.rights import checks, drains
from kubectl_eksdoc.cli.rights.right import Right
from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.core.model.placing import PLACED

_ALIKE = "whether what has one of its names already is of this tool is not said"
_NO_FILES = "`--suppressions` cannot be sent along"
_GIVEN = "Kubernetes refuses the role that gives it to the Job (exit code 3): nobody can give what they have not"
_OF_RUN = ("Role", "RoleBinding", "Job")
_OF_CHECK = ("CronJob",)


def _placing(placed: Iterable[Resource], optional: Collection[Resource] = ()) -> tuple[Right, ...]:
    found = []
    for each in placed:
        here, lost = each.namespaced, _NO_FILES if each in optional else ""
        found.append(Right("create", each, each not in optional, lost, journal=here))
        found.append(Right("get", each, lost=_ALIKE, journal=here))
    return tuple(found)


def _given(rights: Iterable[Right]) -> tuple[Right, ...]:
    """Everywhere: of a Job nobody knows in which namespace it will find what it looks for."""
    everywhere = (replace(each, required=True, lost=_GIVEN, namespace="", karpenter=False) for each in rights)
    return tuple(dict.fromkeys(everywhere))


CHECK_PLACED = _placing((each for each in PLACED if each.kind not in _OF_RUN), (kinds.CONFIG_MAPS,))
RUN_PLACED = _placing(each for each in PLACED if each.kind not in _OF_CHECK)
_GIVEN_TO_CHECK = _given(checks.CHECK)
CHECK = (*(each for each in CHECK_PLACED if each.what not in {one.what for one in _GIVEN_TO_CHECK}), *_GIVEN_TO_CHECK)
RUN = (*RUN_PLACED, *_given((*drains.DRAIN_PLAN, *drains.INSIDE)))
