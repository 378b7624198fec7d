"""Ordinary, well-kept clusters pass, end to end: each is served over HTTP as ``rehearse --serve`` does it, AWS answers
boto3 over HTTP, and the command reads both with the findings of other commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.check.command.clusters import KEPT
from tests.check.command.healthy_clusters_aws import somebody_at
from tests.cli.terminal_user import Somebody

if TYPE_CHECKING:
    from tests.aws.world.server import World

TARGET = ("--target", "1.34")


@pytest.fixture(scope="module", params=KEPT.values(), ids=KEPT)
def kept(
    request: pytest.FixtureRequest, aws_of_this_session: World, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Somebody]:
    with somebody_at(request.param, aws_of_this_session, tmp_path_factory.mktemp("kept")) as found:
        yield found
    aws_of_this_session.reset()


def counting(told: dict[str, Any]) -> list[str]:
    """The findings above info that do not pass."""
    return [
        f"{each['status']} {each['severity']} {each['code']}: {each['message']}"
        for each in told["findings"]
        if each["severity"] != "info" and each["status"] != "pass"
    ]


def test_a_kept_cluster_exits_with_0_and_nothing_is_above_info(kept: Somebody) -> None:
    told = kept.document("UpgradeCheck", *TARGET)
    assert counting(told) == []
    assert told["causes"] == [] and told["verdict"].startswith("From 1.33 → 1.34. Nothing blocks a step")
    assert {each["state"] for each in told["metadata"]["kindsRead"]} <= {"read", "not-served"}
    summed = {"check-addons", "imds-pods-unread", "dns-lameduck-short", "interruption-queue", "budget-never-allows"}
    assert summed <= {code for each in told["checks"] for code in each["codes"]}


@pytest.mark.parametrize(
    "words",
    [(), ("--gate", "before-nodes")],
    ids=" ".join,
)
def test_its_page_says_so_first_and_shows_each_step_once(kept: Somebody, words: tuple[str, ...]) -> None:
    """The page at 80 columns; no step is cut off if there is no cause to show."""
    ran = kept.run(*TARGET, *words, COLUMNS="80")
    lines = ran.out.splitlines()
    assert ran.code == 0 and lines[0].startswith("From 1.33 → 1.34. Nothing "), ran.out
    assert not [line for line in lines if line.lstrip().startswith(("✗", "?"))]
    steps = re.findall(r"(\d+)\.\s+([A-Z][^;\n]+(?:\n {4}[^;\n]+)*)", ran.out.partition("UPGRADE STEPS")[2])
    assert [int(number) for number, _ in steps] == list(range(1, len(steps) + 1))
    assert len({" ".join(title.split()) for _, title in steps}) == len(steps) and "…" not in ran.out
    assert bool(steps) is ("--gate" not in words)


def test_without_aws_on_purpose_nothing_of_it_is_unknown(kept: Somebody) -> None:
    """The cost of support depends on the date of the test run, and on a table."""
    told = kept.document("UpgradeCheck", *TARGET, "--no-aws")
    assert [each for each in counting(told) if " support-" not in each] == []
