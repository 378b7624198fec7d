"""Fixes of instance metadata access, as data."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.findings import Remedy, When
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records
from kubectl_eksdoc.model.metadata import MetadataFix

INSTANCE_OPTIONS = "instance-options"
CONTROLLER_FLAGS = "controller-flags"
RESTART_PODS = "restart-pods"
OWN_ROLE = "own-role"
NODE_CLASS = "node-class"
TEMPLATE_VERSION = "template-version"
REPLACE_NODES = "replace-nodes"

NAMES = (
    INSTANCE_OPTIONS,
    CONTROLLER_FLAGS,
    RESTART_PODS,
    OWN_ROLE,
    NODE_CLASS,
    TEMPLATE_VERSION,
    REPLACE_NODES,
)
"""The values of ``--fix``."""

CARRIED_OUT = (INSTANCE_OPTIONS, NODE_CLASS, TEMPLATE_VERSION)
"""Fixes that this tool can apply."""


@frozen
class BlastRadius:
    """Effect of a fix: `nodes` are replaced, `pods` are evicted or restarted, `instances` are changed while they run.
    `how`: by which controller and how fast, a clause."""

    nodes: int = 0
    pods: int = 0
    instances: int = 0
    how: str = ""

    @property
    def sort_key(self) -> tuple[int, int, int]:
        """The sort order: a replaced node outweighs any number of pods."""
        return self.nodes, self.pods, self.instances


@frozen
class Fix:
    """`does` is a sentence without its full stop. `commands` and `rollback` are whole lines for a POSIX shell, in
    order; without commands, `does` names the decider. `lasts`: how long it holds, a clause; `cautions` are clauses.
    `action`: the part that this tool can apply, None if only a user can."""

    name: str
    when: When
    does: str
    commands: tuple[str, ...]
    rollback: tuple[str, ...]
    blast: BlastRadius
    lasts: str = ""
    cautions: tuple[str, ...] = ()
    action: MetadataFix | None = None

    @property
    def remedy(self) -> Remedy:
        return Remedy(f"{self.does}.", " && ".join(self.commands), self.when)


@frozen
class FixOptions:
    """Fixes for a set of nodes, the smallest blast radius first. `cannot`: supposed fixes that do not work, with the
    reason, or why there is no fix; each a clause."""

    fixes: tuple[Fix, ...] = ()
    cannot: tuple[str, ...] = ()

    def by_name(self, name: str) -> Fix | None:
        return next((fix for fix in self.fixes if fix.name == name), None)


# Rules of security tools about the hop limit, and their message for a limit above one.


class RuleScope(Enum):
    """Resources that a rule checks."""

    INSTANCES = "instances"
    TEMPLATES = "launch templates"
    LAUNCHES = "launches"
    CHANGES = "changes of running instances"


@frozen
class FixRemark:
    """`says` is a clause."""

    rule: str
    on: tuple[RuleScope, ...]
    says: str
    source: KnowledgeSource


_RULE_REMARKS = records(FixRemark, "hop_limit_rules")

WIDER_ACCESS_CAUTION = (
    "every pod with a network of its own on these nodes can then take the credentials of the node's role, which the "
    "EKS best practices advise against: give what needs credentials a role of its own, and go back"
)


def rule_cautions(*scopes: RuleScope) -> Iterator[str]:
    """Cautions for changes of these resources, as clauses."""
    for remark in _RULE_REMARKS:
        if not set(scopes).isdisjoint(remark.on):
            yield f"{remark.rule} {remark.says}{f' ({remark.source.doubt})' if remark.source.doubt else ''}"
    yield WIDER_ACCESS_CAUTION
