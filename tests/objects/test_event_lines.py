"""What ``drain run -o json`` writes is read back; whatever else stands between is told, and takes no line with it."""

from __future__ import annotations

import codecs
import json
from datetime import datetime, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.drain.run.moments import Happened, RunMoment
from kubectl_eksdoc.drain.run.replay import of_events
from kubectl_eksdoc.model.journal import RunEvent
from kubectl_eksdoc.objects.journal_lines import read_events
from kubectl_eksdoc.render.run.events import event_line
from tests.builders import NOW
from tests.examples import examples

LINE = event_line(RunMoment(2.5, Happened.EVICTED, "shop/a", "old-0"), "r1", NOW)
END: dict[str, Any] = {
    "apiVersion": "eksdoc.io/v1alpha1",
    "kind": "DrainRun",
    "run": "r1",
    "outcome": "done",
    "endedSeconds": 3.5,
    "plan": {"evictions": 1, "estimate": None},
    "nodes": [{"name": "old-0", "wave": None}],
}

MOMENTS = st.builds(
    RunMoment,
    st.floats(0, 10**6),
    st.sampled_from(Happened),
    st.text(min_size=1, max_size=8),
    st.text(max_size=8),
    st.text(max_size=8),
)
TIMES = st.datetimes(datetime(1971, 1, 1), datetime(2999, 1, 1), timezones=st.just(timezone.utc))  # noqa: DTZ001


@given(MOMENTS, TIMES)
def test_every_event_comes_back(moment: RunMoment, at: datetime) -> None:
    read = read_events(event_line(moment, "r1", at).encode(), "here")
    at_s = round(moment.at_s, 3)
    told = RunEvent("r1", at.replace(microsecond=0), at_s, moment.what.value, moment.subject, moment.node, moment.why)
    assert read.told == (told,) and not read.dropped


@given(st.lists(st.binary(max_size=40) | st.just(LINE.encode()), max_size=6))
def test_garbage_between_takes_no_event_with_it(parts: list[bytes]) -> None:
    read = read_events(b"\n".join(parts), "here")
    assert len(read.told) == sum(part == LINE.encode() for part in parts)
    of_events(read)


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@settings(max_examples=examples(300))
@given(st.sampled_from([json.loads(LINE), END]), st.dictionaries(st.sampled_from([*json.loads(LINE), *END]), JSONS))
def test_whatever_a_field_holds(document: dict[str, Any], changed: dict[str, Any]) -> None:
    text = f"{LINE}{json.dumps({**document, **changed})}\n".encode()
    read = read_events(text, "here")
    assert len(read.told) + len(read.dropped) == 2
    recording = of_events(read)
    assert recording is not None and recording.length_s >= 2.5


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"at": "2026-11-20T08:51:00"}, "its time has no zone"),
        ({"at": "0001-01-01T00:00:00+14:00"}, "its DrainRunEvent is not as this version writes it"),
        ({"at": "9999-01-01T00:00:00Z"}, "the year 9999 is none of a run"),
        ({"seconds": -1}, "-1 are no seconds of a run"),
        ({"seconds": 1e300}, "1e+300 are no seconds of a run"),
        ({"apiVersion": "eksdoc.io/v2"}, "it is no DrainRunEvent of eksdoc.io/v1alpha1"),
    ],
)
def test_what_is_wrong_with_a_line_is_said(changed: dict[str, Any], why: str) -> None:
    read = read_events(json.dumps({**json.loads(LINE), **changed}).encode(), "run.jsonl")
    assert not read.told and len(read.dropped) == 1
    assert read.dropped[0].startswith(f"run.jsonl, line 1: {why}")


def test_a_line_that_was_cut_off_and_one_that_is_too_deep() -> None:
    read = read_events(LINE.encode() + LINE.encode()[:50] + b"\n" + b"[" * 100_000, "here")
    assert len(read.told) == 1
    assert [said.split(": ")[1] for said in read.dropped] == [
        "it is truncated, or is not JSON",
        "it is nested too deeply",
    ]


def test_powershell_writes_utf_16() -> None:
    for text in (codecs.BOM_UTF16_LE + LINE.encode("utf-16-le"), codecs.BOM_UTF8 + LINE.encode()):
        assert len(read_events(text, "here").told) == 1 and not read_events(text, "here").dropped


def test_the_end_of_a_run() -> None:
    (end,) = read_events(json.dumps(END).encode(), "here").told
    assert (end.run, end.nodes, end.evictions, end.p50_s) == ("r1", (("old-0", 0),), 1, None)  # type: ignore[union-attr]
