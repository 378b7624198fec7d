"""[?] Help: the keys by section, with search."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from kubectl_eksdoc.report.text import Column, Tone

from .keymap import COMMANDS, HelpPart, Keymap, ScreenPage
from .line_table import LineTable
from .panel import Prose
from .tables.pods import Line, Sheet, of_rows, padded

MOTION = (("j k down up", "row"), ("g G", "top, bottom"), ("ctrl+f ctrl+b", "page"), ("ctrl+d ctrl+u", "half page"))
MORE = (("tab", "next panel"), ("enter", "read only: pods of a node or of a budget"))

AS_IT_COMES = Keymap()

_ALSO = {command.key: " ".join(command.names) for command in COMMANDS}
"""The command names of each key id after the colon: the search finds ``drain``, too."""


class HelpScreen(ModalScreen[None]):
    VERTICAL_BREAKPOINTS = [(0, "-short"), (30, "-tall")]
    BINDINGS = [
        ("escape", "dismiss"),
        *((key, f"page('{key}')") for key in ("up", "down", "pageup", "pagedown")),
    ]

    def __init__(self, page: ScreenPage, keymap: Keymap) -> None:
        super().__init__()
        self._page = page
        self._keymap = keymap

    def compose(self) -> ComposeResult:
        with Vertical(id="help") as box:
            box.border_title = "Keys here: type to search, arrows scroll, esc closes"
            yield Input(id="search", placeholder="search")
            yield Prose(id="keys")

    def on_mount(self) -> None:
        self.query_one("#search").focus()
        self.query_one("#keys", Prose).show(lines(self._page, "", self._keymap))

    def action_page(self, key: str) -> None:
        """Scroll the list while the user types."""
        keys = self.query_one("#keys", Prose)
        scroll = {"up": keys.scroll_up, "down": keys.scroll_down, "pageup": keys.scroll_page_up}
        scroll.get(key, keys.scroll_page_down)(animate=False)

    @on(Input.Changed, "#search")
    def _searched(self, event: Input.Changed) -> None:
        self.query_one("#keys", Prose).show(lines(self._page, event.value, self._keymap))


def lines(page: ScreenPage, wanted: str, keymap: Keymap = AS_IT_COMES) -> list[Line]:
    """Lines by section; keys of other pages are marked, and problems of the user's keys are listed."""
    found: list[Line] = [(wrong, Tone.WARN) for wrong in keymap.wrong]
    for part in HelpPart:
        rows = [(key.shown, key.words, key.pages, _ALSO.get(key.id, "")) for key in keymap.keys if key.part is part]
        rows += [(shown, words, (), "") for shown, words in (MOTION if part is HelpPart.MOVE else ())]
        rows += [(shown, words, (), "") for shown, words in (MORE if part is HelpPart.ANYWHERE else ())]
        kept = [row for row in rows if wanted.lower() in f"{row[0]} {row[1]} {row[3]}".lower()]
        if kept:
            found.append((part.value, Tone.TITLE))
        for shown, said, pages, _ in kept:
            elsewhere = "" if not pages or page in pages else f"  (on {', '.join(each.value for each in pages)})"
            found.append(f"  {padded(shown, 16)} {said}{elsewhere}")
    return found or [(f"no key has {wanted!r} in it", Tone.FAINT)]


# [x] The contexts of the kubeconfig, with search; Enter opens the same screens for one.


_COLUMNS = (Column("", floor=2), Column("CONTEXT", middle=True))


class ContextsScreen(ModalScreen[str]):
    """Dismissed with the chosen context, "" for none."""

    BINDINGS = [
        ("escape", "dismiss('')"),
        ("down,ctrl+n", "move(1)"),
        ("up,ctrl+p", "move(-1)"),
    ]

    def __init__(self, names: Sequence[str], now: str) -> None:
        """`current`: the open context, "" if it is not known."""
        super().__init__()
        self._names = names
        self._now = now

    def compose(self) -> ComposeResult:
        with Vertical(id="contexts") as box:
            box.border_title = "Contexts: type to search, enter opens, esc closes"
            yield Input(id="search", placeholder="search")
            yield LineTable(id="names", classes="-chosen")  # enter opens it while the search has the focus

    def on_mount(self) -> None:
        table = self.query_one("#names", LineTable)
        table.show(sheet(self._names, self._now, ""))
        table.go_to(self._now)
        self.query_one("#search").focus()

    def action_move(self, by: int) -> None:
        self.query_one("#names", LineTable).action_move(by)

    @on(Input.Changed, "#search")
    def _searched(self, event: Input.Changed) -> None:
        self.query_one("#names", LineTable).show(sheet(self._names, self._now, event.value))

    @on(Input.Submitted, "#search")
    def _chosen(self) -> None:
        self.dismiss(self.query_one("#names", LineTable).key or "")

    @on(LineTable.Opened)
    def _opened(self, event: LineTable.Opened) -> None:
        self.dismiss(event.key)


def sheet(names: Sequence[str], now: str, wanted: str) -> Sheet:
    """The contexts whose names contain `search_text`, in their order."""
    rows = [(name, ["»" if name == now else "", name]) for name in names if wanted.lower() in name.lower()]
    return of_rows(_COLUMNS, rows, "No context matches." if names else "The kubeconfig has none.", fill=1)
