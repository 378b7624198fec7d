"""What the update of an add-on will change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import exits, opening, rights
from kubectl_eksdoc.cli import options as since_options
from kubectl_eksdoc.cli.addon import reading
from kubectl_eksdoc.cli.addon.request import Request
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.errors import Forbidden
from kubectl_eksdoc.render.text import counted
from kubectl_eksdoc.wiring.sources import SourceChoice

if TYPE_CHECKING:  # help must not pay for facts and plans
    from kubectl_eksdoc.addon_diff.facts import Asked
    from kubectl_eksdoc.addon_diff.plan import AddonPlan
    from kubectl_eksdoc.addon_diff.since import Since
    from kubectl_eksdoc.model.aws.addons import AddonSide
    from kubectl_eksdoc.model.earlier import Earlier
    from kubectl_eksdoc.wiring.addons import AddonWorld


@dataclass(frozen=True, slots=True)
class Answered:
    """`sides` are AWS's of each of `plans`. `left_out`: some add-on could not be told."""

    world: AddonWorld
    sides: tuple[AddonSide, ...]
    plans: tuple[AddonPlan, ...]
    left_out: bool


def forecast(request: Request, around: Surroundings) -> Answer:
    """
    Raises:
        EksdocError: a file, the cluster or AWS is at fault; the error says which.
    """
    # Imported late: help and errors of usage must not pay for what only an answer needs.
    from kubectl_eksdoc.addon_diff.against import against
    from kubectl_eksdoc.cli import look as looks
    from kubectl_eksdoc.render.addon import FORMATS, AddonView

    options = request.options
    FORMATS.check(options.output)
    asked = _asked(request, around)
    before = _earlier(request, asked, around)
    try:
        found = answered(request, asked, around, around.note)
        world, plans = found.world, found.plans
        steps = _all_steps(found) if request.each_step else {}
        since = _since(world, plans, found.sides) if request.since_when else {}
    except Forbidden as error:
        raise rights.explained(error, reading.NAME) from error
    opening.told(world, options, around)
    since_options.told(before, around)
    whole = not request.addon and not found.left_out
    beside = against(before, world.cluster, plans, request.given, whole) if before is not None else None
    view = AddonView(plans, world.cluster, request.given, world.recognised, steps=steps, since=since, beside=beside)
    look = looks.decide(options, around.stdout, around.environ)
    left_out = found.left_out or (request.strict and is_unsure(plans, around))
    return Answer(FORMATS.render(view, options.output, look), code(plans, left_out))


def answered(request: Request, asked: Asked, around: Surroundings, note: Callable[[str], object]) -> Answered:
    """`note` is told which add-on is left out, and why.

    Raises:
        EksdocError: the cluster or AWS is at fault; the error says which.
    """
    from kubectl_eksdoc.addon_diff.rendering import every_object
    from kubectl_eksdoc.flows.addon import KINDS, plan_addon
    from kubectl_eksdoc.wiring.addons import Reading

    world = reading.opened(request, around, Reading(KINDS, every_object()))
    names = (request.addon,) if request.addon else world.names()
    sides = tuple(reading.sides(world, names, request, note))
    plans = tuple(plan_addon(world.cluster, world.eks, side, world.objects, asked, world.judge) for side in sides)
    return Answered(world, sides, plans, len(sides) < len(names))


def _earlier(request: Request, asked: Asked, around: Surroundings) -> Earlier | None:
    """What --since names: an answer that was saved, or the same one of what was read earlier; None without it.

    Raises:
        BaselineError: it is neither.
    """
    from kubectl_eksdoc.addon_diff.against import as_earlier
    from kubectl_eksdoc.baseline.side import Of
    from kubectl_eksdoc.model.documents import ADDON_DIFF

    def made(source: SourceChoice) -> Earlier:
        # Which add-ons it leaves out is told by the comparison: nobody looked at them then.
        then = answered(replace(request, source=source), asked, around, lambda _: None)
        return as_earlier(Of(request.earlier, __version__, request.given), then.world.cluster, then.plans)

    return since_options.earlier(request.earlier, ADDON_DIFF, reading.NAME, around, made)


def _all_steps(found: Answered) -> dict[str, tuple[AddonPlan, ...]]:
    """By the names of the add-ons."""
    pairs = zip(found.plans, found.sides, strict=True)
    return {side.addon.name: _steps(found.world, plan, side) for plan, side in pairs}


def _steps(world: AddonWorld, plan: AddonPlan, side: AddonSide) -> tuple[AddonPlan, ...]:
    """None for an add-on that may go there at once. Of the target all is known already."""
    from kubectl_eksdoc.flows.addon import plan_steps

    between = plan.facts.steps[:-1]
    return plan_steps(plan, (*world.versions(side.addon.name, between), side.target), world.judge) if between else ()


def _since(world: AddonWorld, plans: Sequence[AddonPlan], sides: Sequence[AddonSide]) -> dict[str, tuple[Since, ...]]:
    from kubectl_eksdoc.flows.addon import first_owned

    names = [(plan, side.addon.name, side.between) for plan, side in zip(plans, sides, strict=True)]
    return {name: first_owned(plan, between, partial(world.versions, name)) for plan, name, between in names}


def _asked(request: Request, around: Surroundings) -> Asked:
    from kubectl_eksdoc.addon_diff.facts import Asked
    from kubectl_eksdoc.addon_diff.modes import Mode

    if request.values is None:
        return Asked(Mode(request.mode))
    return Asked(Mode(request.mode), around.read_values(request.values))


def code(plans: Sequence[AddonPlan], left_out: bool = False) -> int:
    """An add-on that was left out is not known."""
    found = opening.code(each for plan in plans for each in plan.findings)
    return exits.UNKNOWN if left_out and found == exits.CLEAN else found


def is_unsure(plans: Sequence[AddonPlan], around: Surroundings) -> bool:
    """For --strict: what becomes of a field at risk is not certain, which is said."""
    unsure = [change for plan in plans for change in plan.unsure]
    if unsure:
        around.note(f"note: --strict: the effect on {counted(len(unsure), 'field')} is not certain (SURE)")
    return bool(unsure)
