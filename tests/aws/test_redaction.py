"""The parts of AWS's answers that are kept: those that are judged, and no value that a user may have meant to hide."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubectl_eksdoc.aws.recorded import AwsAnswerCleaner
from kubectl_eksdoc.kubernetes.redaction import Digester, Redactor, is_digest
from kubectl_eksdoc.model import aws_operations as questions

KEPT = AwsAnswerCleaner(Redactor(Digester(b"a key")))


def values(given: Any) -> Any:
    answer = KEPT(questions.ADDON, {"addon": {"configurationValues": json.dumps(given)}})
    return json.loads(answer["addon"]["configurationValues"])


@pytest.mark.parametrize(
    "given",
    [
        {"controller": {"env": [{"name": "DB_PASSWORD", "value": "hunter2"}]}},
        {"db": {"value": "hunter2", "values": ["hunter2"]}},
        {"api": {"key": "hunter2"}},
        {"args": ["-phunter2", "--password=hunter2"]},
    ],
)
def test_values_of_people_are_digests(given: Any) -> None:
    kept = json.dumps(values(given))
    assert "hunter2" not in kept
    assert is_digest(kept)


@pytest.mark.parametrize("key", ["dbPwd", "TOKEN", "apiKey"])
def test_a_number_that_is_called_a_secret_is_one(key: str) -> None:
    assert is_digest(values({key: 12345678})[key])
    assert is_digest(values({"env": [{"name": key, "value": 12345678}]})["env"][0]["value"])


@pytest.mark.parametrize(
    "given",
    [
        {"tolerations": [{"key": "dedicated", "operator": "Equal", "value": "system", "effect": "NoSchedule"}]},
        {"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64", "arm64"]}]},
        {
            "replicaCount": 3,
            "resources": {"limits": {"cpu": "100m", "memory": "128Mi"}},
            "autoScaling": {"enabled": True},
        },
        {"env": {"AWS_REGION": "eu-west-1"}, "controller": {"env": [{"name": "AWS_REGION", "value": "eu-west-1"}]}},
    ],
)
def test_what_is_judged_stays(given: Any) -> None:
    assert values(given) == given


def test_of_tags_those_are_kept_that_name_a_tool() -> None:
    told = {"alpha.eksctl.io/cluster-name": "prod", "managed-by": "terraform", "owner": "ann", "cost-center": "4711"}
    kept = KEPT(questions.CLUSTER, {"cluster": {"name": "prod", "tags": told}})["cluster"]
    assert kept == {"name": "prod", "tags": {key: told[key] for key in ("alpha.eksctl.io/cluster-name", "managed-by")}}
    assert KEPT(questions.NODE_GROUP, {"nodegroup": {"tags": told}})["nodegroup"] == {"tags": kept["tags"]}
    assert KEPT(questions.ADDON, {"addon": {"tags": told}}) == {"addon": {}}
