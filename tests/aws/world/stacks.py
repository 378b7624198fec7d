"""Patch moto's CloudFormation and EventBridge: AWS::SQS::QueuePolicy sets the policy of its queues, which moto ignores;
targets of a rule are distinguished by their Id, not by their ARN.

Of moto's internals: every subclass of CloudFormationModel is a kind of resource, found when the first template is read;
Ref on a queue gives its name (AWS gives its URL), so both are accepted. Reading templates imports API Gateway's models,
which need a validator of OpenAPI documents that no test uses: with its twelve dependencies it would be most of what the
tests install, so an empty module replaces it where it is missing.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from types import ModuleType
from typing import Any

_VALIDATOR = "openapi_spec_validator"


def mend() -> None:
    """Patch moto, once per process, before the first template is read."""
    if importlib.util.find_spec(_VALIDATOR) is None:
        _stand_in()
    from moto.core.common_models import CloudFormationModel
    from moto.events.utils import PAGINATION_MODEL
    from moto.sqs.models import sqs_backends

    PAGINATION_MODEL["list_targets_by_rule"]["unique_attribute"] = "Id"

    class QueuePolicy(CloudFormationModel):
        """The policy of one or more queues. Mutable."""

        def __init__(self, name: str, queues: list[Any]) -> None:
            self.physical_resource_id = name
            self.queues = queues

        @staticmethod
        def cloudformation_name_type() -> str:
            return ""

        @staticmethod
        def cloudformation_type() -> str:
            return "AWS::SQS::QueuePolicy"

        @classmethod
        def has_cfn_attr(cls, attr: str) -> bool:
            return attr == "Id"

        @classmethod
        def create_from_cloudformation_json(
            cls, resource_name: str, cloudformation_json: Any, account_id: str, region_name: str, **_: Any
        ) -> QueuePolicy:
            properties = cloudformation_json["Properties"]
            known = sqs_backends[account_id][region_name].queues
            queues = [known[name.rsplit("/", 1)[-1]] for name in properties["Queues"]]
            for queue in queues:
                queue.policy = json.dumps(properties["PolicyDocument"], default=str)
            return cls(resource_name, queues)

        @classmethod
        def update_from_cloudformation_json(
            cls,
            original_resource: Any,
            new_resource_name: str,
            cloudformation_json: Any,
            account_id: str,
            region_name: str,
        ) -> QueuePolicy:
            original_resource.delete(account_id, region_name)
            return cls.create_from_cloudformation_json(new_resource_name, cloudformation_json, account_id, region_name)

        def delete(self, _account_id: str, _region: str) -> None:
            for queue in self.queues:
                queue.policy = None

    # moto finds it among the subclasses, which Python keeps only while there is a reference to them.
    sys.modules[__name__].__dict__["QueuePolicy"] = QueuePolicy


def _stand_in() -> None:
    top, middle = ModuleType(_VALIDATOR), ModuleType(f"{_VALIDATOR}.validation")
    exceptions = ModuleType(f"{_VALIDATOR}.validation.exceptions")
    top.__dict__["validate"] = lambda _document: None
    exceptions.__dict__["OpenAPIValidationError"] = ValueError
    for module in (top, middle, exceptions):
        sys.modules[module.__name__] = module
