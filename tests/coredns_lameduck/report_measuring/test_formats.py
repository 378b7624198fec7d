"""Reports of measurements, for every way in which one can end; in every format: `tests.drain.report.test_formats`."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from kubectl_eksdoc.coredns_lameduck.measurement import MeasurementEdges, prepare_measurement, run_measurement
from kubectl_eksdoc.coredns_lameduck.measurement_plan import MeasuredChange, MeasurementSettings
from kubectl_eksdoc.coredns_lameduck.report.measuring import MeasurementReport, dry_run
from kubectl_eksdoc.model.coredns import DnsService
from kubectl_eksdoc.model.placement import ProbeFailure, ProbeOwner
from kubectl_eksdoc.report.text import Appearance
from tests.builders import a_cluster
from tests.coredns_lameduck.worlds import BOTH, LATER, NODES, Ground, World, in_zone
from tests.report.golden import AnswerFormats
from tests.yaml_reader import yaml_documents

CORDONED = in_zone("ip-10-0-3-9.eu-west-1.compute.internal", "eu-west-1c", unschedulable=True)
OTHERS = (
    ProbeOwner("dead", "eksdoc-dns-measure-dead", "u", 1e5),
    ProbeOwner("beef", "eksdoc-dns-measure-beef", "v", 3.0),
)

WORLDS: dict[str, Any] = {
    "clean": lambda: World(),
    "lost": lambda: World(lame_s=0, stands={"-1": "no image"}),
    "busy": lambda: World(busy=lambda second: 7 <= second < 9, owners_are=OTHERS),
    "both": lambda: World(service_is=DnsService(BOTH)),
    "never": lambda: World(says=[LATER] * 100),
    "unseen": lambda: World(lame_s=0),
}


def view(
    of: str = "lost", how: MeasuredChange = MeasuredChange.ROLLOUT, made: bool = True, **more: Any
) -> MeasurementReport:
    world: World = WORLDS[of]()
    nodes, given = (*NODES, CORDONED), {"measure": how.value}
    plan = prepare_measurement(nodes, Ground(world), world, "cafe", MeasurementSettings(how, for_s=60))
    if not made:
        refused = {plan.pods[0].name: ProbeFailure("to create pods, the server answered 403: a webhook said no")}
        return MeasurementReport(
            a_cluster(nodes=nodes), plan, None, refused, b"program", "{}", options=given, tool_version="0.0.0"
        )
    done = run_measurement(plan, b"program", MeasurementEdges(Ground(world), world, world, lambda: 0, str))
    return MeasurementReport(
        a_cluster(nodes=nodes), plan, replace(done, **more), {}, b"program", "{}", options=given, tool_version="0.0.0"
    )


WAYS = itertools.cycle(
    (
        MeasuredChange.ROLLOUT,
        MeasuredChange.WATCH,
        MeasuredChange.EVICTION,
        MeasuredChange.EVICTION,
        MeasuredChange.ROLLOUT,
    )
)
QUICK: dict[str, Callable[[], MeasurementReport]] = {
    "lost": view,
    "not removed": lambda: view(not_removed="the cluster refuses delete configmaps"),
    "left": lambda: view(left=("a", "b")),
    "never": lambda: view("never", MeasuredChange.EVICTION),
    "busy": lambda: view("busy", MeasuredChange.WATCH),
    "before": lambda: view("busy", made=False),
    "before both": lambda: view("both", MeasuredChange.EVICTION, made=False),
    **{f"{of} {how.value}": partial(view, of, how) for of, how in zip(WORLDS, WAYS, strict=False)},
}
"""Each world, and each way of waiting; the long ones are each world in each way."""
LONG = {f"{of} {how.value}": partial(view, of, how) for of in WORLDS for how in MeasuredChange}
LONG = {name: each for name, each in LONG.items() if name not in QUICK}
ANSWERS = AnswerFormats(
    Path(__file__).parent / "golden",
    QUICK | LONG,
    {
        "lost-120.txt": ("table", Appearance(120)),
        "lost-80.txt": ("table", Appearance(80)),
        "lost-ascii.txt": ("table", Appearance(100, ascii=True), "not removed"),
        "lost-wide.txt": ("wide", Appearance(80)),
        "clean-120.txt": ("table", Appearance(120), "clean rollout"),
        "never-80.txt": ("table", Appearance(80), "never"),
        "busy-80.txt": ("table", Appearance(80), "busy"),
        "before-80.txt": ("table", Appearance(80), "before"),
        "before-120.txt": ("table", Appearance(120), "before both"),
    },
    whole=("kubectl ",),
)


def test_a_dry_run_prints_objects_in_every_format() -> None:
    shown = view(made=False)
    docs = list(yaml_documents(dry_run(shown).render("table", Appearance(80))))
    assert json.loads(dry_run(shown).render("json", Appearance(80)))["items"] == docs
    assert [doc["kind"] for doc in docs] == ["ConfigMap", "Pod", "Pod"]
