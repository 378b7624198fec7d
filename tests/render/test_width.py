"""The table fits the terminal, whatever the names; only commands to copy may be longer."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.render.drain.findings import grouped, unread
from kubectl_eksdoc.render.drain.report import DrainReport
from kubectl_eksdoc.render.drain.steps import steps
from kubectl_eksdoc.render.text import Cell, Column, Look, plain
from tests.examples import one_in
from tests.render.comparisons import BASELINE, a_compared_view
from tests.render.plans import NODES, PLAN, a_target, a_view

render = DrainReport.render

EC2 = "ip-10-0-30-244.eu-central-1.compute.internal"
PAINT = re.compile(r"\x1b\[[0-9;]*m")


def with_long_names() -> DrainReport:
    """Nodes as EC2 names them, in a group with a long name."""
    targets = tuple(
        replace(
            target,
            node=replace(
                target.node,
                name=f"{target.node.name}-{EC2}",
                labels=dict(target.node.labels) | {"eks.amazonaws.com/nodegroup": "general-purpose-on-demand-blue"},
            ),
        )
        for target in PLAN.targets
    )
    budgets = tuple(
        replace(
            h, budget=replace(h.budget, name=f"{h.budget.name}-{'long-' * 12}", namespace="team-checkout-and-payment")
        )
        for h in PLAN.budgets
    )
    return a_view(replace(PLAN, targets=targets, budgets=budgets))


def compared_with_long_names() -> DrainReport:
    """A baseline far down in folders, of nodes as EC2 names them and budgets with long names."""
    before = BASELINE.outline
    return a_compared_view(
        replace(
            BASELINE,
            file=f"/home/on-call/{'plans/' * 40}old.json",
            options={"nodes": [f"ip-10-0-{n}-{EC2}" for n in range(30)]},
            outline=replace(
                before,
                targets=tuple(replace(t, name=f"{t.name}-{EC2}", why=(EC2 * 9,)) for t in before.targets),
                budgets=tuple(replace(b, key=f"{b.key}-{'long-' * 12}") for b in before.budgets),
                findings=tuple(
                    replace(f, subject=replace(f.subject, name=f"{f.subject.name}-{'long-' * 12}"))
                    for f in before.findings
                ),
            ),
        )
    )


def too_wide(view: DrainReport, look: Look) -> list[str]:
    commands = {r.command for f in view.plan.findings for r in f.remedy}
    commands |= {c for h in view.plan.handoffs for step in (*h.arrive, *h.leave) for c in step.commands}
    commands |= {step.command for step in steps(view)}
    commands |= {c for g in grouped(view.unknowns, view) for _, commands_ in unread(g, view) for c in commands_}
    lines = PAINT.sub("", render(view, "table", look)).splitlines()
    return [line for line in lines if len(line) > look.width and line.strip() not in commands]


@pytest.mark.parametrize("width", one_in(2, [60, 80, 100, 120, 200]))
@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize(
    "view",
    [a_view(), with_long_names(), a_compared_view(), compared_with_long_names()],
    ids=["short", "long", "compared", "compared long"],
)
def test_no_line_is_wider_than_the_terminal(view: DrainReport, width: int, ascii_only: bool) -> None:
    assert too_wide(view, Look(width=width, ascii=ascii_only)) == []
    assert too_wide(view, Look(width=width, ascii=ascii_only, colour=True)) == []


def test_commands_are_never_broken() -> None:
    brief, text = (render(a_view(), fmt, Look(width=60)) for fmt in ("table", "wide"))
    for finding in PLAN.findings[:1]:
        assert f"\n        {finding.remedy[0].command}\n" in brief, "the first, which helps now"
        for remedy in finding.remedy:
            assert f"\n        {remedy.command}\n" in text


@pytest.mark.parametrize("fmt", ["table", "wide"])
@pytest.mark.parametrize("width", [80, 120])
def test_colour_changes_nothing_but_colour(fmt: str, width: int) -> None:
    coloured = render(a_view(), fmt, Look(width=width, colour=True))
    assert "\x1b[" in coloured
    assert PAINT.sub("", coloured) == render(a_view(), fmt, Look(width=width))


@pytest.mark.parametrize("fmt", ["table", "wide", "markdown", "html", "json", "yaml", "name"])
def test_ascii_is_ascii(fmt: str) -> None:
    assert render(a_view(), fmt, Look(ascii=True)).isascii()


@pytest.mark.parametrize("fmt", ["table", "wide"])
def test_no_headers_leaves_out_exactly_the_headers_of_the_tables(fmt: str) -> None:
    bare = render(a_view(), fmt, Look(headers=False))
    assert not re.search(r"\b(VERDICT|KUBELET|ALLOWED|BECAUSE)\b", bare)
    assert "old-1" in bare and "shop/sale" in bare


@pytest.mark.parametrize("width", [120, 200])
def test_names_of_nodes_are_whole_where_there_is_room(width: int) -> None:
    text = render(with_long_names(), "table", Look(width=width))
    assert all(f"{name}-{EC2}" in text for name in NODES)


def test_numbers_stand_right() -> None:
    columns = [Column("NAME"), Column("COUNT", right=True)]
    assert plain(columns, [["a", "7"], ["bb", "1234567"]], Look()) == [
        "NAME    COUNT",
        "a           7",
        "bb    1234567",
    ]


def test_columns_go_in_the_order_of_their_drop_and_text_is_cut_after_that() -> None:
    columns = [Column("NAME"), Column("EXTRA", drop=2), Column("MORE", drop=1), Column("WHY", floor=10)]
    row = ["n" * 20, "e" * 20, "m" * 10, "w" * 40]
    assert plain(columns, [row], Look(width=120))[0].split() == ["NAME", "EXTRA", "MORE", "WHY"]
    assert plain(columns, [row], Look(width=60))[0].split() == ["NAME", "MORE", "WHY"]
    (line,) = plain(columns, [row], Look(width=60, headers=False))
    assert len(line) == 60 and line.endswith("w…")


def test_a_table_without_rows_has_no_lines() -> None:
    assert plain([Column("NAME")], [], Look()) == []


def test_text_of_several_lines_is_cut_at_the_last() -> None:
    columns = [Column("NAME"), Column("WHY", floor=10, lines=2)]
    assert plain(columns, [["n" * 40, "one two three four five six seven eight"]], Look(width=60, headers=False)) == [
        "n" * 40 + "  one two three four",
        " " * 42 + "five six seven ei…",
    ]


names = st.text(st.characters(blacklist_categories=("Cs",)), max_size=60)


@given(
    st.lists(st.tuples(names, names, names), min_size=1, max_size=4), st.integers(60, 130), st.booleans(), st.booleans()
)
def test_any_table_fits(rows: list[tuple[str, str, str]], width: int, ascii_only: bool, headers: bool) -> None:
    columns = [Column("NAME", middle=True), Column("COUNT", right=True, drop=1), Column("WHY", floor=12, lines=3)]
    look = Look(width=width, ascii=ascii_only, headers=headers)
    for line in plain(columns, [[a, b, Cell(c)] for a, b, c in rows], look, indent=2):
        assert len(line) <= width


def test_a_target_of_the_table_has_its_signs_in_words() -> None:
    """A sign is never alone: whoever cannot see it reads the word beside it."""
    text = render(a_view(), "table", Look(ascii=True))
    for words in ("+ drains", "! partial", "x skipped", "x refused", "? unknown"):
        assert words in text
    assert a_target("old-0").verdict.value in text
