"""Bindings of roles; roles themselves are shown by name and creation alone."""

from __future__ import annotations

from datetime import datetime

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.embedded.api.tables.ages import age
from kubectl_eksdoc.embedded.api.tables.columns import AGE, NAME, Cells, Column, Printer, wide
from kubectl_eksdoc.embedded.api.tables.fields import listed, name, text


def _binding(binding: Doc, now: datetime) -> Cells:
    return [
        name(binding),
        f"{text(binding, 'roleRef', 'kind')}/{text(binding, 'roleRef', 'name')}",
        age(binding, now),
        ", ".join(_subjects(binding, "User")),
        ", ".join(_subjects(binding, "Group")),
        ", ".join(_subjects(binding, "ServiceAccount")),
    ]


def _subjects(binding: Doc, kind: str) -> list[str]:
    found = (s for s in listed(binding, "subjects") if s.get("kind") == kind)
    account = kind == "ServiceAccount"
    return [f"{text(s, 'namespace')}/{text(s, 'name')}" if account else text(s, "name") for s in found]


BINDINGS = Printer(
    (
        NAME,
        Column("Role", "The role that is given"),
        AGE,
        wide("Users", "Users who get it"),
        wide("Groups", "Groups that get it"),
        wide("ServiceAccounts", "Service accounts that get it"),
    ),
    _binding,
)
