"""Commands that one click selects, and advice with its flags kept whole."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kubectl_eksdoc.render.html import Html, command, el, folded, put
from kubectl_eksdoc.render.text import counted

_FLAG = re.compile(r"(--[a-z][a-z-]+[a-z])")
_MOST = 5


def command_list(commands: Sequence[str]) -> Html:
    """Commands to copy; of very many the first few stand open."""
    kept = commands if len(commands) <= _MOST + 1 else commands[:_MOST]
    rest = commands[len(kept) :]
    more = folded(f"{counted(len(rest), 'command')} more like it", *(command(each) for each in rest)) if rest else ""
    return put(*(command(each) for each in kept), more)


def advice(when: str, said: str, commands: Sequence[str]) -> Html:
    """What to do, when, and the commands that do it."""
    head = el("p", el("span", when, class_="when"), el("span", flagged(said)), class_="said")
    return el("div", head, command_list(commands), class_="remedy")


def flagged(said: str) -> Html:
    """`said` with each flag kept on one line."""
    return put(*(el("span", part, class_="flag") if _FLAG.fullmatch(part) else part for part in _FLAG.split(said)))
