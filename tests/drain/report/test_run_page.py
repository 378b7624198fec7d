"""The HTML page of a run shows the content of its journal, and "unknown" where the journal has nothing."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from kubectl_eksdoc.cli.main import run
from kubectl_eksdoc.drain.report.run_page import page
from kubectl_eksdoc.drain.run.events import DrainEvent, DrainEventKind
from kubectl_eksdoc.drain.run.progress import Reason, RunProgress
from kubectl_eksdoc.drain.timeline import NodeSpan
from kubectl_eksdoc.report.text import Appearance
from tests.tui.replay.shown import EVENTS, JOURNAL, recording_of


def read(text: str) -> tuple[str, ET.Element]:
    """Return the page's words, and the parsed document: it is XML except for its first line."""
    tree = ET.fromstring(text.split("\n", 1)[1])
    return " ".join(" ".join(tree.itertext()).split()), tree


def test_events_tell_what_was_waited_for_and_a_journal_does_not() -> None:
    events, tree = read(page(recording_of(EVENTS), Appearance()))
    assert [each.get("id") for each in tree.iter("section")] == ["timeline", "nodes", "waits", "refused", "log"]
    assert "Left alone" in events and "not drained" in events
    journal, _ = read(page(recording_of(JOURNAL), Appearance()))
    assert "Unknown: a journal does not have it." in journal and "these are unknown here" in journal


def test_a_reason_stands_there_once_however_often_it_was_looked_at() -> None:
    told = recording_of(EVENTS)
    looks = [f"replacement shop/web on green-1 is not Ready (Pending), seen for {seconds} s" for seconds in (9, 19, 29)]
    standings = tuple(RunProgress(0.0, 1, 1, (), 1, (), (), (), (), reasons=(Reason("", why),)) for why in looks)
    words, _ = read(page(replace(told, progress_records=standings), Appearance()))
    assert words.count("replacement shop/web") == 1 and "seen for 29 s" in words


def test_the_plan_is_drawn_below_what_was_done_where_it_is_known() -> None:
    told = recording_of(EVENTS)
    aims = {aim.node: NodeSpan(aim.node, 1.0, 5.0, 9.0) for aim in told.planned_nodes}
    words, tree = read(page(told, Appearance(), aims))
    assert "as planned (p50)" in words and ", planned 1s to 9s" in words
    assert any(each.get("class") == "slow" for each in tree.iter("rect"))
    assert "as planned (p50)" not in read(page(told, Appearance()))[0]


def test_names_are_text_whatever_they_are_and_nothing_is_drawn_of_nothing() -> None:
    told = recording_of(EVENTS)
    evil = DrainEvent(1.0, DrainEventKind.REFUSED, "shop/<b>&x", told.planned_nodes[0].node, "</td><script>")
    text = page(replace(told, events=(evil,)), Appearance(ascii=True))
    assert text.isascii() and "<script" not in text and "shop/<b>&x" in read(text)[0]
    empty, tree = read(page(replace(told, events=(), planned_nodes=(), progress_records=(), outcome=""), Appearance()))
    assert "its end was not recorded" in empty and [each.get("id") for each in tree.iter("section")] == ["waits"]


@pytest.mark.parametrize("path", [EVENTS, JOURNAL])
def test_drain_status_prints_it(path: Path) -> None:
    out, err = io.StringIO(), io.StringIO()
    assert run(["drain", "status", "--replay", str(path), "-o", "html"], out, err) == 0
    assert "<h1>Drain run" in out.getvalue() and not err.getvalue().startswith("error")
