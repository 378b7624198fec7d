"""What to do about configuration values that an add-on's version does not allow."""

from __future__ import annotations

from collections.abc import Callable

from kubectl_eksdoc.model.aws.addons import SchemaViolation, shown

_WORDS = {
    "string": "a text",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "array": "a list",
    "object": "an object",
}
_SCALARS = ("boolean", "integer", "number")


def remedy(broken: SchemaViolation, version: str) -> str:
    """One sentence without its full stop. `version`: whose schema it is, ``vpc-cni v1.15.1-eksbuild.1``."""
    made = _BY_RULE.get(broken.rule, _anything)
    return made(broken, shown(broken.path), version)


def _type(broken: SchemaViolation, where: str, version: str) -> str:
    if broken.found in _SCALARS and "string" in broken.wanted:
        return f'quote {where}: {version} wants it as text, such as "true" or "1"'
    if broken.found == "string" and set(broken.wanted) & set(_SCALARS):
        return f"write {where} without quotes: {version} wants {_kinds(broken.wanted)}"
    if broken.found == "null":
        return f"give {where} a value or leave it out: {version} wants {_kinds(broken.wanted)}"
    return f"make {where} {_kinds(broken.wanted)}, as {version} wants"


def _key(broken: SchemaViolation, where: str, version: str) -> str:
    return f"remove {where}: {version} knows no such key there"


def _required(broken: SchemaViolation, where: str, version: str) -> str:
    return f"give {where}, or leave out what it belongs to: {version} wants it there"


def _enum(broken: SchemaViolation, where: str, version: str) -> str:
    return f"set {where} to {_one_of(broken.wanted)}: {version} takes nothing else"


def _format(broken: SchemaViolation, where: str, version: str) -> str:
    written = {"boolean": 'to "true" or "false"', "integer": 'to a whole number as text, such as "1"'}
    wanted = next(iter(broken.wanted), "")
    return f"set {where} {written.get(wanted, f'to a text of the format {wanted}')}: {version} means that by it"


def _pattern(broken: SchemaViolation, where: str, version: str) -> str:
    return f"write {where} so that it matches {_one_of(broken.wanted)}, as {version} wants"


def _anything(broken: SchemaViolation, where: str, version: str) -> str:
    return f"change {where} to what {version} allows: it {broken.what}"


_BY_RULE: dict[str, Callable[[SchemaViolation, str, str], str]] = {
    "type": _type,
    "additionalProperties": _key,
    "false": _key,
    "required": _required,
    "enum": _enum,
    "const": _enum,
    "format": _format,
    "pattern": _pattern,
}


def _one_of(words: tuple[str, ...]) -> str:
    return " or ".join(words)


def _kinds(types: tuple[str, ...]) -> str:
    return " or ".join(_WORDS.get(each, each) for each in types)
