"""Tables of the README, generated from the data of the command line."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from kubectl_eksdoc.cli import rights, streams
from kubectl_eksdoc.cli.rights import Right
from kubectl_eksdoc.objects.dump_intake import CRD_PLURAL


def exit_codes() -> str:
    return table(("exit", "meaning"), [(str(code), meaning) for code, meaning in streams.MEANINGS.items()])


def dump() -> str:
    """The commands that dump all objects that a plan reads: a file for each kind, so that a kind without objects is
    recorded too.

    The definitions of custom resources distinguish a kind that the cluster does not have from one that was not dumped.
    """
    plurals = textwrap.wrap(" ".join([*(r.resource.plural for r in rights.DRAIN_PLAN), CRD_PLURAL]), 100)
    kinds = " \\\n    ".join(plurals)
    body = 'do kubectl get "$kind" -A -o json > "dump/$kind.json" || rm "dump/$kind.json"; done'
    return f"```sh\nmkdir dump\nfor kind in {kinds}\n{body}\n```\n"


def named(right: Right) -> str:
    """With the opt-in that grants it."""
    granted = (f"with `{right.flag}`" if right.flag else "", f"opt-in {right.opt_in.name}" if right.opt_in else "")
    return ", ".join((code(str(right)), *filter(None, granted)))


def placed(right: Right) -> str:
    """As `named`, and with its namespace, if it is not needed in all."""
    where = rights.scope_text(right)
    return named(right) if where == "everywhere" else f"{named(right)} {where}"


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)
