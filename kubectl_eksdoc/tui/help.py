"""[?] Help: the keys by section, with search."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from kubectl_eksdoc.report.text import Column, Tone

from .keymap import PROMPT_COMMANDS, HelpPart, Keymap, ScreenPage
from .line_table import LineTable
from .panel import Prose
from .tables.pods import Line, Sheet, pad, sheet_of_rows

CURSOR_HELP = (
    ("j k down up", "row"),
    ("g G", "top, bottom"),
    ("ctrl+f ctrl+b", "page"),
    ("ctrl+d ctrl+u", "half page"),
)
OTHER_HELP = (("tab", "next panel"), ("enter", "read only: pods of a node or of a budget"))

DEFAULT_KEYMAP = Keymap()

_COMMAND_NAMES = {command.key: " ".join(command.names) for command in PROMPT_COMMANDS}
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
        self.query_one("#keys", Prose).show(help_lines(self._page, "", self._keymap))

    def action_page(self, key: str) -> None:
        """Scroll the list while the user types."""
        keys = self.query_one("#keys", Prose)
        scroll = {"up": keys.scroll_up, "down": keys.scroll_down, "pageup": keys.scroll_page_up}
        scroll.get(key, keys.scroll_page_down)(animate=False)

    @on(Input.Changed, "#search")
    def _searched(self, event: Input.Changed) -> None:
        self.query_one("#keys", Prose).show(help_lines(self._page, event.value, self._keymap))


def help_lines(page: ScreenPage, search_text: str, keymap: Keymap = DEFAULT_KEYMAP) -> list[Line]:
    """Lines by section; keys of other pages are marked, and problems of the user's keys are listed."""
    lines_found: list[Line] = [(problem, Tone.WARN) for problem in keymap.problems]
    for part in HelpPart:
        rows = [
            (key.shown, key.words, key.pages, _COMMAND_NAMES.get(key.id, "")) for key in keymap.keys if key.part is part
        ]
        rows += [(shown, words, (), "") for shown, words in (CURSOR_HELP if part is HelpPart.MOVE else ())]
        rows += [(shown, words, (), "") for shown, words in (OTHER_HELP if part is HelpPart.ANYWHERE else ())]
        matching_rows = [row for row in rows if search_text.lower() in f"{row[0]} {row[1]} {row[3]}".lower()]
        if matching_rows:
            lines_found.append((part.value, Tone.TITLE))
        for shown, description, pages, _ in matching_rows:
            pages_note = "" if not pages or page in pages else f"  (on {', '.join(each.value for each in pages)})"
            lines_found.append(f"  {pad(shown, 16)} {description}{pages_note}")
    return lines_found or [(f"no key has {search_text!r} in it", Tone.FAINT)]


# [x] The contexts of the kubeconfig, with search; Enter opens the same screens for one.


_COLUMNS = (Column("", min_width=2), Column("CONTEXT", cut_middle=True))


class ContextsScreen(ModalScreen[str]):
    """Dismissed with the chosen context, "" for none."""

    BINDINGS = [
        ("escape", "dismiss('')"),
        ("down,ctrl+n", "move(1)"),
        ("up,ctrl+p", "move(-1)"),
    ]

    def __init__(self, names: Sequence[str], current: str) -> None:
        """`current`: the open context, "" if it is not known."""
        super().__init__()
        self._names = names
        self._current = current

    def compose(self) -> ComposeResult:
        with Vertical(id="contexts") as box:
            box.border_title = "Contexts: type to search, enter opens, esc closes"
            yield Input(id="search", placeholder="search")
            yield LineTable(id="names", classes="-chosen")  # enter opens it while the search has the focus

    def on_mount(self) -> None:
        table = self.query_one("#names", LineTable)
        table.show(contexts_sheet(self._names, self._current, ""))
        table.go_to(self._current)
        self.query_one("#search").focus()

    def action_move(self, by: int) -> None:
        self.query_one("#names", LineTable).action_move(by)

    @on(Input.Changed, "#search")
    def _searched(self, event: Input.Changed) -> None:
        self.query_one("#names", LineTable).show(contexts_sheet(self._names, self._current, event.value))

    @on(Input.Submitted, "#search")
    def _chosen(self) -> None:
        self.dismiss(self.query_one("#names", LineTable).key or "")

    @on(LineTable.Opened)
    def _opened(self, event: LineTable.Opened) -> None:
        self.dismiss(event.key)


def contexts_sheet(names: Sequence[str], current: str, search_text: str) -> Sheet:
    """The contexts whose names contain `search_text`, in their order."""
    rows = [(name, ["»" if name == current else "", name]) for name in names if search_text.lower() in name.lower()]
    return sheet_of_rows(_COLUMNS, rows, "No context matches." if names else "The kubeconfig has none.", fill_column=1)
