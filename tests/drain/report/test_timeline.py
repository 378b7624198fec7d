"""The text Gantt chart: one line for each node, in order of their start, to scale, and never wider than the
terminal."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.drain.duration.estimate import Estimate
from kubectl_eksdoc.drain.outcome import TargetVerdict
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.report.formats import DrainReport
from kubectl_eksdoc.drain.report.timeline import MAX_NODES, timeline
from kubectl_eksdoc.drain.timeline import NodeSpan
from kubectl_eksdoc.report.text import Appearance
from tests.builders import a_node
from tests.drain.report.plans import a_target, a_view, an_empty_plan

EC2 = "eu-central-1.compute.internal"
NARROW = Appearance(width=80)


def timed(
    *spans: tuple[str, float, float, float], waves: tuple[int, ...] = (), surge: int | None = None
) -> DrainReport:
    """A run of these nodes: name, and the times of start, empty and done in seconds."""
    targets = tuple(
        replace(a_target("old-0", TargetVerdict.DRAINS, n, wave=wave), node=a_node(span[0]))
        for n, (span, wave) in enumerate(zip(spans, waves or [1] * len(spans), strict=True), 1)
    )
    end = max(span[3] for span in spans)
    run = Estimate(end, end, tuple(NodeSpan(*span) for span in spans), 1, ())
    return a_view(an_empty_plan(policy=DrainPolicy(surge=surge), targets=targets, estimate=run))


def test_bars_are_to_scale_under_an_axis() -> None:
    head, first, second, _ = timeline(timed(("a", 0, 30, 60), ("b", 60, 110, 120)), NARROW)
    assert head.index("|1m") == second.index("█") and head.index("|0s") == first.index("█")
    assert first.count("█") == first.count("░") and second.count("█") == pytest.approx(5 * second.count("░"), abs=3)
    assert first.endswith("  0s–1m00s") and second.endswith("  1m00s–2m00s")
    assert len(second) <= 80


def test_waves_and_generations_have_their_number_and_take_turns_in_the_sign() -> None:
    spans = ("a", 0, 30, 40), ("b", 40, 70, 80), ("c", 80, 110, 120)
    head, *rows, key = timeline(timed(*spans, waves=(1, 2, 3)), NARROW)
    assert head.split()[:2] == ["NODE", "WAVE"]
    assert [(row.split()[1], row.split()[2][0]) for row in rows] == [("1", "█"), ("2", "▓"), ("3", "█")]
    assert "(by wave)" in key
    head, *_, key = timeline(timed(*spans, waves=(1, 2, 2), surge=1), NARROW)
    assert head.split()[:2] == ["NODE", "GEN"] and "(by generation)" in key


def test_a_node_without_a_pod_to_evict_has_a_bar_all_the_same() -> None:
    _, empty, brief, _, _ = timeline(timed(("a", 0, 0, 10), ("b", 0, 0.1, 0.2), ("c", 0, 9000, 9010)), NARROW)
    assert "█" not in empty and "░" in empty
    assert brief.count("█") == 1


def test_the_rest_is_counted() -> None:
    view = timed(*((f"node-{n}", float(n), n + 10.0, n + 20.0) for n in range(MAX_NODES + 63)))
    lines = timeline(view, NARROW)
    assert len(lines) == MAX_NODES + 3 and lines[-2] == "… and 63 more nodes (-o html)"
    assert [line.split()[0] for line in lines[1:-2]] == [f"node-{n}" for n in range(MAX_NODES)]
    assert "more nodes" not in "".join(timeline(timed(*((f"n{n}", 0.0, 1.0, 2.0) for n in range(MAX_NODES))), NARROW))


def test_long_names_lose_their_domain_first_and_then_their_middle() -> None:
    hosts = [f"ip-10-0-{n}-244" for n in range(3)]
    lines = timeline(timed(*((f"{host}.{EC2}", 0.0, 30.0, 40.0) for host in hosts)), NARROW)
    assert [line.split()[0] for line in lines[1:4]] == [f"{host}…" for host in hosts]
    assert lines[1].count("█") >= 16
    whole = timeline(timed(*((f"{host}.{EC2}", 0.0, 30.0, 40.0) for host in hosts)), Appearance(width=120))
    assert [line.split()[0] for line in whole[1:4]] == [f"{host}.{EC2}" for host in hosts]
    alike = timeline(timed(*((f"worker.{zone * 30}.{EC2}", 0.0, 30.0, 40.0) for zone in "ab")), NARROW)
    assert alike[1].split()[0] != "worker…" and "…" in alike[1].split()[0]


names = st.text("abc-.", min_size=1, max_size=60)
moments = st.lists(st.floats(0, 90_000), min_size=3, max_size=3).map(sorted)


@given(st.dictionaries(names, moments, min_size=1, max_size=6), st.integers(60, 160), st.booleans(), st.booleans())
def test_any_run_fits_and_every_bar_is_under_the_axis(
    runs: dict[str, list[float]], width: int, ascii_only: bool, headers: bool
) -> None:
    waves = tuple(n % 3 + 1 for n in range(len(runs)))
    view = timed(*((name, *run) for name, run in runs.items()), waves=waves)
    look = Appearance(width=width, ascii=ascii_only, headers=headers)
    lines = timeline(view, look, indent=2)
    rows = lines[headers : headers + len(runs)]
    assert all(len(line) <= width for line in lines)
    assert all(line.isascii() for line in lines) == ascii_only
    assert len({len(row) - len(re.split("  +", row)[-1]) for row in rows}) == 1, "the times stand below each other"
    assert all(re.search("[#=.█▓░]", re.split("  +", row)[-2]) for row in rows)
