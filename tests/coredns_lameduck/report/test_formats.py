"""Reports on CoreDNS during a drain of its nodes; in every format: `tests.drain.report.test_formats`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.coredns_lameduck.deployed import DnsFacts, InterruptionNotices
from kubectl_eksdoc.coredns_lameduck.plan import plan_dns
from kubectl_eksdoc.coredns_lameduck.report.plan import LameduckReport, budget_bar, budget_legend
from kubectl_eksdoc.coredns_lameduck.shutdown import Shutdown, shutdown_budget
from kubectl_eksdoc.model.coredns import EndpointPropagation
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.report.text import Appearance
from tests.builders import NOW
from tests.coredns_lameduck.made import NODES, PODS, a_zoned, facts, lameduck, without
from tests.report.golden import AnswerFormats

SPOT = {"karpenter.sh/capacity-type": "spot", "karpenter.sh/nodepool": "general"}


def incident() -> DnsFacts:
    """Lameduck 5 s, one of two on a Spot node without interruption handling, one that crashes."""
    nodes = (a_zoned("n-a", "a", **SPOT), a_zoned("n-b", "b"))
    pods = (PODS[0], replace(PODS[1], ready=False, not_ready_because="CrashLoopBackOff"))
    made = facts(text=lameduck("5s"), nodes=nodes, pods=pods)
    return replace(made, notices=InterruptionNotices(False, "its queue does not exist"))


def nothing() -> DnsFacts:
    none = Unknown("it may not be read", "get deployments.apps")
    made = without(facts(pods=(), nodes=()), deployment=none, config=none)
    return replace(made, addon=Unknown("denied", "eks:DescribeAddon"), inside={})


MADE = {
    "incident": incident,
    "healthy": facts,
    "nothing": nothing,
    "auto": lambda: replace(
        without(facts(nodes=[a_zoned("i", "a", **{"eks.amazonaws.com/compute-type": "auto"})], pods=()),
                deployment=Absent("none"), config=Absent("none")),
        inside={},
    ),
    "no-value": lambda: facts(text=lameduck("90s"), nodes=NODES * 600),
}  # fmt: skip


def view(name: str) -> LameduckReport:
    return LameduckReport(plan_dns(MADE[name]()), options={}, recognised="by its endpoint", tool_version="0.0.0")


_SECONDS = ("advised", "client", "closing", "grace", "least", "margin", "most", "preStop", "propagation")
UNKNOWN = (*(f"{each}Seconds" for each in _SECONDS), "propagationMeasuredAt")
"""Of the shutdown, all of these may be."""
ANSWERS = AnswerFormats(
    Path(__file__).parent / "golden",
    {name: partial(view, name) for name in MADE},
    {
        "incident-120.txt": ("table", Appearance(120)),
        "incident-80.txt": ("table", Appearance(80)),
        "incident-ascii.txt": ("table", Appearance(100, ascii=True)),
        "incident-wide.txt": ("wide", Appearance(120)),
        "incident.json": ("json", Appearance(120)),
        **{f"{name}.txt": ("table", Appearance(100), name) for name in ("healthy", "nothing", "auto", "no-value")},
    },
    {f"no shutdown.{each}" for each in UNKNOWN},
    whole=("kubectl",),
    widths=(80, 120),
)


@given(
    st.integers(0, 600), st.integers(0, 100), st.one_of(st.none(), st.floats(0, 1000)), st.integers(0, 5000),
    st.integers(30, 200),
)  # fmt: skip
def test_the_bar_fits_and_says_where_lameduck_is(
    grace: int, hook: int, now: float | None, nodes: int, room: int
) -> None:
    lines = budget_bar(shutdown_budget(Shutdown(grace, hook, now or 0.0), nodes), now, Appearance(120), room)
    assert len(lines) == (2 if now is None else 3)
    assert all(len(line) <= room for line in lines)


def test_the_chart_calls_too_short_what_the_finding_does() -> None:
    """An estimate makes 5 s unknown; only lost answers that were observed make it too short."""
    eks = Shutdown(30, lameduck_s=5)
    assert "may be too short" in budget_legend(shutdown_budget(eks, 20)) and not shutdown_budget(eks, 20).is_too_short
    lost, enough = EndpointPropagation(8, 20, NOW, lost=True), EndpointPropagation(8, 20, NOW)
    assert (
        "too short as measured on 2026-11-20" in budget_legend(shutdown_budget(eks, 20, lost))
        and shutdown_budget(eks, 20, lost).is_too_short
    )
    assert "shorter than what was enough as measured" in budget_legend(shutdown_budget(eks, 20, enough))
    assert not shutdown_budget(eks, 20, enough).is_too_short
