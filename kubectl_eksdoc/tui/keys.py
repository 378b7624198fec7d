"""The keys: one table of which bindings, the line at the foot and the help are made.

k9s' letters where k9s has one, vim's motion, lazygit's numbers and undo. Nothing that changes a cluster is on a letter
that moves elsewhere, on Enter or on a chord.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple


class Page(str, Enum):
    """What fills the screen; its number is its key."""

    PLAN = "1"
    HEADROOM = "2"
    WAVES = "3"
    BLOCKERS = "4"
    WHAT_IF = "="
    RUN = "5"
    LOG = "6"
    PODS = "pods"
    BUDGET = "budget"


class Place(NamedTuple):
    """A page, and what it is about: of `Page.PODS` the node, of `Page.BUDGET` the budget as ns/name."""

    page: Page
    about: str = ""


class Part(str, Enum):
    """Under which title the help lists it."""

    MOVE = "Move"
    MARK = "Mark"
    PLAN = "Plan"
    RUN = "Run"
    TIME = "Time"
    LOOK = "Look"
    ANYWHERE = "Anywhere"


@dataclass(frozen=True, slots=True)
class Key:
    """`id` names it in a keymap; `keys` as Textual spells them; `shown` as a person reads it; `pages` on which it does
    something (none: on all). `foot`: its place at the foot of the screen, 0 for only in the help. `given`: what its
    action is told, None for nothing."""

    id: str
    keys: str
    shown: str
    action: str
    words: str
    part: Part
    pages: tuple[Page, ...] = ()
    foot: int = 0
    given: int | str | Page | None = None


TYPED_AFTER = frozenset({"filter", "prompt"})
"""The actions of keys behind which a text is typed: they come before all others, so that the next key is in it however
fast it comes. (What is pressed behind m is a key; `screen.PlanScreen.on_key` sees both.)"""

_NODES = (Page.PLAN, Page.WAVES, Page.WHAT_IF, Page.PODS)

KEYS: tuple[Key, ...] = (
    Key("mark", "space", "space", "mark", "mark", Part.MARK, _NODES, 1),
    Key("mark-more", "m", "m", "mark_more", "mark…", Part.MARK, (Page.PLAN,), 2),
    Key("mark-range", "ctrl+@,ctrl+space", "ctrl+space", "mark_range", "mark range", Part.MARK, (Page.PLAN,)),
    Key("mark-none", "ctrl+backslash", "ctrl+\\", "mark_none", "clear marks", Part.MARK, _NODES),
    Key("parallel-down", "left_curly_bracket", "{", "parallel", "fewer nodes at once", Part.PLAN, given=-1),
    Key("parallel-up", "right_curly_bracket", "}", "parallel", "more nodes at once", Part.PLAN, given=1),
    Key("grace-down", "left_parenthesis", "(", "grace", "shorter grace", Part.PLAN, given=-1),
    Key("grace-up", "right_parenthesis", ")", "grace", "longer grace", Part.PLAN, given=1),
    Key("knobs", "o", "o", "knobs", "all knobs as a form", Part.PLAN),
    Key("later", "J", "J", "move_node", "one wave later", Part.PLAN, _NODES, given=1),
    Key("earlier", "K", "K", "move_node", "one wave earlier", Part.PLAN, _NODES, given=-1),
    Key("pin", "p", "p", "pin", "pin to its wave, or not", Part.PLAN, _NODES),
    Key("last", "P", "P", "pin_last", "pin behind all others", Part.PLAN, _NODES),
    Key("undo", "z", "z", "undo", "undo", Part.PLAN, (), 6),
    Key("redo", "Z", "Z", "redo", "redo", Part.PLAN),
    Key("compare", "equals_sign", "=", "compare", "pin as A, compare", Part.PLAN, (), 7),
    Key("run", "r", "r", "run", "run…", Part.RUN, (), 5),
    Key("dry-run", "D", "D", "dry_run", "dry run of the first round, on the server", Part.RUN),
    Key("cordon", "c", "c", "by_hand", "copy kubectl cordon of this node", Part.RUN, _NODES, given="cordon"),
    Key("uncordon", "u", "u", "by_hand", "copy kubectl uncordon of it", Part.RUN, _NODES, given="uncordon"),
    Key("show-run", "5,6", "5 6", "show_run", "the run, its log", Part.RUN),
    Key("runs", "L", "L", "runs", "the runs of this cluster: go on, give back", Part.RUN),
    Key("filter", "slash", "/", "filter", "filter (!inverse, -l labels)", Part.LOOK, (Page.PLAN,), 4),
    Key("sort-name", "N", "N", "sort", "sort by name, again: back", Part.LOOK, (Page.PLAN,), given="NODE"),
    Key("sort-age", "A", "A", "sort", "sort by age", Part.LOOK, (Page.PLAN,), given="AGE"),
    Key("sort-status", "S", "S", "sort", "sort by status", Part.LOOK, (Page.PLAN,), given="STATUS"),
    Key("sort-next", "O", "O", "sort_next", "sort by the next column", Part.LOOK, (Page.PLAN,)),
    Key("faults", "ctrl+z", "ctrl+z", "toggle", "only nodes at fault", Part.LOOK, (Page.PLAN,), given="faults"),
    Key("wide", "ctrl+w", "ctrl+w", "toggle", "columns in full, h l sideways", Part.LOOK, given="wide"),
    Key("head", "ctrl+e", "ctrl+e", "toggle", "hide the head, more rows", Part.LOOK, given="headless"),
    Key("copy", "y", "y", "copy", "copy the remedy's command", Part.LOOK, (Page.HEADROOM, Page.BLOCKERS), 3),
    Key("command", "C", "C", "command", "copy as a command", Part.LOOK, (), 9),
    Key("plan", "1", "1", "page", "nodes", Part.ANYWHERE, given=Page.PLAN),
    Key("headroom", "2", "2", "page", "budgets", Part.ANYWHERE, given=Page.HEADROOM),
    Key("waves", "3", "3", "page", "waves", Part.ANYWHERE, given=Page.WAVES),
    Key("blockers", "4,b", "4 b", "page", "blockers", Part.ANYWHERE, given=Page.BLOCKERS),
    Key("visited-before", "left_square_bracket", "[", "visited", "the page before", Part.ANYWHERE, given=-1),
    Key("visited-after", "right_square_bracket", "]", "visited", "the page after it", Part.ANYWHERE, given=1),
    Key("visited-last", "minus", "-", "last_page", "the last page, and back", Part.ANYWHERE),
    Key("prompt", "colon,ctrl+p", ":", "prompt", "go to a page by its name", Part.ANYWHERE),
    Key("kill", "ctrl+k", "ctrl+k", "nothing", "nothing: k9s kills with it", Part.ANYWHERE),
    Key("reload", "ctrl+r", "ctrl+r", "reload", "read the cluster anew", Part.ANYWHERE),
    Key("rights", "exclamation_mark", "!", "rights", "what is hidden from you", Part.ANYWHERE),
    Key("context", "x", "x", "context", "another context", Part.ANYWHERE),
    Key("help", "question_mark", "?", "help", "help", Part.ANYWHERE, (), 3),
    Key("back", "escape", "esc", "back", "back", Part.ANYWHERE),
    Key("quit", "q", "q", "leave", "back, then quit", Part.ANYWHERE),
)


_RANGES = {"1 2 3 4": "1-4"}


def foot(page: Page, keys: Sequence[Key] = KEYS) -> str:
    """``space mark  m mark…  { } ( ) knobs``: the most useful first, so that what does not fit matters least."""
    kept = sorted((key for key in keys if key.foot and (not key.pages or page in key.pages)), key=lambda key: key.foot)
    parts = [f"{key.shown} {key.words.split(',')[0].split(' (')[0]}" for key in kept]
    knobs = " ".join(key.shown for key in keys if key.action in ("parallel", "grace"))
    pages = " ".join(key.shown.split()[0] for key in keys if key.action == "page")
    return "  ".join([*parts[:3], f"{knobs} knobs", f"{_RANGES.get(pages, pages)} pages", *parts[3:]])
