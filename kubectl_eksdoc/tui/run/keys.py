"""The keys of a run: none of them is Enter, and none that stops or gives back does so without asking."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.flows.run.draining import Wish
from kubectl_eksdoc.tui.keys import Key, Page, Part
from kubectl_eksdoc.tui.run.state import RunState

_RUN, _LOG = (Page.RUN,), (Page.LOG,)

RUN_KEYS: tuple[Key, ...] = (
    Key("run-pause", "space", "space", "pause", "pause, or go on", Part.RUN, (), 1),
    Key("run-hold", "p", "p", "hold", "pause, and never go on", Part.RUN),
    Key("run-stop", "a", "a", "stop", "stop…", Part.RUN, (), 2),
    Key("run-give-back", "R", "R", "give_back", "give nodes back…", Part.RUN, (), 3),
    Key("run-alone", "n", "n", "leave_alone", "leave the node under the cursor alone…", Part.RUN, _RUN),
    Key("run-go-on", "o", "o", "go_on", "go on with a stopped run…", Part.RUN, (), 2),
    Key("run-others", "L", "L", "others", "the other runs of this cluster", Part.RUN),
    Key("run-follow", "f", "f", "follow", "follow what is new", Part.LOOK, _LOG, 5),
    Key("run-level", "v", "v", "level", "all, or only what went wrong", Part.LOOK, _LOG, 4),
    Key("run-filter", "slash", "/", "filter", "look for", Part.LOOK, _LOG, 6),
    Key("run-ticket", "m", "m", "ticket", "copy what came of it, as markdown", Part.LOOK, (), 8),
    Key("run-save", "ctrl+s", "ctrl+s", "save", "save what came of it, as markdown", Part.LOOK),
    Key("run-command", "C", "C", "command", "copy the command that shows it", Part.LOOK, (), 9),
    Key("run-live", "5", "5", "page", "the run", Part.ANYWHERE, given=Page.RUN),
    Key("run-log", "6", "6", "page", "its log", Part.ANYWHERE, (), 7, given=Page.LOG),
    Key("run-plan", "1,2,3,4", "1-4", "plan", "the plan; the run goes on", Part.ANYWHERE),
    Key("run-help", "question_mark", "?", "help", "help", Part.ANYWHERE, (), 4),
    Key("run-back", "escape,q", "esc q", "back", "back; a run is never left by it", Part.ANYWHERE),
)


def why_not(key: Key, state: RunState, page: Page) -> str:
    """One clause, "" where the key does what it says."""
    if key.pages and page not in key.pages:
        return f"{key.words} is a key of [{key.pages[0].value}]"
    if key.action in ("pause", "hold"):
        return _why_no_pause(state) or ("it is paused already" if key.action == "hold" and state.is_paused else "")
    if key.action == "stop" and (state.over or state.wished is Wish.LEAVE):
        return "it is over" if state.over else "it leaves at once already"
    if key.action == "leave_alone" and (state.over or not state.drains):
        return "it is over" if state.over else "nothing is drained"
    if key.action == "give_back" and not state.drains:
        return "this gives nodes back already"
    if key.action == "go_on":
        if not state.over:
            return "it is not over"
        return "" if state.outcome is not None and state.outcome.bad and state.drains else "nothing is left of it"
    if key.action == "others" and not state.over:
        return "this run is under way"
    if key.action in ("ticket", "save") and not state.over:
        return "it is not over yet"
    return ""


def _why_no_pause(state: RunState) -> str:
    if state.over:
        return "it is over"
    if not state.drains:
        return "giving nodes back is not paused: it takes a moment"
    return "it is stopping, and asks for nothing more" if state.wished in (Wish.STOP, Wish.LEAVE) else ""


def run_foot(state: RunState, page: Page, keys: Sequence[Key] = RUN_KEYS) -> str:
    """``space pause  a stop…``: the most useful first; keys that do nothing now are left out."""
    kept = sorted((key for key in keys if key.foot and not why_not(key, state, page)), key=lambda key: key.foot)
    parts = [f"{key.shown} {_short(key, state)}" for key in kept]
    return "  ".join([*parts, "1-4 the plan", "esc back" if state.over else ""]).rstrip()


def _short(key: Key, state: RunState) -> str:
    if key.action == "pause":
        return "go on" if state.is_paused else "pause"
    return key.words.split(",")[0].split(" as ")[0]
