"""`frozen` makes the same class as the standard library's frozen dataclass with slots, but faster."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import msgspec
import pytest

from kubectl_eksdoc.frozen import CachedProperties, frozen

T = TypeVar("T")
Make = Callable[[type[Any]], type[Any]]


def standard(**options: bool) -> Make:
    return dataclass(frozen=True, slots=True, **options)  # type: ignore[call-overload, no-any-return]


def ours(**options: bool) -> Make:
    return frozen(**options)


def point(make: Make) -> type[Any]:
    class Point:
        """A point with coordinates."""

        x: int
        names: list[str] = field(default_factory=list, compare=False)
        y: int = 2
        note: str = field(default="n", repr=False, compare=False)
        kept: int = field(default=7, init=False)
        sum: int = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "sum", self.x + self.y)

    return make(Point)


def pair(make: Make) -> type[Any]:
    class Pair:
        a: int
        b: str = field(default="", hash=False)

    return make(Pair)


def named(make: Make) -> type[Any]:
    class Named:
        name: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, str)

        def __repr__(self) -> str:
            return self.name

    return make(Named)


def unhashable(make: Make) -> type[Any]:
    class Unhashable:
        name: str
        __hash__ = None  # type: ignore[assignment]

    return make(Unhashable)


def told(call: Callable[[], object]) -> tuple[object, str]:
    """The result of a call: its value, or the error."""
    try:
        return call(), ""
    except Exception as error:
        return type(error).__name__, str(error) if isinstance(error, TypeError) else ""


def behaviour(make: Callable[..., Make]) -> Iterator[object]:
    of = point(make())
    yield told(of), told(of)
    one, same, more = of(1), of(1, ["a"], note="other"), of(1, [], 3)
    yield repr(one), repr(same), repr(more)
    yield one == same, one == same, one == more, one != more, one == 1, hash(one) == hash(same), len({one, same, more})
    yield asdict(more), replace(one, x=5).sum, told(lambda: replace(one, kept=3))[0], [f.name for f in fields(of)]
    yield is_dataclass(of), of.__match_args__, of.__slots__, of.__doc__, of.__qualname__.rsplit(".", 1)[-1]
    yield one.names is of(1).names, one.names, hasattr(one, "__dict__")
    yield told(lambda: setattr(one, "x", 2))[0], told(lambda: delattr(one, "x"))[0]
    yield told(lambda: of(1, 2, 3, 4, 5)), told(lambda: of(z=1)), told(lambda: one < more)[0]
    yield copy.copy(more) == more, copy.deepcopy(same).names is same.names, msgspec.json.encode(more)
    ordered, alone, keyed = (pair(make(**{option: option != "eq"})) for option in ("order", "eq", "kw_only"))
    yield [each.b for each in sorted([ordered(2), ordered(1, "b"), ordered(1)])]
    yield ordered(1) <= ordered(1), ordered(2) > ordered(1, "z"), ordered(2) >= ordered(2), ordered(1) < ordered(1)
    yield alone(1) == alone(1), len({alone(1), alone(1)}), keyed(b="x", a=1).a, told(lambda: keyed(1))[0]
    yield hash(ordered(1, "a")) == hash(ordered(1, "b")), ordered(1, "a") == ordered(1, "b")
    own, none = named(make()), unhashable(make())
    yield own("x") == "y", repr(own("x")), hash(own("x")) == hash(("x",)), told(lambda: hash(none("x")))[0]


def test_it_behaves_as_a_frozen_dataclass() -> None:
    for made, expected in zip(behaviour(ours), behaviour(standard), strict=True):
        assert made == expected


@frozen
class Base(Generic[T]):
    a: T


@frozen
class Derived(Base[int], CachedProperties):
    b: int = 0

    @cached_property
    def both(self) -> list[int]:
        return [self.a, self.b]


@frozen
class Empty:
    pass


def test_a_derived_class_has_the_fields_of_its_base() -> None:
    assert repr(Derived(1, 2)) == "Derived(a=1, b=2)" and Derived(1) != Base(1) and Base(1) == Base(1)
    assert Empty() == Empty() and repr(Empty()) == "Empty()" and hash(Empty()) == hash(Empty())


def test_it_can_be_pickled_and_keeps_what_it_has_found_to_itself() -> None:
    found = Derived(1, 2)
    assert found.both is found.both
    again = pickle.loads(pickle.dumps((found, Empty())))
    assert again == (Derived(1, 2), Empty()) and "both" not in vars(again[0])
    with pytest.raises(FrozenInstanceError):
        again[0].a = 2
