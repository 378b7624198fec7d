"""How much room text takes on a terminal: Korean, Chinese and Japanese signs take two columns each."""

from __future__ import annotations

from rich.cells import cell_len, chop_cells


def cells(text: str) -> int:
    """In columns of the terminal. Most text is ASCII, of which that is the number of signs."""
    return len(text) if text.isascii() else cell_len(text)


def padded(text: str, room: int) -> str:
    """With spaces behind it, so that it takes at least `room` columns."""
    return text + " " * (room - cells(text))


def wrapped(text: str, room: int) -> list[str]:
    """Lines of at most `room` columns, broken at spaces; a word that is too long is broken."""
    lines, line = [], ""
    for word in text.split(" "):
        if line and cells(line) + 1 + cells(word) > room:
            lines.append(line)
            line = ""
        line = f"{line} {word}" if line else word
        if cells(line) > room:
            *full, line = chop_cells(line, room)
            lines += full
    return [*lines, line]
