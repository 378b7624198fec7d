"""Permissions of commands: as tables, as RBAC objects for kubectl, and which of them the user has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import Annotated, Any, Literal

from kubectl_eksdoc.amazon import iam
from kubectl_eksdoc.amazon.iam import IamPlace
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.in_cluster.roles import RoleManifests, RoleStep
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.permissions import OptIn
from kubectl_eksdoc.report.command_result import CommandResult
from kubectl_eksdoc.report.report import (
    PLAIN,
    CommandReport,
    Foot,
    Head,
    Line,
    Lines,
    OwnFormat,
    Points,
    Report,
    Section,
    Table,
    as_it_is,
    flush,
)
from kubectl_eksdoc.report.result import Meta, Printed, Text, Texts, UnsetType
from kubectl_eksdoc.report.text import (
    Cell,
    Column,
    Row,
    Title,
    Tone,
    counted,
    joined,
    number_column,
    text_column,
)

from .grants import (
    HeldRight,
    NeededRight,
    ObjectNames,
    RbacSubject,
    WantedPermissions,
    objects,
)

# Sentences about permissions.


def about(view: PermissionsReport) -> str:
    """What the permissions are for, and whether they allow changes."""
    if not view.given:
        return "what all commands need that only read. It changes nothing."
    whole = joined([f"'{each}'" for each in view.given])
    return f"what {whole} {'need' if len(view.given) > 1 else 'needs'}. {_changes(view.wanted)}"


def _changes(wanted: WantedPermissions) -> str:
    return "Something can be changed with it." if wanted.changes else "It changes nothing."


def risks(wanted: WantedPermissions) -> Iterator[str]:
    """What the opt-ins allow, one sentence each."""
    return (f"Opt-in {each.said}." for each in wanted.opt_ins)


def not_granted(view: PermissionsReport) -> Iterator[str]:
    """The opt-ins that the commands can use and that are not granted, one sentence each."""
    return (f"Not granted: opt-in {each.said}. To grant it: --with {each.name}." for each in view.offered)


# Steps of an administrator, as commands that can be pasted.


_OURS = ("kubectl", "eksdoc", "permissions")


def steps(view: PermissionsReport) -> tuple[RoleStep, ...]:
    """First in the cluster, then in AWS, then a check of the result."""
    group = next((each.name for each in view.subjects if each.kind == "Group"), view.name)
    bind = tuple(word for each in view.subjects for word in ("--bind", _said(each.kind, each.name, each.namespace)))
    printed = f"{again(view)} {shell('-o', 'yaml', *(bind or ('--bind', f'Group:{group}')))}"
    found = [
        RoleStep("grant it in the cluster:", f"{printed} | kubectl apply -f -"),
        RoleStep(
            "put an IAM role into that group:",
            f"aws eks create-access-entry --cluster-name {view.place.cluster or 'CLUSTER'} --principal-arn ARN "
            f"--kubernetes-groups {group}",
        ),
    ]
    if view.wanted.asked:
        policy = f"{again(view)} {shell('--iam', *_where(view.place))}"
        created = f"aws iam create-policy --policy-name {view.name}"
        found += [
            RoleStep("write its policy of IAM:", f"{policy} > policy.json"),
            RoleStep("create that, then attach it:", f"{created} --policy-document file://policy.json"),
        ]
    return (*found, RoleStep("look whether you have it:", f"{again(view)} --check"))


def again(view: PermissionsReport) -> str:
    """The command that prints the same permissions."""
    return " ".join((shell(*_OURS), *view.given, *((shell(*view.more),) if view.more else ())))


def _said(kind: str, name: str, namespace: str) -> str:
    return f"{kind}:{namespace}/{name}" if namespace else f"{kind}:{name}"


def _where(place: IamPlace) -> tuple[str, ...]:
    named = {"--cluster-name": place.cluster, "--region": place.region, "--account": place.account}
    shown = {"--cluster-name": "CLUSTER", "--region": "REGION", "--account": "ACCOUNT"}
    return tuple(word for flag, value in named.items() for word in (flag, value or shown[flag]))


_FOR_KUBECTL = "The same as objects for kubectl apply -f -: -o yaml. Each right with its commands: -o wide"


_MANY_ROWS = 10_000
_MANY = 99
_NAME = len("validatingadmissionpolicybindings.")
"""The longest part of a resource name up to a dot."""
_RIGHTS = (
    (
        Column("VERBS", lines=_MANY, least=6),
        Column("RESOURCES", floor=50, lines=_MANY, least=_NAME),
        Column("WHERE", floor=10, lines=2, least=10),
        Column("WITHOUT IT", floor=26, lines=_MANY, least=22),
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
_ACTIONS = (
    Column("ACTION"),
    text_column("CAN BE LIMITED TO", 14, 2),
    text_column("WITHOUT IT", 26, _MANY),
)
_COMMANDS = (
    Column("COMMAND"),
    Column("CHANGES"),
    number_column("RIGHTS"),
    number_column("REQUIRED"),
    number_column("ACTIONS OF IAM", short="IAM"),
)


def _rights(needed: Iterable[NeededRight]) -> list[Row]:
    """Rows of rights, merged: verbs on the same resource, and resources with the same verbs, share a row."""
    verbs: dict[tuple[str, str, bool, tuple[str, ...]], list[str]] = {}
    for each in needed:
        asked = each.permission
        verbs.setdefault((asked.of, asked.namespace, each.required, each.lost), []).append(asked.verb)
    resources: dict[tuple[tuple[str, ...], str, bool, tuple[str, ...]], list[str]] = {}
    for (of, namespace, required, lost), allowed in verbs.items():
        resources.setdefault((tuple(allowed), namespace, required, lost), []).append(of)
    return [
        [", ".join(allowed), ", ".join(those), _table_where(namespace), _lost(required, lost)]
        for (allowed, namespace, required, lost), those in resources.items()
    ]


def _each(needed: Iterable[NeededRight]) -> list[Row]:
    return [
        [
            each.permission.verb,
            each.permission.of,
            _table_where(each.permission.namespace),
            "yes" if each.required else "no",
            ", ".join(each.commands),
            _lost(each.required, each.lost),
        ]
        for each in needed
    ]


def _table_where(namespace: str) -> str:
    return f"in {namespace}" if namespace else "everywhere"


def _lost(required: bool, lost: Iterable[str]) -> str | Cell:
    text = "; ".join(lost)
    return Cell(text, Tone.WARN) if required else text


def _steps(view: PermissionsReport) -> Iterator[Line]:
    for step in steps(view):
        yield flush(f"- {step.text}")
        yield as_it_is(step.command, 6)


def _notes(view: PermissionsReport) -> Iterator[str]:
    if not view.subjects:
        yield "It has no bindings: --bind Group:NAME also prints the bindings."
    yield from risks(view.wanted)
    yield from not_granted(view)
    yield from view.cautions
    optional = [each.permission.said for each in view.wanted.needed if not each.required]
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

    of = "what must be allowed"

    name: str
    wanted: WantedPermissions
    given: tuple[str, ...]
    subjects: tuple[RbacSubject, ...]
    place: IamPlace
    each: tuple[WantedPermissions, ...]
    tool_version: str
    doubts: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    offered: tuple[OptIn, ...] = ()
    cautions: tuple[str, ...] = ()

    def sections(self, full: bool) -> Iterator[Section | None]:
        """Every row is shown: a right that is not shown looks like one that is not granted."""
        wanted, said = self.wanted, about(self)
        rights = _each(wanted.needed) if full else _rights(wanted.needed)
        yield Head(said[0].upper() + said[1:])
        yield Table(Title("In the cluster", " (RBAC)"), (_RIGHTS[full], rights), "rights", _MANY_ROWS)
        yield Table(
            Title("In AWS", " (IAM)"),
            (
                _ACTIONS,
                [
                    [each.action, ", ".join(iam.types(each.action)) or "-", "; ".join(each.lost)]
                    for each in wanted.asked
                ],
            ),
            "actions",
            _MANY_ROWS,
        )
        for each in (*self.doubts, *self.cautions):
            yield Lines(None, [flush(each, 0)])
        every = [
            [
                ", ".join(each.commands),
                Cell("yes", Tone.WARN) if each.changes else "no",
                len(each.needed),
                sum(one.required for one in each.needed),
                len(each.asked),
            ]
            for each in self.each
        ]
        yield Table(Title("Commands", " and what each needs"), (_COMMANDS, every), "commands", _MANY_ROWS)
        yield Lines("What to do", list(_steps(self)))
        yield Points("Opt-ins", (*risks(self.wanted), *not_granted(self)))
        yield Foot(_FOR_KUBECTL)

    def manifests(self) -> RoleManifests:
        """Roles and bindings for kubectl, with comments on what they allow."""
        docs = objects(ObjectNames(self.name, self.tool_version), self.wanted.permissions, self.subjects)
        said = (f"kubectl eksdoc {self.tool_version}: {about(self)}", *_notes(self))
        return RoleManifests(said, (RoleStep("what rests on each:", f"{again(self)} -o wide"),), docs)

    formats = MappingProxyType(
        {
            **PLAIN,
            "json": OwnFormat(lambda report, look: report.manifests().json(look)),
            "yaml": OwnFormat(lambda report, look: report.manifests().yaml(look)),
        }
    )


# The rights that a user has: first the missing ones, then the unknown ones, then a count of the others.


_ORDER = (False, None, True)
_SIGNS = {True: Cell("✓ yes", Tone.GOOD), False: Cell("✗ missing", Tone.BAD), None: Cell("? unknown", Tone.UNKNOWN)}
_COLUMNS = (
    Column("YOU MAY"),
    text_column("RIGHT", 30, 2),
    Column("REQUIRED"),
    text_column("WITHOUT IT", 30, 9),
)


@frozen
class HeldReport(CommandReport):
    of = "what you may"

    held: tuple[HeldRight, ...]
    cluster: Cluster

    def sections(self, full: bool) -> Iterator[Section]:
        """Rights that the user has are counted, and only listed with `full`."""
        rows = [_row(each) for each in _sorted(self) if full or each.held is not True]
        yield Head(verdict(self))
        yield Table("Rights", (list(_COLUMNS), rows), "rights", _MANY_ROWS)

    def result(self) -> object:
        return PermissionResult.filled(
            self,
            verdict=verdict(self),
            missing=(each.needed.permission.said for each in self.held if each.held is False),
            findings=(),
        )


def _sorted(view: HeldReport) -> list[HeldRight]:
    return sorted(view.held, key=lambda each: _ORDER.index(each.held))


def _row(each: HeldRight) -> Row:
    lost = "; ".join(each.needed.lost)
    said = f"{lost} ({each.why})" if each.why else lost
    return [_SIGNS[each.held], each.needed.permission.said, "yes" if each.needed.required else "no", said]


def verdict(view: HeldReport) -> str:
    many = {state: sum(each.held is state for each in view.held) for state in _ORDER}
    if many[True] == len(view.held):
        return f"You have all {counted(len(view.held), 'right')}."
    parts = [f"{counted(many[False], 'right')} missing"] if many[False] else []
    parts += [f"{counted(many[None], 'right')} that the cluster does not report"] if many[None] else []
    return f"Of {counted(len(view.held), 'right')} you have {many[True]}: {', '.join(parts)}."


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
        return cls.filled(facts, facts.needed, facts.needed.permission, state=_STATES[facts.held])


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
