"""Validate configuration values of an add-on: a JSON or YAML object that the version's schema allows, else EKS's
refusal."""

from __future__ import annotations

import json

import jsonschema
import yaml

from tests.aws.world.refused import invalid
from tests.yaml_reader import yaml_of

_SAYS = "ConfigurationValue provided in request is not supported: "
_NOT_ALLOWED = "is not defined in the schema and the schema does not allow additional properties"
_TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": float}


def check(values: str, schema: str) -> None:
    """Refuse `values` that are no object, or that the JSON document `schema` does not allow; "" allows any object.

    YAML reads JSON too. Errors are worded as EKS words them ($.path: …), as far as such messages were published.
    """
    try:
        document = yaml_of(values)
    except yaml.YAMLError as error:
        raise invalid(f"{_SAYS}Unable to parse configuration values: {error}") from None
    if not isinstance(document, dict):
        raise invalid(f"{_SAYS}Configuration values must be a JSON or YAML object")
    if schema:
        errors = sorted(jsonschema.Draft6Validator(json.loads(schema)).iter_errors(document), key=lambda e: e.json_path)
        if errors:
            said = ", ".join(text for error in errors for text in _worded(error))
            raise invalid(f"{_SAYS}Json schema validation failed with error: [{said}]")


def _worded(error: jsonschema.ValidationError) -> list[str]:
    if error.validator == "additionalProperties":
        known = error.schema.get("properties", {})
        return [f"{error.json_path}.{key}: {_NOT_ALLOWED}" for key in sorted(error.instance) if key not in known]
    if error.validator == "type":
        is_now = next((name for name, kind in _TYPES.items() if type(error.instance) is kind), "null")
        return [f"{error.json_path}: {is_now} found, {error.validator_value} expected"]
    if error.validator == "enum":
        return [f"{error.json_path}: does not have a value in the enumeration {json.dumps(error.validator_value)}"]
    return [f"{error.json_path}: {error.message}"]
