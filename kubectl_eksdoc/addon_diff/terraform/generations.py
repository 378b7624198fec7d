"""How old the AWS provider is that made a plan, as far as add-ons are written differently for it.

Sources: the provider's changelog: PRESERVE is taken from 4.32 (documented from 4.34), ``configuration_values`` from
4.47; 5.0 deprecates ``resolve_conflicts`` for ``resolve_conflicts_on_create`` and ``…_on_update``, 6.0 removes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum

from kubectl_eksdoc.model.terraform import AddonResource, TerraformPlan

Release = tuple[int, int]
_NEWEST: Release = (10**6, 0)


class Generation(Enum):
    """By the first release of each, newest first; its value is how people call it."""

    V6 = "6"
    V5 = "5"
    V4_47 = "4.47 to 4.x"
    V4_32 = "4.32 to 4.46"
    OLD = "before 4.32"

    @property
    def start(self) -> Release:
        return _STARTS[self]

    @property
    def gives_values(self) -> bool:
        """It has ``configuration_values``."""
        return self.start >= (4, 47)

    @property
    def gives_preserve(self) -> bool:
        """It takes PRESERVE."""
        return self.start >= (4, 32)


_STARTS = {
    Generation.V6: (6, 0),
    Generation.V5: (5, 0),
    Generation.V4_47: (4, 47),
    Generation.V4_32: (4, 32),
    Generation.OLD: (0, 0),
}


def generations(plan: TerraformPlan, resource: AddonResource) -> tuple[Generation, ...]:
    """Those that may have made it, newest first: by the arguments that it knows for the resource, and by what its
    modules ask for. Several where neither tells."""
    by_arguments = tuple(_by_arguments(resource.arguments))
    asked = [each.version for each in plan.constraints if _is_around(each.module, resource.module_path)]
    lowest, end = bounds(asked)
    fitting = tuple(each for each in by_arguments if _end(each) > lowest and each.start < end)
    return fitting or by_arguments


def _is_around(module: str, path: str) -> bool:
    return not module or path == module or path.startswith(f"{module}.")


def _by_arguments(names: Sequence[str]) -> Iterator[Generation]:
    """A plan has all arguments of a resource, set or not."""
    old, new, values = (name in names for name in _TELLING)
    for each in Generation:
        if not old and not new:
            fits = each.gives_values or not values  # nothing speaks of conflicts
        else:
            fits = old is (each.start < (6, 0)) and new is (each.start >= (5, 0))
            fits = fits and (new or values is each.gives_values)
        if fits:
            yield each


_TELLING = ("resolve_conflicts", "resolve_conflicts_on_update", "configuration_values")


def _end(generation: Generation) -> Release:
    every = list(Generation)
    at = every.index(generation)
    return every[at - 1].start if at else _NEWEST


def bounds(constraints: Sequence[str]) -> tuple[Release, Release]:
    """The first release that all of them allow, and the first after them: ``~> 4.30`` is (4, 30) to (5, 0). Of what is
    excluded (``!=``) or no version nothing follows."""
    lowest, end = (0, 0), _NEWEST
    for text in constraints:
        for part in text.split(","):
            low, high = _bounds(part.strip())
            lowest, end = max(lowest, low), min(end, high)
    return lowest, end


_CONSTRAINT = re.compile(r"(=|!=|>|>=|<|<=|~>)?\s*v?(\d{1,5})(?:\.(\d{1,5}))?(?:\.(\d{1,5}))?(?:-[\w.]+)?\Z", re.ASCII)


def _bounds(constraint: str) -> tuple[Release, Release]:
    match = _CONSTRAINT.match(constraint)
    if match is None:
        return (0, 0), _NEWEST
    sign, major, minor, patch = match.groups()
    release = (int(major), int(minor or 0))
    after = (release[0], release[1] + 1)
    if sign in (">", ">="):
        return release, _NEWEST
    if sign == "<":
        return (0, 0), after if int(patch or 0) else release
    if sign == "<=":
        return (0, 0), after
    if sign == "~>":
        return release, after if patch is not None else (release[0] + 1, 0)
    return ((0, 0), _NEWEST) if sign == "!=" else (release, after)
