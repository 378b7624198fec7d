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
Positive = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(ge=0, extra={"digits": 3})]
WholeSeconds = Annotated[int, Meta(ge=0, extra={"digits": None})]
Difference = Annotated[float, Meta(extra={"digits": 3})]
"""In seconds."""
Moment = Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$")]
Code = Annotated[str, Meta(extra_json_schema={"$ref": "#/$defs/Code"})]
"""A finding code of the command that prints it."""

Form = Callable[[Any], Any]


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
            return cls.filled(**dict(zip(cls.__struct_fields__, facts, strict=True)))
        return cls.filled(facts)

    @classmethod
    def filled(cls: type[_P], *facts: object, **given: object) -> _P:
        """Build the structure: each field from `values`, else from the first of `facts` that has an attribute of its
        name (or of the name in `called`), converted to the field's type. Fields `done_seconds` and `p50` may also be
        the attributes `done_s` and `p50_s`. None becomes null, or an empty tuple."""
        if wrong := given.keys() - set(cls.__struct_fields__):
            raise TypeError(f"{cls.__name__} has no field {', '.join(sorted(wrong))}")
        path = cls.called.get
        found = (
            (name, form, given[name] if name in given else _found(facts, path(name, name)))
            for name, form in _forms(cls)
        )
        return cls(**{name: form(value) for name, form, value in found})


def _found(facts: Sequence[object], path: str) -> Any:
    name, _, rest = path.partition(".")
    for each in facts:
        for called in (name, f"{name.removesuffix('_seconds')}_s"):
            if hasattr(each, called):
                value = getattr(each, called)
                return _found((value,), rest) if rest else value
    if any(isinstance(each, (NoneType, Unknown)) for each in facts):
        return None
    raise AttributeError(f"none of the facts has {name}")


def made_of(name: str, fields: Iterable[tuple[str, Any]], module: str, **namespace: Any) -> type[Printed]:
    """A `Printed` type whose fields (name and type) are declared elsewhere."""
    found = defstruct(name, list(fields), bases=(Printed,), kw_only=True, module=module, namespace=namespace)
    return cast("type[Printed]", found)


class _LeftOut:
    def __getattr__(self, name: str) -> UnsetType:
        return UNSET


LEFT_OUT = _LeftOut()
"""Facts for `Printed.from_facts`: every field without an explicit value is omitted."""


def plain(result: object) -> Any:
    """`result` in JSON types, as the encoders take it; lists are tuples."""
    return to_builtins(result)


@cache
def _forms(printed: type[Printed]) -> tuple[tuple[str, Form], ...]:
    return tuple((field.name, _form(field.type)) for field in structs.fields(printed))


def _form(hint: Any) -> Form:
    """The converter to the type `hint`. An empty string in the facts becomes null (or is omitted) where the type allows
    that; so does 0 where the type excludes 0."""
    choices, core = _choices(hint), _core(hint)
    metas = [each for choice in choices if get_origin(choice) is Annotated for each in get_args(choice)[1:]]
    if core is Any:
        return lambda value: value if value is UNSET else plain_value(value)
    known = next((_rounded(each.extra["digits"]) for each in metas if each.extra), _known_form(core))
    nothing: object = UNSET if UnsetType in choices and NoneType not in choices else None
    no_items: object = () if get_origin(core) is tuple and len(choices) == 1 else nothing
    unknown: tuple[object, ...] = (None, "") if {NoneType, UnsetType} & set(choices) else (None,)
    unknown += (0,) if len(unknown) > 1 and any(each.ge == 1 or each.gt == 0 for each in metas) else ()

    def form(value: Any) -> Any:
        if value is UNSET:
            return value
        if value is None:
            return no_items
        return nothing if isinstance(value, Unknown) or value in unknown else known(value)

    return form


def _rounded(digits: int | None) -> Form:
    return lambda value: round(value, digits) + 0  # 0 and not -0


def _choices(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _core(hint: Any) -> Any:
    """The type without null, UnsetType and Annotated metadata; Any for a union of several types."""
    core, *others = (each for each in _choices(hint) if each not in (NoneType, UnsetType))
    if others:
        return Any
    return get_args(core)[0] if get_origin(core) is Annotated else core


def _known_form(core: Any) -> Form:
    origin, inside = get_origin(core), get_args(core)
    if origin is tuple:
        form = _form(inside[0])
        return lambda values: tuple(map(form, values))
    if origin is dict:
        form = _form(inside[1])
        return lambda values: {str(key): form(each) for key, each in values.items()}
    if core is str:
        return _text
    if isinstance(core, type) and issubclass(core, Printed):
        return lambda facts: facts if isinstance(facts, core) else core.of(facts)
    return lambda value: value


def _text(value: object) -> str:
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
    def filled(cls: type[_P], *facts: Any, **given: object) -> _P:
        code = facts[0].code
        return super().filled(*facts, code=code.name, title=code.title, **given)


class KindResult(Printed):
    """The first fields of every result."""

    api_version: Literal["eksdoc.io/v1alpha1"]
    kind: str

    @classmethod
    def filled(cls: type[_P], *facts: object, **given: object) -> _P:
        (kind,) = get_args(next(field.type for field in structs.fields(cls) if field.name == "kind"))
        return super().filled(*facts, api_version=API_VERSION, kind=kind, **given)
