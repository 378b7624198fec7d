"""What printed results are made of: a field is declared once, and JSON, YAML and the JSON Schema are made from it.

A result is a `Printed` structure with the fields in the order in which they are printed. What is not known is null; a
field whose type allows UnsetType is left out instead. Docstrings of types and fields are the schema's descriptions.
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
"""As another program wrote them: some may be empty."""
Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(ge=0, extra={"digits": 3})]
WholeSeconds = Annotated[int, Meta(ge=0, extra={"digits": None})]
Difference = Annotated[float, Meta(extra={"digits": 3})]
"""Of seconds."""
Moment = Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$")]
Code = Annotated[str, Meta(extra_json_schema={"$ref": "#/$defs/Code"})]
"""One of the finding codes of the command that prints it."""

Form = Callable[[Any], Any]


_OPTIONS: dict[str, Any] = {"frozen": True, "rename": "camel", "forbid_unknown_fields": True}
"""Subclasses inherit them. For mypy, which wants `frozen` repeated in each, they are not in the class statement."""


_P = TypeVar("_P", bound="Printed")


class Printed(Struct, **_OPTIONS):
    """`schema`: what it demands beside the fields; `descriptions`: of fields that have no docstring. `called`: what the
    facts call a field, where that is not its name; ``node.zone`` is the zone of their node."""

    schema: ClassVar[Mapping[str, Any]] = {}
    descriptions: ClassVar[Mapping[str, str]] = {}
    called: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def of(cls: type[_P], facts: Any) -> _P:
        """The printed form of `facts`; a plain tuple has the fields in their order. Overridden where a field has
        another form than there."""
        if type(facts) is tuple:
            return cls.filled(**dict(zip(cls.__struct_fields__, facts, strict=True)))
        return cls.filled(facts)

    @classmethod
    def filled(cls: type[_P], *facts: object, **given: object) -> _P:
        """Each field as given, or else what the first of `facts` that has it calls by its name (`called`), in the form
        that its type says. `done_seconds` and `p50` may be called `done_s` and `p50_s` there; what None would have is
        null, or no items."""
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
    """A type whose fields (name and type) are declared somewhere else."""
    found = defstruct(name, list(fields), bases=(Printed,), kw_only=True, module=module, namespace=namespace)
    return cast("type[Printed]", found)


class _LeftOut:
    def __getattr__(self, name: str) -> UnsetType:
        return UNSET


LEFT_OUT = _LeftOut()
"""Facts for `Printed.filled` of which every field is left out that is not given."""


def plain(result: object) -> Any:
    """In JSON's types, as the encoders take it; its lists are tuples."""
    return to_builtins(result)


@cache
def _forms(printed: type[Printed]) -> tuple[tuple[str, Form], ...]:
    return tuple((field.name, _form(field.type)) for field in structs.fields(printed))


def _form(hint: Any) -> Form:
    """To the form of `hint`; the facts' "" is null, or left out, where that is allowed, and so is a 0 that no value can
    be."""
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
    """Without null, UnsetType, and what Annotated adds."""
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
    """What a finding is about."""

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
    """One step, the command that does it, and when it can be taken."""

    text: Text
    command: Text | UnsetType
    when: When


class FindingResult(Printed):
    """What is so, on what, how bad, and what to do."""

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
    """What an unknown one lacks."""

    @classmethod
    def filled(cls: type[_P], *facts: Any, **given: object) -> _P:
        code = facts[0].code
        return super().filled(*facts, code=code.name, title=code.title, **given)


class KindResult(Printed):
    """What every result begins with."""

    api_version: Literal["eksdoc.io/v1alpha1"]
    kind: str

    @classmethod
    def filled(cls: type[_P], *facts: object, **given: object) -> _P:
        (kind,) = get_args(next(field.type for field in structs.fields(cls) if field.name == "kind"))
        return super().filled(*facts, api_version=API_VERSION, kind=kind, **given)
