"""What every page can do."""

from __future__ import annotations

from textual.containers import Vertical

from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.text import cut, shown
from kubectl_eksdoc.tui.model import Model
from kubectl_eksdoc.tui.widgets.line_table import LineTable

_FRAME = 6
"""So many columns of a frame are not for its title."""


class PageOf(Vertical):
    """A page is shown from the model, and knows which node is under its cursor."""

    def show(self, model: Model) -> None:
        raise NotImplementedError

    def said(self, text: str) -> str:
        """`text` for the frame of a part: in the signs that may be used, and without markup."""
        look = Look(ascii=getattr(self.app, "only_ascii", False))
        said = shown(text, look)
        if look.ascii:  # Textual itself would cut it with a sign that is none
            said = cut(said, self.app.size.width - _FRAME, look)
        return said.replace("[", r"\[")

    def frame(self, table: LineTable, model: Model, *told: str) -> None:
        """`told` stands in the lower frame, and how it is looked at; before its rows are shown."""
        table.wide = model.seen.wide
        looked = (("wide, h l sideways", model.seen.wide), ("without the head", model.seen.headless))
        table.subtitle(self.said(" · ".join([*filter(None, told), *(words for words, on in looked if on)])))

    @property
    def table(self) -> LineTable:
        """The one that has the focus when the page is opened."""
        return self.query(LineTable).first()

    @property
    def node(self) -> str | None:
        """The node under the cursor; None where a row is no node."""
        return None

    def moved(self, table: LineTable, key: str, model: Model) -> None:
        """The cursor of one of its tables stands elsewhere."""
