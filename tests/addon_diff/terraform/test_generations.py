"""How old a provider is: by what its plans have, and by what modules ask for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.addon_diff.terraform.requests import Generation, bounds, generations
from kubectl_eksdoc.model.terraform import AddonResource, ProviderConstraint, TerraformPlan

NONE, UPDATE, VALUES = "resolve_conflicts", "resolve_conflicts_on_update", "configuration_values"
FROM_4 = ["4.47 to 4.x", "4.32 to 4.46", "before 4.32"]
EVERY = ["6", "5", *FROM_4]


def known(arguments: tuple[str, ...], *constraints: str, module: str = "", of: str = "") -> list[str]:
    asked = tuple(ProviderConstraint(of, "hashicorp/aws", each) for each in constraints)
    resource = AddonResource("a", module, ("update",), None, None, arguments=arguments)
    return [each.value for each in generations(TerraformPlan("f", "1.9", (resource,), asked), resource)]


@pytest.mark.parametrize(
    ("arguments", "constraints", "expected"),
    [
        ((UPDATE, VALUES), (), ["6"]),
        ((NONE, UPDATE, VALUES), ("~> 4.0",), ["5"]),  # what stands in the plan is what made it
        ((NONE, VALUES), (), ["4.47 to 4.x"]),
        ((NONE,), (), ["4.32 to 4.46", "before 4.32"]),
        ((NONE,), ("= 3.76.1",), ["before 4.32"]),
        ((NONE,), (">= 4.34, < 4.47",), ["4.32 to 4.46"]),
        ((), (), EVERY),
        ((), ("~> 4.0",), FROM_4),
        ((), (">= 5.0",), ["6", "5"]),
        ((), ("~> 5.0", ">= 4.57"), ["5"]),
        ((VALUES,), ("nonsense",), ["6", "5", "4.47 to 4.x"]),
    ],
)
def test_generations(arguments: tuple[str, ...], constraints: tuple[str, ...], expected: list[str]) -> None:
    assert known(arguments, *constraints) == expected


def test_only_modules_around_it_ask_for_its_provider() -> None:
    inside = 'module.platform["a.b"].module.eks'
    assert known((), "~> 5.0", module=inside, of="platform") == ["5"]
    assert known((), "~> 5.0", module=inside, of="platform.eks") == ["5"]
    assert known((), "~> 5.0", module=inside, of="plat") == EVERY


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        ("~> 4.30", ((4, 30), (5, 0))),
        ("~> 4.30.2", ((4, 30), (4, 31))),
        ("~> 5", ((5, 0), (6, 0))),
        ("4.31.0", ((4, 31), (4, 32))),
        ("< 4.32", ((0, 0), (4, 32))),
        ("< 4.32.1", ((0, 0), (4, 33))),
        ("<= 4.31.9", ((0, 0), (4, 32))),
        ("> 4.31", ((4, 31), (10**6, 0))),
        ("!= 5.1.0", ((0, 0), (10**6, 0))),
        (">= 4.0, < 5.0-beta1", ((4, 0), (5, 0))),
    ],
)
def test_bounds(constraint: str, expected: tuple[tuple[int, int], tuple[int, int]]) -> None:
    assert bounds([constraint]) == expected


@given(st.lists(st.text(alphabet="0123456789.,<>=~! v-", max_size=12), max_size=3))
def test_whatever_is_asked_for_some_generation_is_left(constraints: list[str]) -> None:
    assert known((), *constraints) and set(known((NONE,), *constraints)) <= {"4.32 to 4.46", "before 4.32"}


def test_the_generations_are_in_order() -> None:
    starts = [each.start for each in Generation]
    assert starts == sorted(starts, reverse=True)
    assert [each.gives_values for each in Generation] == [True, True, True, False, False]
    assert [each.gives_preserve for each in Generation] == [True, True, True, True, False]
