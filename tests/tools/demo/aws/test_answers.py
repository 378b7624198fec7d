"""Every answer of the demo's account has the shape of botocore's models, and is the same each time."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.tools.demo.aws.questions import Question, every
from tests.tools.demo.aws.shapes import complaints_of_answer, complaints_of_question
from tools.demo.aws.demo_aws import ANSWERS, DemoAws
from tools.demo.metadata.world import ESTATE

QUESTIONS = every()


def test_every_operation_is_asked() -> None:
    assert {(service, operation) for service, operation, _ in QUESTIONS} == {
        (service, operation) for service, held in ANSWERS.items() for operation in held
    } - {("eks", "DescribePodIdentityAssociation")}, "there is no association to describe"


ONE_OF_EACH = list(
    {(service, operation): (service, operation, params) for service, operation, params in QUESTIONS}.values()
)
"""One question of each operation."""


@pytest.mark.parametrize(
    ("aws", "questions"),
    [
        pytest.param(DemoAws(), ONE_OF_EACH, id="some"),
        pytest.param(DemoAws(), QUESTIONS, id="all", marks=pytest.mark.long),
        pytest.param(DemoAws(ESTATE), every(DemoAws(ESTATE)), id="imds-probe"),
    ],
)
def test_questions_and_answers_have_the_shape_that_botocore_knows(aws: DemoAws, questions: Sequence[Question]) -> None:
    for each in questions:
        assert (complaints_of_question(*each), complaints_of_answer(*each[:2], aws.ask(*each))) == ("", []), each
