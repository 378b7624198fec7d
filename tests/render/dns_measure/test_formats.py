"""Every way a measurement can end, in every format: as they were read last, valid, and fit for a screen."""

from __future__ import annotations

import itertools
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kubectl_eksdoc.coredns_lameduck.measuring.plan import Happening, MeasurementSettings
from kubectl_eksdoc.flows.dns_measure import MeasurementEdges, measured, prepared
from kubectl_eksdoc.model.coredns import DnsService
from kubectl_eksdoc.model.placing import NotMade, ProbeOwner
from kubectl_eksdoc.render import schemas
from kubectl_eksdoc.render.dns_measure.report import MeasureReport, dry_run
from kubectl_eksdoc.render.text import Look
from tests.broken import accepted
from tests.builders import a_cluster
from tests.examples import one_in
from tests.flows.dns_worlds import BOTH, LATER, NODES, Ground, World, in_zone
from tests.reading import yaml_documents, yaml_of

GOLDEN = Path(__file__).parent / "golden"
JUDGE = jsonschema.Draft202012Validator(schemas.load("DnsMeasure"))
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


def view(of: str = "lost", how: Happening = Happening.ROLLOUT, made: bool = True, **more: Any) -> MeasureReport:
    world: World = WORLDS[of]()
    nodes, given = (*NODES, CORDONED), {"measure": how.value}
    plan = prepared(nodes, Ground(world), world, "cafe", MeasurementSettings(how, for_s=60))
    if not made:
        refused = {plan.pods[0].name: NotMade("to create pods, the server answered 403: a webhook said no")}
        return MeasureReport(
            a_cluster(nodes=nodes), plan, None, refused, b"program", "{}", options=given, tool_version="0.0.0"
        )
    done = measured(plan, b"program", MeasurementEdges(Ground(world), world, world, lambda: 0, str))
    return MeasureReport(
        a_cluster(nodes=nodes), plan, replace(done, **more), {}, b"program", "{}", options=given, tool_version="0.0.0"
    )


@pytest.mark.parametrize(
    ("file", "output", "look", "of"),
    [
        ("lost-120.txt", "table", Look(120), {}),
        ("lost-80.txt", "table", Look(80), {}),
        ("lost-ascii.txt", "table", Look(100, ascii=True), {"not_removed": "the cluster refuses delete configmaps"}),
        ("lost-wide.txt", "wide", Look(80), {}),
        ("clean-120.txt", "table", Look(120), {"of": "clean"}),
        ("never-80.txt", "table", Look(80), {"of": "never", "how": Happening.EVICTION}),
        ("busy-80.txt", "table", Look(80), {"of": "busy", "how": Happening.WATCH}),
        ("before-80.txt", "table", Look(80), {"of": "busy", "made": False}),
        ("before-120.txt", "table", Look(120), {"of": "both", "made": False, "how": Happening.EVICTION}),
    ],
)
def test_it_reads_as_it_did(file: str, output: str, look: Look, of: dict[str, Any]) -> None:
    text = view(**of).render(output, look)
    path = GOLDEN / file
    if os.environ.get("EKSDOC_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


WAYS = itertools.cycle((Happening.ROLLOUT, Happening.WATCH, Happening.EVICTION, Happening.EVICTION, Happening.ROLLOUT))
QUICK: list[dict[str, Any]] = [{"of": of, "how": how} for of, how in zip(WORLDS, WAYS, strict=False)]
QUICK += [{"made": False}, {"left": ("a", "b")}]
"""Each world, and each way of waiting; the long tests have each world in each way."""
LONG = [{"of": of, "how": how} for of in WORLDS for how in Happening if {"of": of, "how": how} not in QUICK]
EVERY = [*QUICK, *(pytest.param(of, marks=pytest.mark.long) for of in LONG)]


@pytest.mark.parametrize("of", one_in(4, EVERY), ids=str)
def test_it_is_as_its_schema_says(of: dict[str, Any]) -> None:
    shown = view(**of)
    document = json.loads(shown.render("json", Look(120)))
    JUDGE.validate(document)
    assert yaml_of(shown.render("yaml", Look(120))) == document


@pytest.mark.parametrize("of", EVERY, ids=str)
def test_no_line_is_wider_than_the_screen(of: dict[str, Any]) -> None:
    shown = view(**of)
    for width, plain in itertools.product((60, 80, 120), (False, True)):
        text = shown.render("table", Look(width, ascii=plain))
        wide = [line for line in text.splitlines() if len(line) > width and not line.strip().startswith("kubectl ")]
        assert wide == []
        assert text.isascii() or not plain


def test_its_schema_refuses_what_is_broken() -> None:
    found = json.loads(view(**QUICK[0]).render("json", Look(120)))
    loose = accepted(JUDGE, found, ("metadata.options",))
    assert {each for each in loose if not each.endswith((".namespace", ".command"))} == set()


def test_a_dry_run_prints_objects_in_every_format() -> None:
    shown = view(made=False)
    docs = list(yaml_documents(dry_run(shown).render("table", Look(80))))
    assert json.loads(dry_run(shown).render("json", Look(80)))["items"] == docs
    assert [doc["kind"] for doc in docs] == ["ConfigMap", "Pod", "Pod"]
