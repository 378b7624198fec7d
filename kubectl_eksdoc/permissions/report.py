"""Permissions of commands: as tables, as RBAC objects for kubectl, and which of them the user has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import Annotated, Any, Literal

from kubectl_eksdoc.amazon import iam
from kubectl_eksdoc.amazon.iam import ClusterArnParts
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.in_cluster.roles import ManifestReport, ManifestStep
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.permissions import OptInRight
from kubectl_eksdoc.report.command_result import CommandResult
from kubectl_eksdoc.report.report import (
    DEFAULT_BACKENDS,
    BulletList,
    CommandReport,
    CustomBackend,
    Footer,
    Heading,
    Line,
    Report,
    Section,
    Table,
    TextBlock,
    flush_left,
    verbatim_line,
)
from kubectl_eksdoc.report.result import Meta, Printed, Text, Texts, UnsetType
from kubectl_eksdoc.report.text import (
    Cell,
    Column,
    Row,
    Title,
    Tone,
    join_words,
    number_column,
    pluralize,
    text_column,
)

from .grants import (
    HeldRight,
    NeededRight,
    RbacSubject,
    RequiredPermissions,
    RoleNames,
    rbac_objects,
)

# Sentences about permissions.


def purpose(report: PermissionsReport) -> str:
    """What the permissions are for, and whether they allow changes."""
    if not report.commands:
        return "what all commands need that only read. It changes nothing."
    commands = join_words([f"'{each}'" for each in report.commands])
    return f"what {commands} {'need' if len(report.commands) > 1 else 'needs'}. {_effect(report.required)}"


def _effect(permissions: RequiredPermissions) -> str:
    return "Something can be changed with it." if permissions.changes else "It changes nothing."


def risks(permissions: RequiredPermissions) -> Iterator[str]:
    """What the opt-ins allow, one sentence each."""
    return (f"Opt-in {each.description}." for each in permissions.opt_ins)


def not_granted(report: PermissionsReport) -> Iterator[str]:
    """The opt-ins that the commands can use and that are not granted, one sentence each."""
    return (
        f"Not granted: opt-in {each.description}. To grant it: --with {each.name}." for each in report.available_opt_ins
    )


# Steps of an administrator, as commands that can be pasted.


_PROGRAM = ("kubectl", "eksdoc", "permissions")


def admin_steps(report: PermissionsReport) -> tuple[ManifestStep, ...]:
    """First in the cluster, then in AWS, then a check of the result."""
    group = next((each.name for each in report.subjects if each.kind == "Group"), report.name)
    bind_args = tuple(
        word for each in report.subjects for word in ("--bind", _subject_text(each.kind, each.name, each.namespace))
    )
    print_command = f"{rights_command(report)} {shell('-o', 'yaml', *(bind_args or ('--bind', f'Group:{group}')))}"
    steps = [
        ManifestStep("grant it in the cluster:", f"{print_command} | kubectl apply -f -"),
        ManifestStep(
            "put an IAM role into that group:",
            f"aws eks create-access-entry --cluster-name {report.place.cluster or 'CLUSTER'} --principal-arn ARN "
            f"--kubernetes-groups {group}",
        ),
    ]
    if report.required.iam_actions:
        policy = f"{rights_command(report)} {shell('--iam', *_place_args(report.place))}"
        create_command = f"aws iam create-policy --policy-name {report.name}"
        steps += [
            ManifestStep("write its policy of IAM:", f"{policy} > policy.json"),
            ManifestStep("create that, then attach it:", f"{create_command} --policy-document file://policy.json"),
        ]
    return (*steps, ManifestStep("look whether you have it:", f"{rights_command(report)} --check"))


def rights_command(report: PermissionsReport) -> str:
    """The command that prints the same permissions."""
    return " ".join((shell(*_PROGRAM), *report.commands, *((shell(*report.other_args),) if report.other_args else ())))


def _subject_text(kind: str, name: str, namespace: str) -> str:
    return f"{kind}:{namespace}/{name}" if namespace else f"{kind}:{name}"


def _place_args(place: ClusterArnParts) -> tuple[str, ...]:
    values = {"--cluster-name": place.cluster, "--region": place.region, "--account": place.account}
    placeholders = {"--cluster-name": "CLUSTER", "--region": "REGION", "--account": "ACCOUNT"}
    return tuple(word for flag, value in values.items() for word in (flag, value or placeholders[flag]))


_FOR_KUBECTL = "The same as objects for kubectl apply -f -: -o yaml. Each right with its commands: -o wide"


_MAX_ROWS = 10_000
_MAX_LINES = 99
_MAX_NAME_PART = len("validatingadmissionpolicybindings.")
"""The longest part of a resource name up to a dot."""
_RIGHT_COLUMNS = (
    (
        Column("VERBS", max_lines=_MAX_LINES, hard_min_width=6),
        Column("RESOURCES", min_width=50, max_lines=_MAX_LINES, hard_min_width=_MAX_NAME_PART),
        Column("WHERE", min_width=10, max_lines=2, hard_min_width=10),
        Column("WITHOUT IT", min_width=26, max_lines=_MAX_LINES, hard_min_width=22),
    ),
    (
        Column("VERB"),
        Column("RESOURCE"),
        Column("WHERE"),
        Column("REQUIRED"),
        Column("COMMANDS"),
        Column("WITHOUT IT"),
    ),
)
_ACTION_COLUMNS = (
    Column("ACTION"),
    text_column("CAN BE LIMITED TO", 14, 2),
    text_column("WITHOUT IT", 26, _MAX_LINES),
)
_COMMAND_COLUMNS = (
    Column("COMMAND"),
    Column("CHANGES"),
    number_column("RIGHTS"),
    number_column("REQUIRED"),
    number_column("ACTIONS OF IAM", short_title="IAM"),
)


def _grouped_rows(rights: Iterable[NeededRight]) -> list[Row]:
    """Rows of rights, merged: verbs on the same resource, and resources with the same verbs, share a row."""
    verbs: dict[tuple[str, str, bool, tuple[str, ...]], list[str]] = {}
    for right in rights:
        permission = right.permission
        verbs.setdefault((permission.resource_name, permission.namespace, right.required, right.lost), []).append(
            permission.verb
        )
    resources: dict[tuple[tuple[str, ...], str, bool, tuple[str, ...]], list[str]] = {}
    for (resource, namespace, required, lost), verbs_allowed in verbs.items():
        resources.setdefault((tuple(verbs_allowed), namespace, required, lost), []).append(resource)
    return [
        [", ".join(verbs_allowed), ", ".join(names), _namespace_text(namespace), _effect_cell(required, lost)]
        for (verbs_allowed, namespace, required, lost), names in resources.items()
    ]


def _single_rows(rights: Iterable[NeededRight]) -> list[Row]:
    return [
        [
            each.permission.verb,
            each.permission.resource_name,
            _namespace_text(each.permission.namespace),
            "yes" if each.required else "no",
            ", ".join(each.commands),
            _effect_cell(each.required, each.lost),
        ]
        for each in rights
    ]


def _namespace_text(namespace: str) -> str:
    return f"in {namespace}" if namespace else "everywhere"


def _effect_cell(required: bool, lost: Iterable[str]) -> str | Cell:
    text = "; ".join(lost)
    return Cell(text, Tone.WARN) if required else text


def _step_lines(report: PermissionsReport) -> Iterator[Line]:
    for step in admin_steps(report):
        yield flush_left(f"- {step.text}")
        yield verbatim_line(step.command, 6)


def _note_lines(report: PermissionsReport) -> Iterator[str]:
    if not report.subjects:
        yield "It has no bindings: --bind Group:NAME also prints the bindings."
    yield from risks(report.required)
    yield from not_granted(report)
    yield from report.cautions
    optional = [each.permission.scoped_right for each in report.required.rights if not each.required]
    if optional:
        yield f"Without these all else is answered, and what rests on them is unknown: {'; '.join(optional)}"


@frozen
class PermissionsReport(Report):
    """The permissions that commands need.

    `name`: the name of the role. `commands`: as the user named them, none for all commands that only read.
    `by_command`: the permissions of every command, if none was named. `iam_notes`: what IAM actions may need in
    addition, in sentences. `other_args`: the other arguments that print the same permissions. `available_opt_ins`:
    opt-ins that the commands can use and that are not granted. `cautions`: what a right allows in addition, in
    sentences.
    """

    noun_phrase = "what must be allowed"

    name: str
    required: RequiredPermissions
    commands: tuple[str, ...]
    subjects: tuple[RbacSubject, ...]
    place: ClusterArnParts
    by_command: tuple[RequiredPermissions, ...]
    tool_version: str
    iam_notes: tuple[str, ...] = ()
    other_args: tuple[str, ...] = ()
    available_opt_ins: tuple[OptInRight, ...] = ()
    cautions: tuple[str, ...] = ()

    def sections(self, full: bool) -> Iterator[Section | None]:
        """Every row is shown: a right that is not shown looks like one that is not granted."""
        required, purpose_text = self.required, purpose(self)
        rights = _single_rows(required.rights) if full else _grouped_rows(required.rights)
        yield Heading(purpose_text[0].upper() + purpose_text[1:])
        yield Table(Title("In the cluster", " (RBAC)"), (_RIGHT_COLUMNS[full], rights), "rights", _MAX_ROWS)
        yield Table(
            Title("In AWS", " (IAM)"),
            (
                _ACTION_COLUMNS,
                [
                    [each.action, ", ".join(iam.resource_types(each.action)) or "-", "; ".join(each.lost)]
                    for each in required.iam_actions
                ],
            ),
            "actions",
            _MAX_ROWS,
        )
        for each in (*self.iam_notes, *self.cautions):
            yield TextBlock(None, [flush_left(each, 0)])
        command_rows = [
            [
                ", ".join(each.commands),
                Cell("yes", Tone.WARN) if each.changes else "no",
                len(each.rights),
                sum(one.required for one in each.rights),
                len(each.iam_actions),
            ]
            for each in self.by_command
        ]
        yield Table(Title("Commands", " and what each needs"), (_COMMAND_COLUMNS, command_rows), "commands", _MAX_ROWS)
        yield TextBlock("What to do", list(_step_lines(self)))
        yield BulletList("Opt-ins", (*risks(self.required), *not_granted(self)))
        yield Footer(_FOR_KUBECTL)

    def manifests(self) -> ManifestReport:
        """Roles and bindings for kubectl, with comments on what they allow."""
        docs = rbac_objects(RoleNames(self.name, self.tool_version), self.required.permissions, self.subjects)
        comments = (f"kubectl eksdoc {self.tool_version}: {purpose(self)}", *_note_lines(self))
        return ManifestReport(comments, (ManifestStep("what rests on each:", f"{rights_command(self)} -o wide"),), docs)

    formats = MappingProxyType(
        {
            **DEFAULT_BACKENDS,
            "json": CustomBackend(lambda report, look: report.manifests().json(look)),
            "yaml": CustomBackend(lambda report, look: report.manifests().yaml(look)),
        }
    )


# The rights that a user has: first the missing ones, then the unknown ones, then a count of the others.


_STATE_ORDER = (False, None, True)
_SYMBOLS = {True: Cell("✓ yes", Tone.GOOD), False: Cell("✗ missing", Tone.BAD), None: Cell("? unknown", Tone.UNKNOWN)}
_CHECK_COLUMNS = (
    Column("YOU MAY"),
    text_column("RIGHT", 30, 2),
    Column("REQUIRED"),
    text_column("WITHOUT IT", 30, 9),
)


@frozen
class PermissionCheckReport(CommandReport):
    noun_phrase = "what you may"

    held: tuple[HeldRight, ...]
    cluster: Cluster

    def sections(self, full: bool) -> Iterator[Section]:
        """Rights that the user has are counted, and only listed with `full`."""
        rows = [_row(each) for each in _sorted_rights(self) if full or each.held is not True]
        yield Heading(verdict(self))
        yield Table("Rights", (list(_CHECK_COLUMNS), rows), "rights", _MAX_ROWS)

    def result(self) -> object:
        return PermissionResult.from_facts(
            self,
            verdict=verdict(self),
            missing=(each.needed.permission.scoped_right for each in self.held if each.held is False),
            findings=(),
        )


def _sorted_rights(report: PermissionCheckReport) -> list[HeldRight]:
    return sorted(report.held, key=lambda each: _STATE_ORDER.index(each.held))


def _row(each: HeldRight) -> Row:
    effect = "; ".join(each.needed.lost)
    text = f"{effect} ({each.why})" if each.why else effect
    return [_SYMBOLS[each.held], each.needed.permission.scoped_right, "yes" if each.needed.required else "no", text]


def verdict(report: PermissionCheckReport) -> str:
    count = {state: sum(each.held is state for each in report.held) for state in _STATE_ORDER}
    if count[True] == len(report.held):
        return f"You have all {pluralize(len(report.held), 'right')}."
    parts = [f"{pluralize(count[False], 'right')} missing"] if count[False] else []
    parts += [f"{pluralize(count[None], 'right')} that the cluster does not report"] if count[None] else []
    return f"Of {pluralize(len(report.held), 'right')} you have {count[True]}: {', '.join(parts)}."


# The result of ``permissions --check`` as ``-o json`` and ``-o yaml`` print it.


_STATES = {True: "held", False: "missing", None: "unknown"}
_SomeTexts = Annotated[Texts, Meta(min_length=1)]


class _Right(Printed):
    called = {"group": "resource.group", "resource": "resource.plural", "without": "lost"}

    verb: Text
    group: str
    """Empty for the core group."""
    resource: Text
    """The plural; for a non-resource URL its path, such as /metrics."""
    subresource: Text | None
    namespace: Text | None
    """null: in all namespaces."""
    required: bool
    state: Literal["held", "missing", "unknown"]
    without: _SomeTexts
    commands: _SomeTexts
    why: Text | UnsetType
    """Why the state is unknown."""

    @classmethod
    def of(cls, facts: HeldRight) -> _Right:
        return cls.from_facts(facts, facts.needed, facts.needed.permission, state=_STATES[facts.held])


class PermissionResult(CommandResult):
    """Which rights of commands a user has: kubectl eksdoc permissions COMMAND --check -o json."""

    called = {"rights": "held"}

    kind: Literal["PermissionCheck"]
    verdict: Text
    rights: tuple[_Right, ...]
    """Every right that the commands need; first the rights without which a command ends with exit code 3."""
    missing: Texts
    """As RBAC names them: create pods/eviction."""
    findings: Annotated[tuple[Any, ...], Meta(max_length=0)]
