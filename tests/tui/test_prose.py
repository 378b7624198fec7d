"""Text in panels and dialogs: wrapped under its words, not under its label."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kubectl_eksdoc.tui.sheets.pods import cells
from kubectl_eksdoc.tui.widgets.panel import hanging


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("s       stop and wait until it has gone", ["s       stop and wait until", "        it has gone"]),
        ("Will not  delete nodes or pods by itself", ["Will not  delete nodes or", "          pods by itself"]),
        ("✗ kafka waits: its budget has no room", ["✗ kafka waits: its budget", "  has no room"]),
        ("    kubectl eksdoc drain status run-1234", ["    kubectl eksdoc drain", "    status run-1234"]),
        ("no label at all, and a long sentence", ["no label at all, and a long", "sentence"]),
        ("", [""]),
    ],
)
def test_what_is_wrapped_stands_under_the_words(line: str, expected: list[str]) -> None:
    assert hanging(line, 28) == expected


def test_a_label_that_leaves_no_room_is_words_like_others() -> None:
    assert hanging("a very long label  and text", 20) == ["a very long label ", "and text"]


@given(st.text(alphabet="ab 가✗"), st.integers(4, 40))
@example("aaaaaaaa가  a가가가가가", 22)
def test_no_line_is_wider_than_there_is_room_and_no_sign_is_lost(line: str, room: int) -> None:
    parts = hanging(line, room)
    assert all(cells(part) <= room for part in parts)
    assert "".join(parts).replace(" ", "") == line.replace(" ", "")
