"""Finding codes: a record each in `knowledge/findings.json`, from which documentation and schemas are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.knowledge import file


@dataclass(frozen=True, slots=True)
class Code:
    """A question that was judged; the finding's status says how it was answered.

    `name` is what ``--accept-unknown`` takes; `about` is one or two sentences for the documentation; without the lists
    of `needs` the answer is unknown.
    """

    name: str
    title: str
    about: str
    needs: tuple[Resource, ...] = ()

    @staticmethod
    def of(name: str) -> Code:
        """Raises KeyError: there is no record of it; a test finds such a name before a user does."""
        return _by_name()[name]

    @staticmethod
    def of_area(*areas: str) -> tuple[Code, ...]:
        """Those that one command, or one part of it, may find, in the order of their records."""
        return tuple(code for area in areas for code in _by_area()[area])

    @staticmethod
    def every() -> tuple[Code, ...]:
        return tuple(_by_name().values())


@cache
def _by_area() -> Mapping[str, tuple[Code, ...]]:
    resources = {each.full_name: each for each in vars(kinds).values() if isinstance(each, Resource)}

    def made(record: Mapping[str, Any]) -> Code:
        needs = tuple(resources[name] for name in record.get("needs", ()))
        return Code(record["code"], record["title"], record["about"], needs)

    return {area: tuple(map(made, records)) for area, records in file("findings")["areas"].items()}


@cache
def _by_name() -> Mapping[str, Code]:
    return {code.name: code for codes in _by_area().values() for code in codes}
