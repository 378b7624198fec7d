"""``-o table``: what is needed, where, and what is not known without it; rights on which the same rests stand together.
``-o wide``: each right in a line of its own, with the commands that need it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kubectl_eksdoc.amazon import iam
from kubectl_eksdoc.amazon.iam import Place
from kubectl_eksdoc.model.commands import shell
from kubectl_eksdoc.permissions import Asked, Called, Held, Needed, Wanted, objects
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.permissions import CheckView, PermissionsView
from kubectl_eksdoc.render.roles import Manifests, Step
from kubectl_eksdoc.render.tables import MARGIN, Cell, Column, Row, Title, plain, titled
from kubectl_eksdoc.render.text import clean, counted, joined, shown, wrap

# The sentences that are said of rights.


def about(view: PermissionsView) -> str:
    """What it is for, and whether something can be changed with it."""
    if not view.given:
        return "what all commands need that only read. It changes nothing."
    whole = joined([f"'{each}'" for each in view.given])
    return f"what {whole} {'need' if len(view.given) > 1 else 'needs'}. {_changes(view.wanted)}"


def _changes(wanted: Wanted) -> str:
    return "Something can be changed with it." if wanted.changes else "It changes nothing."


def risks(wanted: Wanted) -> Iterator[str]:
    """What its opt-ins allow, each in a sentence."""
    return (f"Opt-in {each.said}." for each in wanted.opt_ins)


def not_granted(view: PermissionsView) -> Iterator[str]:
    """Opt-ins that the commands can use, each in a sentence."""
    return (f"Not granted: opt-in {each.said}. To grant it: --with {each.name}." for each in view.offered)


# What an administrator does with it, as commands that can be pasted.


_OURS = ("kubectl", "eksdoc", "permissions")


def steps(view: PermissionsView) -> tuple[Step, ...]:
    """First the cluster, then AWS, then whether it has come about."""
    group = next((each.name for each in view.subjects if each.kind == "Group"), view.name)
    bind = tuple(word for each in view.subjects for word in ("--bind", _said(each.kind, each.name, each.namespace)))
    printed = f"{again(view)} {shell('-o', 'yaml', *(bind or ('--bind', f'Group:{group}')))}"
    found = [
        Step("grant it in the cluster:", f"{printed} | kubectl apply -f -"),
        Step(
            "put an IAM role into that group:",
            f"aws eks create-access-entry --cluster-name {view.place.cluster or 'CLUSTER'} --principal-arn ARN "
            f"--kubernetes-groups {group}",
        ),
    ]
    if view.wanted.asked:
        policy = f"{again(view)} {shell('--iam', *_where(view.place))}"
        created = f"aws iam create-policy --policy-name {view.name}"
        found += [
            Step("write its policy of IAM:", f"{policy} > policy.json"),
            Step("create that, then attach it:", f"{created} --policy-document file://policy.json"),
        ]
    return (*found, Step("look whether you have it:", f"{again(view)} --check"))


def again(view: PermissionsView) -> str:
    """The command that prints the same rights."""
    return " ".join((shell(*_OURS), *view.given, *((shell(*view.more),) if view.more else ())))


def _said(kind: str, name: str, namespace: str) -> str:
    return f"{kind}:{namespace}/{name}" if namespace else f"{kind}:{name}"


def _where(place: Place) -> tuple[str, ...]:
    named = {"--cluster-name": place.cluster, "--region": place.region, "--account": place.account}
    shown = {"--cluster-name": "CLUSTER", "--region": "REGION", "--account": "ACCOUNT"}
    return tuple(word for flag, value in named.items() for word in (flag, value or shown[flag]))


_FOR_KUBECTL = "The same as objects for kubectl apply -f -: -o yaml. Each right with its commands: -o wide"


def table(view: PermissionsView, look: Look) -> str:
    return _text(view, look, full=False)


def wide(view: PermissionsView, look: Look) -> str:
    """Nothing is cut and no column dropped, so lines may be wider than the terminal."""
    return _text(view, look, full=True)


def _text(view: PermissionsView, look: Look, full: bool) -> str:
    wanted = view.wanted
    said = about(view)
    rights = _each(wanted.needed) if full else _rights(wanted.needed)
    actions = [_action(each) for each in wanted.asked]
    every = [_command(each) for each in view.each]
    sections = [
        [look.paint(line, Tone.TITLE) for line in wrap(shown(said[0].upper() + said[1:], look), look.columns)],
        _drawn(Title("In the cluster", " (RBAC)"), _RIGHTS[full], rights, look, full),
        _drawn(Title("In AWS", " (IAM)"), _ACTIONS, actions, look, full),
        *(wrap(shown(each, look), look.columns) for each in (*view.doubts, *view.cautions)),
        _drawn(Title("Commands", " and what each needs"), _COMMANDS, every, look, full),
        titled(Title("What to do"), _steps(view, look), look),
        titled(Title("Opt-ins"), _opt_ins(view, look), look),
        [] if full else wrap(_FOR_KUBECTL, look.columns),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _drawn(title: Title, columns: Sequence[Column], rows: Sequence[Row], look: Look, full: bool) -> list[str]:
    """Every row: a right that is not shown is one that is not granted."""
    return titled(title, plain(columns, rows, look, indent=len(MARGIN), fit=not full), look)


_MANY = 99
_RIGHTS = (
    (
        Column("VERBS"),
        Column("RESOURCES", floor=50, lines=_MANY),
        Column("WHERE", floor=10, lines=2),
        Column("WITHOUT IT", floor=26, lines=_MANY),
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
    Column("CAN BE LIMITED TO", floor=14, lines=2),
    Column("WITHOUT IT", floor=26, lines=_MANY),
)
_COMMANDS = (
    Column("COMMAND"),
    Column("CHANGES"),
    Column("RIGHTS", right=True),
    Column("REQUIRED", right=True),
    Column("ACTIONS OF IAM", right=True, short="IAM"),
)


def _rights(needed: Iterable[Needed]) -> list[Row]:
    """By what rests on them: verbs on the same resource, and resources with the same verbs, in one line."""
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


def _each(needed: Iterable[Needed]) -> list[Row]:
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


def _action(each: Asked) -> Row:
    return [each.action, ", ".join(iam.types(each.action)) or "-", "; ".join(each.lost)]


def _command(each: Wanted) -> Row:
    return [
        ", ".join(each.commands),
        Cell("yes", Tone.WARN) if each.changes else "no",
        str(len(each.needed)),
        str(sum(one.required for one in each.needed)),
        str(len(each.asked)),
    ]


def _opt_ins(view: PermissionsView, look: Look) -> list[str]:
    told = (*risks(view.wanted), *not_granted(view))
    return [line for each in told for line in wrap(shown(f"- {each}", look), look.columns, MARGIN)]


def _steps(view: PermissionsView, look: Look) -> list[str]:
    """A command is never cut: it is to be pasted."""
    return [
        line
        for step in steps(view)
        for line in (*wrap(shown(f"- {step.text}", look), look.columns, MARGIN), f"{MARGIN * 3}{clean(step.command)}")
    ]


# Roles and bindings as they are given to kubectl, below what says in words what they allow.


def manifests(view: PermissionsView) -> Manifests:
    docs = objects(Called(view.name, view.tool_version), view.wanted.permissions, view.subjects)
    return Manifests(
        (f"kubectl eksdoc {view.tool_version}: {about(view)}", *_notes(view)), _manifests_steps(view), docs
    )


def _notes(view: PermissionsView) -> Iterator[str]:
    if not view.subjects:
        yield "Nobody is bound to it: --bind Group:NAME prints the bindings, too."
    yield from risks(view.wanted)
    yield from not_granted(view)
    yield from view.cautions
    optional = [each.permission.said for each in view.wanted.needed if not each.required]
    if optional:
        yield f"Without these all else is answered, and what rests on them is unknown: {'; '.join(optional)}"


def _manifests_steps(view: PermissionsView) -> tuple[Step, ...]:
    return (Step("what rests on each:", f"{again(view)} -o wide"),)


# Which rights somebody has: the missing first, then what the cluster does not say, then a line for the rest.


_ORDER = (False, None, True)
_SIGNS = {True: Cell("✓ yes", Tone.GOOD), False: Cell("✗ missing", Tone.BAD), None: Cell("? unknown", Tone.UNKNOWN)}
_COLUMNS = (
    Column("YOU MAY"),
    Column("RIGHT", floor=30, lines=2),
    Column("REQUIRED"),
    Column("WITHOUT IT", floor=30, lines=9),
)


def held_table(view: CheckView, look: Look) -> str:
    """What you have is counted, not listed."""
    rows = [_row(each) for each in _sorted(view) if each.held is not True]
    return "\n\n".join(filter(None, (verdict(view), "\n".join(plain(_COLUMNS, rows, look))))) + "\n"


def held_wide(view: CheckView, look: Look) -> str:
    rows = [_row(each) for each in _sorted(view)]
    return f"{verdict(view)}\n\n" + "\n".join(plain(_COLUMNS, rows, look, fit=False)) + "\n"


def _sorted(view: CheckView) -> list[Held]:
    return sorted(view.held, key=lambda each: _ORDER.index(each.held))


def _row(each: Held) -> Row:
    lost = "; ".join(each.needed.lost)
    said = f"{lost} ({each.why})" if each.why else lost
    return [_SIGNS[each.held], each.needed.permission.said, "yes" if each.needed.required else "no", said]


def verdict(view: CheckView) -> str:
    many = {state: sum(each.held is state for each in view.held) for state in _ORDER}
    if many[True] == len(view.held):
        return f"You have all {counted(len(view.held), 'right')}."
    parts = [f"{counted(many[False], 'right')} missing"] if many[False] else []
    parts += [f"{counted(many[None], 'right')} of which the cluster does not say"] if many[None] else []
    return f"Of {counted(len(view.held), 'right')} you have {many[True]}: {', '.join(parts)}."
