"""A frozen class is what the standard library's frozen dataclass with slots is; only sooner."""

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
        """Somewhere."""

        x: int
        names: list[str] = field(default_factory=list, compare=False)
        y: int = 2
        note: str = field(default="n", repr=False, compare=False)
        kept: int = field(default=7, init=False)
        sum: int = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "sum", self.x + self.y)

    return make(Point)


def told(call: Callable[[], object]) -> object:
    """What comes of a call: its value, or the name of the error."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__


def behaviour(of: type[Any]) -> Iterator[object]:
    one, same, more = of(1), of(1, ["a"], note="other"), of(1, [], 3)
    yield from (repr(one), repr(same), repr(more))
    yield from (one == same, one == more, one != more, one == 1, hash(one) == hash(same), len({one, same, more}))
    yield from (asdict(more), replace(one, x=5).sum, told(lambda: replace(one, kept=3)), [f.name for f in fields(of)])
    yield from (is_dataclass(of), of.__match_args__, of.__slots__, of.__doc__, of.__qualname__.rsplit(".", 1)[-1])
    yield from (one.names is of(1).names, one.names, hasattr(one, "__dict__"))
    yield from (told(lambda: setattr(one, "x", 2)), told(lambda: delattr(one, "x")))
    yield from (told(of), told(lambda: of(1, 2, 3, 4, 5)), told(lambda: of(z=1)), told(lambda: one < more))
    yield from (copy.copy(more) == more, copy.deepcopy(same).names is same.names, msgspec.json.encode(more))


def test_it_behaves_as_a_frozen_dataclass() -> None:
    assert list(behaviour(point(ours()))) == list(behaviour(point(standard())))


def test_the_first_call_of_a_method_answers_as_the_second() -> None:
    made = point(ours())
    assert (made(1) == made(1)) is (made(1) == made(1)) is True and hash(made(1)) == hash(made(1))


@pytest.mark.parametrize("make", [ours, standard])
def test_its_options(make: Callable[..., Make]) -> None:
    def pair(**options: bool) -> type[Any]:
        class Pair:
            a: int
            b: str = ""

        return make(**options)(Pair)

    ordered = pair(order=True)
    assert sorted([ordered(2), ordered(1, "b"), ordered(1)]) == [ordered(1), ordered(1, "b"), ordered(2)]
    assert ordered(1) <= ordered(1) and ordered(2) > ordered(1, "z") and ordered(2) >= ordered(2)
    assert pair(eq=False)(1) != pair(eq=False)(1) and len({(p := pair(eq=False))(1), p(1)}) == 2
    assert pair(kw_only=True)(b="x", a=1).a == 1 and told(lambda: pair(kw_only=True)(1)) == "TypeError"


@pytest.mark.parametrize("make", [ours, standard])
def test_what_a_class_has_itself_stays(make: Callable[..., Make]) -> None:
    def named() -> type[Any]:
        class Named:
            name: str

            def __eq__(self, other: object) -> bool:
                return isinstance(other, str)

            def __repr__(self) -> str:
                return self.name

        return make()(Named)

    of = named()
    assert of("x") == "y" and repr(of("x")) == "x" and hash(of("x")) == hash(("x",))


@pytest.mark.parametrize("make", [ours, standard])
def test_what_a_field_or_a_class_says_of_its_hash_holds(make: Callable[..., Make]) -> None:
    class Marked:
        name: str
        note: str = field(default="", hash=False)

    class Unhashable:
        name: str
        __hash__ = None  # type: ignore[assignment]

    of = make()(Marked)
    assert hash(of("x", "a")) == hash(of("x", "b")) and of("x", "a") != of("x", "b")
    assert told(lambda: hash(make()(Unhashable)("x"))) == "TypeError"


@pytest.mark.parametrize("make", [ours, standard])
def test_an_error_about_the_arguments_names_the_class(make: Callable[..., Make]) -> None:
    for _ in range(2):
        with pytest.raises(TypeError, match=r"Point\.__init__\(\) missing 1 required positional argument: 'x'"):
            point(make())()


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
