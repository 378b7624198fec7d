"""Filters as EC2 and Auto Scaling take them: every one must hold, each by any of its values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase

from tools.demo.aws.names import Params
from tools.demo.aws.refused import Refused
from tools.demo.meta import Json

Field = Callable[[Json], object]

_TAG = "tag:"


def tags(pairs: Mapping[str, str]) -> list[Json]:
    """As every answer of EC2 says them."""
    return [{"Key": key, "Value": value} for key, value in sorted(pairs.items())]


def kept(items: Iterable[Json], params: Params, fields: Mapping[str, Field]) -> list[Json]:
    """Those of `items` that every filter of the request keeps; `fields` says what each name looks at.

    ``*`` and ``?`` are wildcards, as in EC2. Raises `Refused` (InvalidParameterValue) for an unknown filter.
    """
    wanted = [(each["Name"], each["Values"]) for each in params.get("Filters", ())]
    for name, _ in wanted:
        if not name.startswith(_TAG) and name != "tag-key" and name not in fields:
            raise Refused("InvalidParameterValue", f"The filter '{name}' is invalid")
    return [item for item in items if all(_holds(item, name, values, fields) for name, values in wanted)]


def _holds(item: Json, name: str, values: Iterable[str], fields: Mapping[str, Field]) -> bool:
    said = {tag["Key"]: tag["Value"] for tag in item.get("Tags", ())}
    if name == "tag-key":
        held = list(said)
    elif name.startswith(_TAG):
        key = name.removeprefix(_TAG)
        held = [said[key]] if key in said else []
    else:
        held = [str(fields[name](item))]
    return any(fnmatchcase(each, value) for each in held for value in values)
