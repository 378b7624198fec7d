"""Every cause and every kind of sufferer in every format: as they were read last, valid, and fit for a screen."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import kubectl_eksdoc.render.schemas as schemas
from kubectl_eksdoc.imds_probe.fixes.chooser import offered
from kubectl_eksdoc.imds_probe.plan import of_pod
from kubectl_eksdoc.render.metadata.report import ImdsReport
from kubectl_eksdoc.render.text import Look
from tests.broken import accepted
from tests.reading import yaml_of
from tests.render.metadata.made import plan

GOLDEN = Path(__file__).parent / "golden"
JUDGE = jsonschema.Draft202012Validator(schemas.load("ImdsProbe"))


def view(pod: str = "", hops: int = 2) -> ImdsReport:
    made = plan(hops)
    one = next((each for each in made.facts.cluster.pods if each.name == pod), None)
    pod_said = of_pod(made, one) if one else None
    choices = offered(made, made.facts.cluster, "vpc-1")
    return ImdsReport(
        made, pod_said, choices, options={"hops": hops}, recognised="by its endpoint", tool_version="0.0.0"
    )


@pytest.mark.parametrize(
    ("file", "output", "look"),
    [
        ("table-120.txt", "table", Look(120)),
        ("table-80.txt", "table", Look(80)),
        ("table-ascii.txt", "table", Look(100, ascii=True)),
        ("wide.txt", "wide", Look(120)),
        ("imds.json", "json", Look(120)),
    ],
)
def test_it_reads_as_it_did(file: str, output: str, look: Look) -> None:
    text = view().render(output, look)
    path = GOLDEN / file
    if os.environ.get("EKSDOC_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def document(**of: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(view(**of).render("json", Look(120)))
    return found


@pytest.mark.parametrize("of", [{}, {"pod": "controller"}, {"pod": "한글"}, {"hops": 3}, {"hops": 1}])
def test_it_is_as_its_schema_says(of: dict[str, Any]) -> None:
    JUDGE.validate(document(**of))


def test_its_schema_refuses_what_is_broken() -> None:
    loose = accepted(JUDGE, document(pod="controller"), ("metadata.options",))
    assert {each for each in loose if not each.endswith((".namespace", ".command"))} == {"no groups.*.now.missing"}


def test_yaml_is_the_same() -> None:
    assert yaml_of(view().render("yaml", Look(120))) == document()


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_no_line_is_wider_than_the_screen(columns: int) -> None:
    lines = view().render("table", Look(columns)).splitlines()
    commands = [line for line in lines if line.strip().startswith(("kubectl ", "aws ", "ROLE="))]
    assert max(len(line) for line in lines if line not in commands) <= columns


def test_ascii_is_ascii() -> None:
    text = view().render("table", Look(100, ascii=True))
    assert text.isascii()


@pytest.mark.parametrize(
    ("pod", "said"),
    [
        ("controller", "does not reach the instance metadata service: the hop limit is 1, but 2 are needed"),
        ("controller", "broken now: its log says that it lacks the id of its VPC"),
        ("scaler", "will break: it looks for its region there; way out: set AWS_REGION"),
        ("fine", "it has a role of its own by Pod Identity"),
        ("한글", "reaches the instance metadata service: the hop limit is 2"),
        ("api", "On the next node it does not reach the instance metadata service"),
        ("cart-1", "nothing shows that it needs it"),
    ],
)
def test_one_sentence_for_one_pod(pod: str, said: str) -> None:
    assert said in " ".join(view(pod).render("table", Look(120)).split())


def test_a_ticket_has_the_verdict_the_causes_and_the_fixes_to_choose_from() -> None:
    text = view().render("markdown", Look(120))
    first, *headings = [line for line in text.splitlines() if line.startswith("#")]
    assert first.startswith("## Pods on ")
    assert [each.partition(":")[0] for each in headings] == [
        "### Nodes by cause",
        "### Findings",
        "### What can be done",
    ]
    assert "To have one carried out" not in text and text.rstrip().endswith("kubectl eksdoc 0.0.0")
