"""The table fits the terminal, for any names; only commands to copy may be longer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.drain.report.formats import DrainReport
from kubectl_eksdoc.report.text import Appearance, Cell, Column, format_table
from tests.drain.report.plans import EC2, NODES, PLAN, a_view, with_long_names

render = DrainReport.render


def test_commands_are_never_broken() -> None:
    brief, text = (render(a_view(), fmt, Appearance(width=60)) for fmt in ("table", "wide"))
    for finding in PLAN.findings[:1]:
        assert f"\n        {finding.remedy[0].command}\n" in brief, "the first, which helps now"
        for remedy in finding.remedy:
            assert f"\n        {remedy.command}\n" in text


@pytest.mark.parametrize("width", [120, 200])
def test_names_of_nodes_are_whole_where_there_is_room(width: int) -> None:
    text = render(with_long_names(), "table", Appearance(width=width))
    assert all(f"{name}-{EC2}" in text for name in NODES)


def test_numbers_stand_right() -> None:
    columns = [Column("NAME"), Column("COUNT", align_right=True)]
    assert format_table(columns, [["a", "7"], ["bb", "1234567"]], Appearance()) == [
        "NAME    COUNT",
        "a           7",
        "bb    1234567",
    ]


def test_columns_go_in_the_order_of_their_drop_and_text_is_cut_after_that() -> None:
    columns = [Column("NAME"), Column("EXTRA", drop_order=2), Column("MORE", drop_order=1), Column("WHY", min_width=10)]
    row = ["n" * 20, "e" * 20, "m" * 10, "w" * 40]
    assert format_table(columns, [row], Appearance(width=120))[0].split() == ["NAME", "EXTRA", "MORE", "WHY"]
    assert format_table(columns, [row], Appearance(width=60))[0].split() == ["NAME", "MORE", "WHY"]
    (line,) = format_table(columns, [row], Appearance(width=60, headers=False))
    assert len(line) == 60 and line.endswith("w…")


def test_a_table_without_rows_has_no_lines() -> None:
    assert format_table([Column("NAME")], [], Appearance()) == []


def test_text_of_several_lines_is_cut_at_the_last() -> None:
    columns = [Column("NAME"), Column("WHY", min_width=10, max_lines=2)]
    assert format_table(
        columns, [["n" * 40, "one two three four five six seven eight"]], Appearance(width=60, headers=False)
    ) == [
        "n" * 40 + "  one two three four",
        " " * 42 + "five six seven ei…",
    ]


names = st.text(st.characters(blacklist_categories=("Cs",)), max_size=60)


@given(
    st.lists(st.tuples(names, names, names), min_size=1, max_size=4), st.integers(60, 130), st.booleans(), st.booleans()
)
def test_any_table_fits(rows: list[tuple[str, str, str]], width: int, ascii_only: bool, headers: bool) -> None:
    columns = [
        Column("NAME", cut_middle=True),
        Column("COUNT", align_right=True, drop_order=1),
        Column("WHY", min_width=12, max_lines=3),
    ]
    look = Appearance(width=width, ascii=ascii_only, headers=headers)
    for line in format_table(columns, [[a, b, Cell(c)] for a, b, c in rows], look, indent=2):
        assert len(line) <= width
