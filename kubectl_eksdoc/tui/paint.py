"""Faster painting of screens. For any change, Textual requests all lines of every widget and frames each line again;
here only painted lines are requested, and framed lines are cached for scrolling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from rich.segment import Segment
from textual._compositor import Compositor
from textual._styles_cache import StylesCache
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.scrollbar import ScrollBar
from textual.strip import Strip

_MAX_FRAMED = 100


class Painter(Compositor):
    """Paints from front to back, until every line is full."""

    def render_update(self, *args: Any, **more: Any) -> Any:
        """Paint known changes at once; Textual would paint them a moment later, when their message arrives."""
        self.update_widgets(set(self.visible_widgets))
        return super().render_update(*args, **more)

    def _render_chops(self, crop: Region, is_rendered_line: Callable[[int], bool]) -> Sequence[Mapping[int, Strip]]:
        cuts = self.cuts
        painted: list[dict[int, Strip | None]] = [dict.fromkeys(line[:-1]) for line in cuts]
        empty = {y: len(painted[y]) for y in crop.line_range if is_rendered_line(y)}
        for widget, (region, clip) in self.visible_widgets.items():
            visible = region.intersection(clip)
            rows = [y for y in visible.line_range if empty.get(y)]
            if not rows:
                continue
            top, (first, last) = rows[0], visible.column_span
            lines = widget.render_lines(Region(visible.x - region.x, top - region.y, visible.width, rows[-1] - top + 1))
            for y in rows:
                line, columns = painted[y], [cut for cut in cuts[y] if first <= cut <= last]
                parts = lines[y - top].divide([cut - first for cut in columns[1:]])
                for column, strip in zip(columns, parts, strict=False):
                    if line[column] is None:
                        line[column] = strip
                        empty[y] -= 1
        return cast("Sequence[Mapping[int, Strip]]", painted)


class PaintedScreen(Screen[None]):
    """A screen with the faster painter."""

    ALLOW_SELECT = False  # table lines are not selectable: a double click would select head and foot instead

    def __init__(self) -> None:
        super().__init__()
        self._compositor = Painter()

    def handles_key(self, key: str) -> bool:
        """Whether the screen has handled the key, regardless of its binding."""
        return False


class FramedLines(StylesCache):
    """Frames of a widget whose unchanged lines stay the same objects, and are not blended. Mutable: the lines framed
    last, and the left and right frame segments by width of the line."""

    _frame: object = None

    def render(self, styles: Any, size: Size, *args: Any, **more: Any) -> list[Strip]:
        frame = (size, *args[:2], styles.border, more["content_size"], more["padding"])
        if frame != self._frame:
            self._frame = frame
            self._framed: dict[int, tuple[Strip, Strip]] = {}
            self._sides: dict[int, tuple[list[Segment], list[Segment]]] = {}
        return super().render(styles, size, *args, **more)

    def render_line(self, styles: Any, y: int, size: Size, content_size: Size, *args: Any) -> Strip:
        default_render: Any = super().render_line
        padding, base, background, content, *other_args = args
        place = y - styles.gutter.top
        line = content(place) if 0 <= place < content_size.height else None
        if line is None or line.cell_length > content_size.width:
            return cast(Strip, default_render(styles, y, size, content_size, *args))
        if len(self._framed) > _MAX_FRAMED:
            self._framed.clear()
        if id(line) not in self._framed:
            if line.cell_length not in self._sides:
                segments = list(
                    default_render(
                        styles, y, size, content_size, padding, base, background, lambda _: line, *other_args
                    )
                )
                left_count = bool(styles.border_left[0]) + bool(padding.left)
                self._sides[line.cell_length] = segments[:left_count], segments[left_count + len(line) :]
            left_side, right_side = self._sides[line.cell_length]
            self._framed[id(line)] = line, Strip([*left_side, *line, *right_side], size.width)
        return self._framed[id(line)][1]


def thumb_position(bar: ScrollBar, position: float) -> int:
    """The begin of the thumb if `position` is the first visible line, in eighths of a line of the bar."""
    lines, visible_lines, height = bar.window_virtual_size, bar.window_size, bar.size.height
    if lines <= visible_lines:
        return 0
    return int(8 * (height - max(1, height * visible_lines / lines)) * position / (lines - visible_lines))
