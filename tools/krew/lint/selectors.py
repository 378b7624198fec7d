"""The machines of a platform: selectors of Kubernetes over os and arch (internal/installation/platform.go and
cmd/validate-krew-manifest/main.go; k8s.io/apimachinery's LabelSelectorAsSelector)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tools.krew.lint import codes
from tools.krew.lint.complaints import Complaint, quoted
from tools.krew.lint.model import PlatformSelector, PluginManifest


class Machine(NamedTuple):
    os: str
    arch: str

    def __str__(self) -> str:
        return f"{self.os}/{self.arch}"


MACHINES: tuple[Machine, ...] = tuple(
    Machine(os, arch)
    for os, every in (
        ("windows", ("386", "amd64", "arm64")),
        ("linux", ("386", "amd64", "arm", "arm64", "ppc64le")),
        ("darwin", ("386", "amd64", "arm64")),
    )
    for arch in every
)
"""In the order of the validator, which checks no others."""

_KEYS = ("os", "arch")
_IN, _NOT_IN, _EXISTS, _NOT_THERE = "In", "NotIn", "Exists", "DoesNotExist"
_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")


def of_selectors(manifest: PluginManifest) -> Iterator[Complaint]:
    """Checks of every platform, and of any two of them."""
    taken: dict[Machine, int] = {}
    told: set[tuple[int, int]] = set()
    for i, platform in enumerate(manifest.platforms):
        at = f"spec.platforms[{i}].selector"
        wrong = list(_wrong(platform.selector))
        for what in wrong:
            yield Complaint(codes.SELECTOR, at, what, "Write matchLabels or matchExpressions with os, arch or both.")
        machines = () if wrong else machines_of(platform.selector)
        if not wrong and not machines:
            known = ", ".join(map(str, MACHINES))
            yield Complaint(
                codes.PLATFORM_UNKNOWN, at, "it matches no machine that krew is built for", f"Choose among {known}."
            )
        for machine in machines:
            first = taken.setdefault(machine, i)
            if first != i and (first, i) not in told:
                told.add((first, i))
                what = f"{machine} is also of spec.platforms[{first}], which krew would take"
                yield Complaint(codes.PLATFORM_OVERLAP, at, what, "Let each machine match one platform.")


def machines_of(selector: PlatformSelector | None) -> tuple[Machine, ...]:
    """The machines that it matches; none for an invalid selector."""
    if selector is None or list(_wrong(selector)):
        return ()
    return tuple(machine for machine in MACHINES if _takes(selector, machine))


def _takes(selector: PlatformSelector, machine: Machine) -> bool:
    has = machine._asdict()
    if any(has[key] != value for key, value in selector.labels or ()):
        return False
    for each in selector.expressions or ():
        if each.operator == _NOT_THERE:
            return False
        if each.operator != _EXISTS and (has[each.key] in each.values) != (each.operator == _IN):
            return False
    return True


def _wrong(selector: PlatformSelector | None) -> Iterator[str]:
    if selector is None:
        yield "there is no selector"
        return
    labels, expressions = selector.labels, selector.expressions
    if labels is None and not expressions:
        yield "the selector is empty"
        return
    if labels is not None and not labels:
        yield "matchLabels is empty"
    if expressions is not None and not expressions:
        yield "matchExpressions is empty"
    for key in dict.fromkeys([*(key for key, _ in labels or ()), *(each.key for each in expressions or ())]):
        if key not in _KEYS:
            yield f"it asks for {quoted(key)}, and krew knows os and arch"
    values = [value for _, value in labels or ()]
    for each in expressions or ():
        values += each.values
        if each.operator not in (_IN, _NOT_IN, _EXISTS, _NOT_THERE):
            yield f"{quoted(each.operator)} is no operator: it is In, NotIn, Exists or DoesNotExist"
        elif bool(each.values) != (each.operator in (_IN, _NOT_IN)):
            yield f"{each.operator} of {quoted(each.key)} has {'no' if not each.values else 'a list of'} values"
    yield from (f"{quoted(value)} is no value of a label" for value in values if not _VALUE.fullmatch(value))
