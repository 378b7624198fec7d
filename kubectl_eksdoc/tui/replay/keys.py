"""The keys of a run that is shown again: its time is moved, and nothing else."""

from __future__ import annotations

from kubectl_eksdoc.tui.keys import Key, Page, Part
from kubectl_eksdoc.tui.replay.live import ReplayState
from kubectl_eksdoc.tui.run.keys import RUN_KEYS

JUMP_S = 10.0

_AS_LIVE = ("run-follow", "run-level", "run-filter", "run-live", "run-log", "run-help", "run-command")

REPLAY_KEYS: tuple[Key, ...] = (
    Key("play", "space,p", "space", "play", "play, or stand still", Part.TIME, (), 1),
    Key("slower", "less_than_sign", "<", "speed", "slower", Part.TIME, given=-1),
    Key("faster", "greater_than_sign", ">", "speed", "faster", Part.TIME, given=1),
    Key("ten-back", "left", "left", "jump", "10 s back", Part.TIME, given=-1),
    Key("ten-on", "right", "right", "jump", "10 s on", Part.TIME, given=1),
    Key("wrong-before", "left_square_bracket", "[", "wrong", "what went wrong before", Part.TIME, given=-1),
    Key("wrong-next", "right_square_bracket", "]", "wrong", "what goes wrong next", Part.TIME, given=1),
    Key("moment-before", "comma", ",", "moment", "the moment before", Part.TIME, given=-1),
    Key("moment-next", "full_stop", ".", "moment", "the next moment", Part.TIME, given=1),
    Key("begin", "0,home", "0 home", "begin", "its begin", Part.TIME),
    Key("end", "end,dollar_sign", "$ end", "end", "its end", Part.TIME),
    *(key for key in RUN_KEYS if key.id in _AS_LIVE),
    Key("leave", "escape,q", "esc q", "back", "back, then out", Part.ANYWHERE),
)

LIVE_KEYS = tuple(key for key in RUN_KEYS if key not in REPLAY_KEYS and key.action not in ("pause", "hold", "back"))
"""They say why they do nothing here."""

FIRST = frozenset(("ten-back", "ten-on", "begin", "end"))
"""Their names: tables would scroll by them."""

_OVER = {
    "plan": "a replay has no plan: only what the run did was written down",
    "ticket": "a replay has no markdown: drain run -o markdown makes it, and drain status tells what is left",
    "save": "a replay has no markdown: drain run -o markdown makes it, and drain status tells what is left",
}
_NOTHING = "this shows a run again: nothing can be begun, stopped or given back from here"


def why_not(key: Key, page: Page) -> str:
    """One clause, "" where the key does what it says."""
    if key not in REPLAY_KEYS:
        return _OVER.get(key.action, _NOTHING)
    if key.pages and page not in key.pages:
        return f"{key.words} is a key of [{key.pages[0].value}]"
    return ""


def replay_foot(state: ReplayState, page: Page) -> str:
    """``space stand still  < > speed``: the most useful first."""
    play = "play again" if state.replay.at_end else "play" if state.replay.paused else "stand still"
    parts = [f"space {play}", "< > speed", "[ ] went wrong", ", . moment"]
    pages = ["v level", "/ look for", "enter whole", "5 nodes"] if page is Page.LOG else ["6 log"]
    return "  ".join([*parts, *pages, "? help", "q leave", "left right 10 s", "0 $ ends"])
