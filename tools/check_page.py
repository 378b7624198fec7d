"""Tables of docs/check.md, from the registry of checks and from the rights of each of them."""

from __future__ import annotations

from kubectl_eksdoc.check.checking import Check
from kubectl_eksdoc.check.registry import ALL
from kubectl_eksdoc.cli.rights import commands
from tools.tables import code, table


def checks() -> str:
    """Each check: what it finds, where it is shown, and which step waits for it."""
    rows = []
    for check in ALL:
        first = check.codes[0]
        gate = "–" if check.gate is None else check.gate.value
        rows.append((f"[{first.name}](codes.md#{first.name})", first.title, check.area.value, gate))
    return table(("code", "about", "area", "step"), rows)


def check_rights() -> str:
    """Each check: what of the cluster and of AWS it is judged by, besides nodes and pods, and whose cluster it is."""
    return table(("code", "in the cluster", "of AWS"), list(dict.fromkeys(_row(check) for check in ALL)))


def _row(check: Check) -> tuple[str, str, str]:
    listed = [f"list {resource.full_name}" for resource in check.kinds]
    asked = [str(right) for need in check.needs for right in commands.OF_NEED.get(need, ())]
    here = [each for each in dict.fromkeys((*listed, *asked)) if each not in ("list nodes", "list pods")]
    questions = (question for need in check.needs for question in commands.ASKED_OF_NEED.get(need, ()))
    actions = dict.fromkeys(
        action for question in questions if question not in commands.WHOSE for action in question.actions
    )
    return check.codes[0].name, ", ".join(map(code, here)) or "–", ", ".join(map(code, actions)) or "–"
