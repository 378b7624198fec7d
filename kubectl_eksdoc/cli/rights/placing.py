"""The rights of ``--in-cluster --apply``: to create its objects, and to have whatever these give.

Source: Kubernetes, RBAC, "Privilege escalation prevention and bootstrapping": who creates a role must have its rights
already in the same scope, or the verb escalate; and who creates a binding those of its role, or the verb bind.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kubectl_eksdoc.cli.rights import checks, drains
from kubectl_eksdoc.cli.rights.right import Right
from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.core.model.placing import PLACED, RBAC

_ALIKE = "whether what has one of its names already is of this tool is not said"
_NO_FILES = "`--suppressions` cannot be sent along"
_GIVEN = "Kubernetes refuses the role that gives it to the Job (exit code 3): nobody can give what they have not"


def _placing(resource: Resource, where: Right, flag: str = "") -> tuple[Right, ...]:
    """Of one that stands where `where` is needed."""
    there = replace(where, resource=resource, subresource="", flag=flag, opt_in=None)
    lost = _NO_FILES if flag else ""
    return replace(there, verb="create", required=not flag, lost=lost), replace(
        there, verb="get", required=False, lost=_ALIKE
    )


_HERE = Right("create", kinds.CONFIG_MAPS, journal=True)


def _given(rights: Iterable[Right]) -> tuple[Right, ...]:
    """They, and what creates the roles that give them: one for each namespace, and one for everywhere."""
    given = tuple(dict.fromkeys(replace(each, required=True, lost=_GIVEN) for each in rights))
    found: dict[object, Right] = {}
    for right in given:
        namespaced = right.journal or right.karpenter or bool(right.namespace)
        roles = (each for each in PLACED if each.group == RBAC and each.namespaced is namespaced)
        for each in (each for role in roles for each in _placing(role, right)):
            found.setdefault(each.what, each)
    found.update((each.what, each) for each in given)
    return tuple(found.values())


def of_check(held: Iterable[Right]) -> tuple[Right, ...]:
    """Of a CronJob that gets the rights `held`."""
    return (
        *_placing(kinds.SERVICE_ACCOUNTS, _HERE),
        *_placing(kinds.CONFIG_MAPS, _HERE, "--suppressions"),
        *_placing(kinds.CRON_JOBS, _HERE),
        *_given(held),
    )


CHECK = of_check(checks.CHECK)
RUN = (
    *(each for kind in (kinds.SERVICE_ACCOUNTS, kinds.CONFIG_MAPS, kinds.JOBS) for each in _placing(kind, _HERE)),
    *_given((*drains.DRAIN_PLAN, *drains.INSIDE)),
)
