"""Reports with every cause and every kind of affected pod; in every format: `tests.drain.report.test_formats`."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubectl_eksdoc.imds_probe.fix_choice import offered_fixes
from kubectl_eksdoc.imds_probe.plan import pod_access
from kubectl_eksdoc.imds_probe.report.access import ImdsReport
from kubectl_eksdoc.report.text import Appearance
from tests.imds_probe.report.made import plan
from tests.report.golden import TABLES, AnswerFormats


def view(pod: str = "", hops: int = 2) -> ImdsReport:
    made = plan(hops)
    one = next((each for each in made.facts.cluster.pods if each.name == pod), None)
    pod_said = pod_access(made, one) if one else None
    choices = offered_fixes(made, made.facts.cluster, "vpc-1")
    return ImdsReport(
        made, pod_said, choices, options={"hops": hops}, recognised="by its endpoint", tool_version="0.0.0"
    )


ANSWERS = AnswerFormats(
    Path(__file__).parent / "golden",
    {
        "of a pod": lambda: view("controller"),
        "all": view,
        "korean": lambda: view("한글"),
        "three hops": lambda: view(hops=3),
        "one hop": lambda: view(hops=1),
    },
    {file: (*shown, "all") for file, shown in {**TABLES, "imds.json": ("json", Appearance(120))}.items()},
    {"no groups.*.now.missing"},
    whole=("kubectl ", "aws ", "ROLE="),
)


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
    assert said in " ".join(view(pod).render("table", Appearance(120)).split())


def test_a_ticket_has_the_verdict_the_causes_and_the_fixes_to_choose_from() -> None:
    text = view().render("markdown", Appearance(120))
    first, *headings = [line for line in text.splitlines() if line.startswith("#")]
    assert first.startswith("## Pods on ")
    assert [each.partition(":")[0] for each in headings] == [
        "### Nodes by cause",
        "### Findings",
        "### What can be done",
    ]
    assert "To have one carried out" not in text and text.rstrip().endswith("kubectl eksdoc 0.0.0")
