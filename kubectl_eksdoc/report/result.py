"""Base types of printed results: JSON, YAML and the JSON Schema are generated from one declaration of each field.

A result is a `Printed` structure; its fields are printed in their order. A value that is not known is null; a field
whose type allows UnsetType is omitted instead. Docstrings of types and fields become descriptions in the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union, cast, get_args, get_origin

from msgspec import UNSET as UNSET
from msgspec import Meta as Meta
from msgspec import Struct, defstruct, structs, to_builtins
from msgspec import UnsetType as UnsetType
from msgspec import field as field

from kubectl_eksdoc.model.api_objects import API_VERSION
from kubectl_eksdoc.model.findings import Severity, Status, When
from kubectl_eksdoc.model.kinds import Unknown

from .encode import plain_value
from .text import rfc3339

Text = Annotated[str, Meta(min_length=1)]
Texts = tuple[Text, ...]
Lines = tuple[str, ...]
"""Lines of another program's output; some may be empty."""
Count = Annotated[int, Meta(ge=0)]
PositiveCount = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(ge=0, extra={"digits": 3})]
WholeSeconds = Annotated[int, Meta(ge=0, extra={"digits": None})]
SecondsDifference = Annotated[float, Meta(extra={"digits": 3})]
"""In seconds."""
Timestamp = Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$")]
Code = Annotated[str, Meta(extra_json_schema={"$ref": "#/$defs/Code"})]
"""A finding code of the command that prints it."""

Converter = Callable[[Any], Any]


_OPTIONS: dict[str, Any] = {"frozen": True, "rename": "camel", "forbid_unknown_fields": True}
"""msgspec options that subclasses inherit. They are not in the class statement, because mypy would want `frozen`
repeated in each subclass."""


_P = TypeVar("_P", bound="Printed")


class Printed(Struct, **_OPTIONS):
    """Base class of printed structures. `schema`: further constraints in the JSON Schema; `descriptions`: descriptions
    of fields without a docstring. `called` maps a field to its attribute in the facts, where the names differ;
    ``node.zone`` means the zone of the facts' node."""

    schema: ClassVar[Mapping[str, Any]] = {}
    descriptions: ClassVar[Mapping[str, str]] = {}
    called: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def of(cls: type[_P], facts: Any) -> _P:
        """The printed form of `facts`; a plain tuple lists the fields in their order. Subclasses override it where a
        field needs a conversion."""
        if type(facts) is tuple:
            return cls.from_facts(**dict(zip(cls.__struct_fields__, facts, strict=True)))
        return cls.from_facts(facts)

    @classmethod
    def from_facts(cls: type[_P], *facts: object, **values: object) -> _P:
        """Build the structure: each field from `values`, else from the first of `facts` that has an attribute of its
        name (or of the name in `called`), converted to the field's type. Fields `done_seconds` and `p50` may also be
        the attributes `done_s` and `p50_s`. None becomes null, or an empty tuple."""
        if unknown_fields := values.keys() - set(cls.__struct_fields__):
            raise TypeError(f"{cls.__name__} has no field {', '.join(sorted(unknown_fields))}")
        fact_path = cls.called.get
        converted = (
            (name, converter, values[name] if name in values else _look_up(facts, fact_path(name, name)))
            for name, converter in _field_converters(cls)
        )
        return cls(**{name: converter(value) for name, converter, value in converted})


def _look_up(facts: Sequence[object], path: str) -> Any:
    name, _, rest = path.partition(".")
    for source in facts:
        for attribute in (name, f"{name.removesuffix('_seconds')}_s"):
            if hasattr(source, attribute):
                value = getattr(source, attribute)
                return _look_up((value,), rest) if rest else value
    if any(isinstance(source, (NoneType, Unknown)) for source in facts):
        return None
    raise AttributeError(f"none of the facts has {name}")


def define_result_type(name: str, fields: Iterable[tuple[str, Any]], module: str, **namespace: Any) -> type[Printed]:
    """A `Printed` type whose fields (name and type) are declared elsewhere."""
    result_type = defstruct(name, list(fields), bases=(Printed,), kw_only=True, module=module, namespace=namespace)
    return cast("type[Printed]", result_type)


class _OmittedFacts:
    def __getattr__(self, name: str) -> UnsetType:
        return UNSET


OMITTED = _OmittedFacts()
"""Facts for `Printed.from_facts`: every field without an explicit value is omitted."""


def to_json_types(result: object) -> Any:
    """`result` in JSON types, as the encoders take it; lists are tuples."""
    return to_builtins(result)


@cache
def _field_converters(printed: type[Printed]) -> tuple[tuple[str, Converter], ...]:
    return tuple((field.name, _converter(field.type)) for field in structs.fields(printed))


def _converter(hint: Any) -> Converter:
    """The converter to the type `hint`. An empty string in the facts becomes null (or is omitted) where the type allows
    that; so does 0 where the type excludes 0."""
    choices, bare_type = _union_members(hint), _bare_type(hint)
    metas = [meta for choice in choices if get_origin(choice) is Annotated for meta in get_args(choice)[1:]]
    if bare_type is Any:
        return lambda value: value if value is UNSET else plain_value(value)
    convert_known = next(
        (_rounding_converter(meta.extra["digits"]) for meta in metas if meta.extra), _converter_of_type(bare_type)
    )
    null_value: object = UNSET if UnsetType in choices and NoneType not in choices else None
    empty_value: object = () if get_origin(bare_type) is tuple and len(choices) == 1 else null_value
    missing_values: tuple[object, ...] = (None, "") if {NoneType, UnsetType} & set(choices) else (None,)
    missing_values += (0,) if len(missing_values) > 1 and any(meta.ge == 1 or meta.gt == 0 for meta in metas) else ()

    def convert(value: Any) -> Any:
        if value is UNSET:
            return value
        if value is None:
            return empty_value
        return null_value if isinstance(value, Unknown) or value in missing_values else convert_known(value)

    return convert


def _rounding_converter(digits: int | None) -> Converter:
    return lambda value: round(value, digits) + 0  # 0 and not -0


def _union_members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _bare_type(hint: Any) -> Any:
    """The type without null, UnsetType and Annotated metadata; Any for a union of several types."""
    first, *other_types = (each for each in _union_members(hint) if each not in (NoneType, UnsetType))
    if other_types:
        return Any
    return get_args(first)[0] if get_origin(first) is Annotated else first


def _converter_of_type(bare_type: Any) -> Converter:
    origin, type_arguments = get_origin(bare_type), get_args(bare_type)
    if origin is tuple:
        convert = _converter(type_arguments[0])
        return lambda values: tuple(map(convert, values))
    if origin is dict:
        convert = _converter(type_arguments[1])
        return lambda values: {str(key): convert(each) for key, each in values.items()}
    if bare_type is str:
        return _as_text
    if isinstance(bare_type, type) and issubclass(bare_type, Printed):
        return lambda facts: facts if isinstance(facts, bare_type) else bare_type.of(facts)
    return lambda value: value


def _as_text(value: object) -> str:
    if isinstance(value, datetime):
        return rfc3339(value)
    return value if isinstance(value, str) else str(value)


class SubjectResult(Printed):
    """The object that a finding is about."""

    kind: Text
    namespace: Text | UnsetType
    name: Text


class ObjectResult(Printed):
    """An object of the cluster."""

    api_version: Text
    kind: Text
    namespace: Text | None
    name: Text


class RemedyResult(Printed):
    """One step of a remedy, its command, and when to take it."""

    text: Text
    command: Text | UnsetType
    when: When


class FindingResult(Printed):
    """A problem, its subject, its severity, and how to fix it."""

    schema = {"if": {"properties": {"status": {"const": "unknown"}}}, "then": {"required": ["missing"]}}

    code: Code
    title: Text
    severity: Severity
    status: Status
    subject: SubjectResult
    message: Text
    evidence: Lines
    remedy: tuple[RemedyResult, ...]
    missing: Text | UnsetType
    """The data that is missing; only if the status is unknown."""

    @classmethod
    def from_facts(cls: type[_P], *facts: Any, **values: object) -> _P:
        code = facts[0].code
        return super().from_facts(*facts, code=code.name, title=code.title, **values)


class KindResult(Printed):
    """The first fields of every result."""

    api_version: Literal["eksdoc.io/v1alpha1"]
    kind: str

    @classmethod
    def from_facts(cls: type[_P], *facts: object, **values: object) -> _P:
        (kind,) = get_args(next(field.type for field in structs.fields(cls) if field.name == "kind"))
        return super().from_facts(*facts, api_version=API_VERSION, kind=kind, **values)
