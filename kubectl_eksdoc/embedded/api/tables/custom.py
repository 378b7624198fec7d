"""Custom resources: the columns their definition asks for, or their age where it asks for none."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.embedded.api.resources import PrinterColumn, Served
from kubectl_eksdoc.embedded.api.tables import ages
from kubectl_eksdoc.embedded.api.tables.columns import CREATED_DESCRIPTION, NAME, Cells, Column, Printer
from kubectl_eksdoc.embedded.api.tables.fields import name
from kubectl_eksdoc.embedded.api.tables.json_path import NoResult, find, printed

_AGE = PrinterColumn("Age", "date", ".metadata.creationTimestamp", description=CREATED_DESCRIPTION)


def printer(served: Served) -> Printer:
    """As apiextensions-apiserver's customresource/tableconvertor does it."""
    columns = served.columns or (_AGE,)

    def cells(document: Doc, now: datetime) -> Cells:
        return [name(document), *(_cell(column, document, now) for column in columns)]

    return Printer((NAME, *map(_definition, columns)), cells)


def _definition(column: PrinterColumn) -> Column:
    described = column.description or f"Custom resource definition column (in JSONPath format): {column.json_path}"
    return Column(column.name, described, column.type, column.format, column.priority)


def _cell(column: PrinterColumn, document: Doc, now: datetime) -> Any:
    """The first value found; None where there is none, or one of another type than the column's."""
    try:
        found = find(document, column.json_path)
    except NoResult:
        return None
    return _typed(column.type, found[0], now) if found else None


def _typed(type_: str, value: Any, now: datetime) -> Any:
    if type_ == "string":
        return printed(value)
    if type_ == "boolean":
        return value if isinstance(value, bool) else None
    if type_ == "date":
        return _date(value, now) if isinstance(value, str) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    whole = type_ == "integer" or float(value).is_integer()
    return int(value) if whole else value


def _date(value: str, now: datetime) -> str:
    """An empty text is no time at all, any other that names no moment is a wrong one."""
    if not value:
        return ages.UNKNOWN
    return "<invalid>" if ages.parse(value) is None else ages.since(value, now)
