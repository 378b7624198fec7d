"""Validate requests and answers against botocore's own models, for any operation of any service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import botocore.session
from botocore.model import OperationModel, ServiceModel, Shape
from botocore.validate import ParamValidator

_SIMPLE: Mapping[str, type | tuple[type, ...]] = {
    "blob": bytes,
    "boolean": bool,
    "character": str,
    "double": float,
    "float": float,
    "integer": int,
    "long": int,
    "string": str,
}


@cache
def service_model(service: str) -> ServiceModel:
    return botocore.session.get_session().get_service_model(service)


@cache
def operation(service: str, name: str) -> OperationModel:
    return service_model(service).operation_model(name)


def complaints_of_question(service: str, name: str, params: Mapping[str, Any]) -> str:
    """The error of botocore itself, "" for none."""
    shape = operation(service, name).input_shape
    return ParamValidator().validate(params, shape).generate_report() if shape else str(params or "")


def complaints_of_answer(service: str, name: str, answer: Any) -> list[str]:
    """Every member of `answer` that the model does not have, or has with another type."""
    return list(_complaints(operation(service, name).output_shape, answer, name))


def _complaints(shape: Shape, value: Any, where: str) -> Iterator[str]:
    if shape.type_name == "structure":
        yield from _of_structure(shape, value, where)
    elif shape.type_name == "list":
        if not isinstance(value, list):
            yield f"{where} is {type(value).__name__}"
        else:
            for index, each in enumerate(value):
                yield from _complaints(shape.member, each, f"{where}[{index}]")
    elif shape.type_name == "map":
        if not isinstance(value, dict):
            yield f"{where} is {type(value).__name__}"
        else:
            for key, each in value.items():
                yield from _complaints(shape.key, key, f"key of {where}")
                yield from _complaints(shape.value, each, f"{where}.{key}")
    elif shape.type_name == "timestamp":
        if not (isinstance(value, datetime) and value.utcoffset() == timedelta(0)):
            yield f"{where} is no moment in UTC: {value!r}"
    elif not isinstance(value, _SIMPLE[shape.type_name]) or (isinstance(value, bool) and shape.type_name != "boolean"):
        yield f"{where} should be {shape.type_name}: {value!r}"
    elif getattr(shape, "enum", None) and value not in shape.enum:
        yield f"{where} is none of its words: {value!r}"


def _of_structure(shape: Shape, value: Any, where: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{where} is {type(value).__name__}"
        return
    yield from (f"{where} lacks {name}" for name in shape.required_members if name not in value)
    for name, each in value.items():
        if name not in shape.members:
            yield f"{where} has no {name}"
        else:
            yield from _complaints(shape.members[name], each, f"{where}.{name}")
