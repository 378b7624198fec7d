"""``-o table``: what is needed, where, and what is not known without it; rights on which the same rests stand together.
``-o wide``: each right in a line of its own, with the commands that need it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubectl_eksdoc.core.plan.permissions.wanted import Asked, Needed, Wanted
from kubectl_eksdoc.core.rules import iam_resources
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.permissions.steps import steps
from kubectl_eksdoc.render.permissions.view import PermissionsView
from kubectl_eksdoc.render.permissions.words import about, not_granted, risks
from kubectl_eksdoc.render.sections import MARGIN, Title, titled
from kubectl_eksdoc.render.tables import Cell, Column, Row, plain
from kubectl_eksdoc.render.text import clean, shown, wrap

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
        [", ".join(allowed), ", ".join(those), _where(namespace), _lost(required, lost)]
        for (allowed, namespace, required, lost), those in resources.items()
    ]


def _each(needed: Iterable[Needed]) -> list[Row]:
    return [
        [
            each.permission.verb,
            each.permission.of,
            _where(each.permission.namespace),
            "yes" if each.required else "no",
            ", ".join(each.commands),
            _lost(each.required, each.lost),
        ]
        for each in needed
    ]


def _where(namespace: str) -> str:
    return f"in {namespace}" if namespace else "everywhere"


def _lost(required: bool, lost: Iterable[str]) -> str | Cell:
    text = "; ".join(lost)
    return Cell(text, Tone.WARN) if required else text


def _action(each: Asked) -> Row:
    return [each.action, ", ".join(iam_resources.types(each.action)) or "-", "; ".join(each.lost)]


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
