"""Every answer of the demo's account has the shape that botocore's models give it, and is the same each time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from kubectl_eksdoc.embedded.demo.reader import NOW
from tests.tools.demo.aws.questions import Question, every
from tests.tools.demo.aws.shapes import complaints_of_answer, complaints_of_question
from tools.demo.aws.demo_aws import ANSWERS, DemoAws

QUESTIONS = every()


def name_of(question: Question) -> str:
    service, operation, params = question
    return f"{service}-{operation}-{json.dumps(params, default=str)}"


def test_every_operation_is_asked() -> None:
    assert {(service, operation) for service, operation, _ in QUESTIONS} == {
        (service, operation) for service, held in ANSWERS.items() for operation in held
    } - {("eks", "DescribePodIdentityAssociation")}, "there is no association to describe"


ONE_OF_EACH = list(
    {(service, operation): (service, operation, params) for service, operation, params in QUESTIONS}.values()
)
"""One question of each operation."""

SAMPLED = pytest.mark.parametrize(
    "questions", [pytest.param(ONE_OF_EACH, id="some"), pytest.param(QUESTIONS, id="all", marks=pytest.mark.long)]
)


@SAMPLED
def test_a_question_is_one_that_botocore_would_send(questions: Sequence[Question]) -> None:
    found = {name_of(question): complaints_of_question(*question) for question in questions}
    assert {name: said for name, said in found.items() if said} == {}


@SAMPLED
def test_an_answer_has_the_shape_that_botocore_reads(questions: Sequence[Question]) -> None:
    aws = DemoAws()
    found = {name_of(each): complaints_of_answer(*each[:2], aws.ask(*each)) for each in questions}
    assert {name: said for name, said in found.items() if said} == {}


@pytest.mark.parametrize(
    ("operation", "answer", "seen"),
    [
        ("ListAddons", {"addons": "vpc-cni"}, "ListAddons.addons is str"),
        ("ListAddons", {"addons": [1]}, "ListAddons.addons[0] should be string: 1"),
        ("ListAddons", {"ResponseMetadata": {}}, "ListAddons has no ResponseMetadata"),
        ("ListAddons", ["addons"], "ListAddons is list"),
        ("DescribeAddon", {"addon": {"status": "FINE"}}, "DescribeAddon.addon.status is none of its words: 'FINE'"),
        ("DescribeAddon", {"addon": {"tags": []}}, "DescribeAddon.addon.tags is list"),
        ("DescribeAddon", {"addon": {"tags": {"a": None}}}, "DescribeAddon.addon.tags.a should be string: None"),
        (
            "DescribeAddon",
            {"addon": {"createdAt": NOW.replace(tzinfo=None)}},
            "DescribeAddon.addon.createdAt is no moment in UTC: datetime.datetime(2026, 11, 20, 8, 51)",
        ),
        (
            "DescribeCluster",
            {"cluster": {"outpostConfig": {"outpostArns": []}}},
            "DescribeCluster.cluster.outpostConfig lacks controlPlaneInstanceType",
        ),
        (
            "DescribeNodegroup",
            {"nodegroup": {"diskSize": True}},
            "DescribeNodegroup.nodegroup.diskSize should be integer: True",
        ),
    ],
)
def test_the_validator_sees(operation: str, answer: Any, seen: str) -> None:
    assert seen in complaints_of_answer("eks", operation, answer)


def test_nobody_shares_an_answer_with_the_next_caller() -> None:
    def spoil(value: Any) -> None:
        for inner in list(value.values() if isinstance(value, dict) else value):
            if isinstance(inner, (dict, list)):
                spoil(inner)
        value.clear()

    before = [repr(DemoAws().ask(*question)) for question in QUESTIONS]
    for question in QUESTIONS:
        spoil(DemoAws().ask(*question))
    assert [repr(DemoAws().ask(*question)) for question in QUESTIONS] == before
