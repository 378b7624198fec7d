"""How to get what a finding lacks: the steps for all the kinds a dump does not hold as one."""

from __future__ import annotations

import re
from dataclasses import replace

from kubectl_eksdoc.render.drain.groups import Advice, Group
from kubectl_eksdoc.render.drain.invocation import DUMP, dump_folder
from kubectl_eksdoc.render.drain.view import DrainView

_ADD = re.compile(r"(kubectl get \S+ -A -o json > )([\w.-]+\.json)")


def unread(group: Group, view: DrainView) -> tuple[Advice, ...]:
    """The remedies of `group`; those that add kinds to a dump are one, and write into the dump's folder."""
    into = dump_folder(view)
    others: list[Advice] = []
    adding: list[tuple[Advice, str]] = []
    for advice in group.remedies:
        match = _ADD.fullmatch(advice[0].command)
        if match:
            adding.append((advice, f"{match[1]}{into}/{match[2]}"))
        else:
            others.append(advice)
    if not adding:
        return tuple(others)
    what = "it" if len(adding) == 1 else "them"
    where = f" ({DUMP} stands for its folder)" if into == DUMP else ""
    remedy = replace(adding[0][0][0], text=f"Add {what} to the dump{where}, then plan again.")
    return ((remedy, tuple(command for _, command in adding)), *others)
