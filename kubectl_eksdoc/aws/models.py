"""What botocore's clients are made of, and no more of it than is asked: EC2 alone has 700 operations, of which a client
makes a method each, and to find one service botocore looks into all 400."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from botocore.loaders import Loader

from kubectl_eksdoc.core.model.aws.questions import ALL, Question

BY_CREDENTIALS = frozenset(("signin", "sso", "sso-oidc", "sts"))
"""Services that botocore itself asks, to get credentials."""

_OPERATIONS = "service-2"


class Models(Loader):  # type: ignore[misc]
    """Of `asked`: clients know no other operation. Mutable: it keeps what it has read."""

    def __init__(self, asked: tuple[Question, ...]) -> None:
        super().__init__()
        self._operations: dict[str, frozenset[str]] = {
            service: frozenset(each.operation for each in asked if each.service == service)
            for service in {each.service for each in asked} - BY_CREDENTIALS
        }

    def list_available_services(self, type_name: str) -> list[str]:
        """Whether each of them has what is wanted is seen when it is read."""
        return sorted({name for path in self.search_paths if os.path.isdir(path) for name in os.listdir(path)})

    def load_service_model(self, service_name: str, type_name: str, api_version: str | None = None) -> Any:
        model = super().load_service_model(service_name, type_name, api_version)
        kept = self._operations.get(service_name)
        if type_name != _OPERATIONS or kept is None:
            return model
        known = model["operations"]  # an older botocore knows fewer
        return {**model, "operations": {name: known[name] for name in sorted(kept & known.keys())}}


@cache
def models() -> Models:
    """Of all that the tool asks. One for the process: they are read once, however many clusters, accounts and sessions
    clients are made for."""
    return Models(ALL)
