"""AWS operations of each command, and the type `Right`: an RBAC right of a command, with what an answer lacks without
it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import aws_operations as questions
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.aws_operations import UPDATE_NODE_GROUP, AwsOperation
from kubectl_eksdoc.model.findings import Code
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.knowledge import knowledge_file
from kubectl_eksdoc.model.permissions import OPT_INS as OPT_INS
from kubectl_eksdoc.model.permissions import OptInRight, Permission


def _operations(part: str) -> Mapping[str, tuple[AwsOperation, ...]]:
    """The operations of a part of `knowledge/rights.json`, by their names."""
    return {
        name: tuple(getattr(questions, each) for each in words.split())
        for name, words in knowledge_file("rights")[part].items()
    }


SHOWN_CHANGES = tuple(f"coredns-lameduck {flag}" for flag in ("--set", "--place", "--autoscale"))
"""Changes of CoreDNS that are shown before they are applied."""

BY_FIX = _operations("fixes")
"""The operations of one fix of ``imds-probe --apply``, and of no other."""

BY_EVIDENCE = _operations("evidence")
"""The operations of one source of ``imds-probe --evidence``, and of no other."""

BY_COMMAND: Mapping[str, tuple[AwsOperation, ...]] = {
    **_operations("questions"),
    "imds-probe --evidence": tuple(question for each in BY_EVIDENCE.values() for question in each),
    "imds-probe --apply": tuple(question for each in BY_FIX.values() for question in each),
}
"""The operations of each command that calls AWS, each with its IAM actions; those of a flag come in addition to those
of the command without it, except for `COMPLETE`."""

COMPLETE = frozenset((*SHOWN_CHANGES, "addon-diff --after", "coredns-lameduck --apply", "imds-probe --active"))
"""These call only the operations in their own entry."""


POSSIBLE_REQUIREMENTS: Mapping[AwsOperation, str] = {
    UPDATE_NODE_GROUP: (
        "For a node group with a custom launch template, eks:UpdateNodegroupVersion may require more "
        "permissions: ec2:RunInstances, and with it ec2:CreateTags and iam:PassRole. That is known "
        "of CreateNodegroup, and likely here (confidence: medium). They are not in the policy, for "
        "they let people start instances: allow them on that template if EKS says 'You are not "
        "authorized to launch instances with this launch template'."
    ),
}
"""Permissions that an action may need in addition, which was not observed. Source: scylladb/scylla-cluster-tests issue
12172."""


# One right of a command, and what its answer lacks without it.


@frozen
class Right:
    """One RBAC rule. The right is needed in `namespace`, "" for all namespaces; or, if `journal`, in the namespace of
    the runs' journal and of the objects of ``--in-cluster``; or, if `probe`, in that of the probe pods; or, if
    `karpenter`, in Karpenter's. `required`: without it the command cannot answer at all.

    `lost` says what the answer lacks without it, where no finding code does. `flag`: it is needed only with this flag
    of the command, ``--surge-singles``, ``--measure=rollout``, or with such a name, ``pod/NAME``. `opt_in`: it is
    granted only with that opt-in, or with its `flag`.
    """

    verb: str
    resource: Resource
    required: bool = False
    lost: str = ""
    subresource: str = ""
    journal: bool = False
    probe: bool = False
    namespace: str = ""
    karpenter: bool = False
    flag: str = ""
    opt_in: OptInRight | None = None

    @property
    def unknown_without(self) -> tuple[str, ...]:
        """The finding codes whose answer is unknown without this right, sorted."""
        return tuple(
            sorted(code.name for code in Code.of_areas("drain") if self.verb == "list" and self.resource in code.needs)
        )

    def permission_in(self, namespace: str) -> Permission:
        return Permission(self.verb, self.resource, self.subresource, namespace)

    def __str__(self) -> str:
        return self.permission_in("").right

    @property
    def identity(self) -> tuple[str, bool, bool, str, bool]:
        """Equal for rights that allow the same in the same namespace, whatever the answer lacks without them."""
        return str(self), self.journal, self.probe, self.namespace, self.karpenter

    @property
    def resource_name(self) -> str:
        """As `Permission.resource_name`."""
        return self.permission_in("").resource_name


@frozen
class RightNamespaces:
    """Namespaces: `journal` of runs, and of the objects of ``--in-cluster``; `probe` of probe pods; `karpenter` of
    Karpenter."""

    journal: str = ""
    probe: str = ""
    karpenter: str = ""

    def namespace_of(self, right: Right) -> str:
        """The namespace in which the right is needed, "" for all."""
        if right.journal:
            return self.journal
        if right.probe:
            return self.probe
        return self.karpenter if right.karpenter else right.namespace

    def permission(self, right: Right) -> Permission:
        return right.permission_in(self.namespace_of(right))


def read_rights(name: str) -> tuple[Right, ...]:
    """The rights of that name in `knowledge/rights.json`, with those that it includes."""
    rights: list[Right] = []
    for record in knowledge_file("rights")["rights"][name]:
        if isinstance(record, str):
            rights += read_rights(record.removeprefix("@"))
            continue
        fields = {"required": "lost" not in record, **record}
        verbs, resources = fields.pop("do").split(), fields.pop("of").split()
        if "opt_in" in fields:
            fields["opt_in"] = next(each for each in OPT_INS if each.name == fields["opt_in"])
        rights += (Right(verb, getattr(kinds, each), **fields) for each in resources for verb in verbs)
    return tuple(rights)


def needed_rights(rights: Iterable[Right], flags: Collection[str], opt_ins: Collection[str]) -> tuple[Right, ...]:
    """The rights that a command needs with these `flags`, and those of the opt-ins."""
    return tuple(
        each
        for each in rights
        if (each.flag in flags if each.flag else each.opt_in is None) or (each.opt_in and each.opt_in.name in opt_ins)
    )


REQUIRED_LISTS = (kinds.NODES, kinds.PODS)
"""Without these nothing can be checked."""
