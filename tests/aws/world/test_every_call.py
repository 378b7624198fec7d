"""Each call that the tool makes is answered in the shape of botocore's model, with the correct types."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from botocore.client import BaseClient

from kubectl_eksdoc.aws.asking import verify_cluster
from tests.aws.test_live import everything, live, prod, whole

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod", "whole"]


def assert_fits(value: Any, shape: Any, path: str) -> None:
    """`value` has only members of the model, with the model's types."""
    kinds = {"string": str, "boolean": bool, "integer": int, "long": int, "double": float, "timestamp": datetime}
    kinds["list"] = list
    if shape.name == "policyDocumentType":
        return  # botocore has read it
    assert isinstance(value, kinds.get(shape.type_name, dict)), f"{path} is no {shape.type_name}: {value!r}"
    if shape.type_name == "structure":
        for name, member in value.items():
            assert name in shape.members, f"{path}.{name} is not in the model"
            assert_fits(member, shape.members[name], f"{path}.{name}")
    elif shape.type_name == "list":
        for number, member in enumerate(value):
            assert_fits(member, shape.member, f"{path}[{number}]")
    elif shape.type_name == "map":
        for name, member in value.items():
            assert_fits(member, shape.value, f"{path}[{name}]")
    elif shape.type_name == "string" and getattr(shape, "enum", None):
        assert value in shape.enum, f"{path} is no value of {shape.name}: {value}"


def test_every_call_is_answered_in_the_shape_of_the_model(whole: World, monkeypatch: pytest.MonkeyPatch) -> None:
    answered: list[tuple[Any, str, dict[str, Any]]] = []
    call = BaseClient._make_api_call

    def kept(self: Any, operation: str, asked: Any) -> Any:
        answer = call(self, operation, asked)
        answered.append((self.meta.service_model.operation_model(operation), operation, dict(answer)))
        return answer

    monkeypatch.setattr(BaseClient, "_make_api_call", kept)
    aws = live(whole)
    everything(verify_cluster(aws, aws.access))
    for model, operation, answer in answered:
        assert answer.pop("ResponseMetadata")["HTTPStatusCode"] == 200
        assert_fits(answer, model.output_shape, operation)
    assert len({operation for _, operation, _ in answered}) > 30
