"""The decorator `frozen`, for facts and decisions: a frozen dataclass with slots.

It builds what ``dataclass(frozen=True, slots=True)`` builds, at a twentieth of the cost: the standard library compiles
six methods of a class when its module is imported, and a command calls few of them. Here each is compiled on its first
call.
"""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: object) -> Any:
        """What ``typing`` has since Python 3.11."""
        return lambda decorator: decorator


_T = TypeVar("_T")
_EQUALITY_METHODS = ("__eq__", "__hash__")
_ORDER_METHODS = ("__lt__", "__le__", "__gt__", "__ge__")
_OPERATORS = dict(zip(("__eq__", *_ORDER_METHODS), ("==", "<", "<=", ">", ">="), strict=True))


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[_T], /) -> type[_T]: ...
@overload
def frozen(*, eq: bool = True, order: bool = False, kw_only: bool = False) -> Callable[[type[_T]], type[_T]]: ...


def frozen(cls: Any = None, /, *, eq: bool = True, order: bool = False, kw_only: bool = False) -> Any:
    """`cls` as a frozen dataclass with slots; without `cls`, a decorator with these options of ``dataclass``."""
    compiled = ("__init__", *(_EQUALITY_METHODS if eq else ()), *(_ORDER_METHODS if order else ()))

    def decorate(cls: Any) -> Any:
        cls.__doc__ = cls.__doc__ or cls.__name__  # else ``dataclass`` computes one from the signature, which is slow
        own = {name for name in vars(cls) if name != "__hash__" or _has_own_hash(cls)}
        dataclass_type = dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(cls)
        for name, method in {
            **_COMMON_METHODS,
            **{name: _compile_on_first_call(dataclass_type, name) for name in compiled},
        }.items():
            if name not in own:
                setattr(dataclass_type, name, method)
        return dataclass_type

    return decorate if cls is None else decorate(cls)


class CachedProperties:
    """A base of frozen classes that gives their instances a slot for the values of ``cached_property``."""


def _has_own_hash(cls: Any) -> bool:
    """Python itself sets ``__hash__`` to None in a class that has an ``__eq__``."""
    return vars(cls).get("__hash__") is not None or "__eq__" not in vars(cls)


def _compile_on_first_call(cls: Any, name: str) -> Any:
    """The method `name` of `cls`: on its first call it is replaced by the compiled one."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        names: dict[str, Any] = {"MISSING": MISSING}
        exec(_init_source(cls, names) if name == "__init__" else _comparison_source(cls, name), names)
        names[name].__qualname__ = f"{cls.__qualname__}.{name}"  # errors about its arguments show it
        setattr(cls, name, names[name])
        return names[name](self, *args, **kwargs)

    return method


def _init_source(cls: Any, names: dict[str, Any]) -> str:
    """The source of ``__init__``; the objects that it uses go into `names`. A slot's own ``__set__`` is faster than
    ``object``'s."""
    parameters: tuple[list[str], list[str]] = (["self"], ["*"])
    lines = ["    pass"]
    for each in fields(cls):
        name = value = each.name
        default = ""
        if each.default is not MISSING:
            names[f"_default_{name}"], default = each.default, f"=_default_{name}"
        elif each.default_factory is not MISSING:
            names[f"_make_{name}"], default = each.default_factory, "=MISSING"
            value = f"_make_{name}() if {name} is MISSING else {name}"
        if each.init:
            parameters[bool(each.kw_only)].append(f"{name}{default}")
        elif default:
            lines.append(f"    {name}{default}")
        else:
            continue
        names[f"_set_{name}"] = getattr(cls, name).__set__
        lines.append(f"    _set_{name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("    self.__post_init__()")
    keyword_only = parameters[1] if len(parameters[1]) > 1 else []
    return "\n".join((f"def __init__({', '.join((*parameters[0], *keyword_only))}):", *lines))


def _comparison_source(cls: Any, name: str) -> str:
    """The source of a method that compares or hashes the values of the fields."""
    is_hash = name == "__hash__"
    field_names = [
        each.name for each in fields(cls) if (each.compare if not is_hash or each.hash is None else each.hash)
    ]
    self_values, other_values = (
        f"({''.join(f'{whose}.{field}, ' for field in field_names)})" for whose in ("self", "other")
    )
    if is_hash:
        return f"def __hash__(self):\n    return hash({self_values})"
    comparison = (
        f"{self_values} {_OPERATORS[name]} {other_values} if other.__class__ is self.__class__ else NotImplemented"
    )
    return f"def {name}(self, other):\n    return {comparison}"


def _repr(self: Any) -> str:
    shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({shown})"


def _set(self: Any, name: str, _: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _restore(self: Any, state: tuple[object, dict[str, Any]]) -> None:
    """Fill a copy or an unpickled object, without cached values."""
    for name, value in state[1].items():
        object.__setattr__(self, name, value)


_COMMON_METHODS = {"__repr__": _repr, "__setattr__": _set, "__delattr__": _delete, "__setstate__": _restore}
