"""In which order CoreDNS is mended: what moves nothing comes first, and makes safe what moves something.

A longer lameduck is reloaded within two minutes and restarts nobody; to place pods anew is a rollout, in which each old
pod leaves with the lameduck that it has; the queue is for the nodes' next notice, and Karpenter restarts for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kubectl_eksdoc.core.model import dns_codes as codes
from kubectl_eksdoc.core.model.findings import Finding, Severity, Status
from kubectl_eksdoc.core.plan.dns.judging.configured import NO_START
from kubectl_eksdoc.core.plan.dns.judging.leaving import Ending
from kubectl_eksdoc.core.plan.dns.judging.subjects import LOOK, place_elsewhere, set_to


@dataclass(frozen=True, slots=True)
class Step:
    """`what` is a sentence; `moves`: what it moves or restarts, "" for nothing; `command` is "" where a person must
    decide."""

    what: str
    why: str
    moves: str
    command: str = ""


_FIRST_AID = (codes.FAILING, codes.NOT_SERVING)


def steps(findings: Sequence[Finding], end: Ending, self_managed: bool = False) -> tuple[Step, ...]:
    """Of what fails; () where there is nothing to mend."""
    failing = {each.code: each for each in reversed(findings) if each.status is Status.FAIL}
    found = [_of_remedy(failing[code]) for code in _FIRST_AID if code in failing and failing[code].remedy]
    broken = [failing[code] for code in NO_START if code in failing]
    found += [_of_remedy(each, number) for each in broken for number in range(len(each.remedy))]
    if broken:
        return (*found, _look_again())
    doubted = (each for each in findings if each.code is codes.LAMEDUCK_SHORT)
    lameduck = next(doubted, failing.get(codes.LAMEDUCK_LONG))
    if lameduck is not None and not end.advised_s:
        found.append(_of_remedy(lameduck, moves="each of its pods once, one at a time"))
    elif lameduck is not None:
        found.append(
            Step(
                f"Set lameduck to {end.advised_s} s.",
                "pods that end after it answer until every node sends elsewhere",
                "nothing; CoreDNS reloads its Corefile within two minutes",
                set_to(end.advised_s),
            )
        )
    if codes.TOO_FEW in failing and failing[codes.TOO_FEW].severity is Severity.HIGH and codes.FAILING not in failing:
        found.append(_of_remedy(failing[codes.TOO_FEW], moves="nothing"))
    if codes.NO_BUDGET in failing:
        found.append(_of_remedy(failing[codes.NO_BUDGET], moves="nothing"))
    if codes.ON_SPOT in failing or codes.TOGETHER in failing:
        spot = codes.ON_SPOT in failing
        found.append(
            Step(
                "Place it on on-demand nodes, spread over zones." if spot else "Spread it over nodes and zones.",
                "EC2 then takes none of its nodes back" if spot else "whatever takes one away leaves the others",
                "each of its pods once, one at a time",
                place_elsewhere(self_managed),
            )
        )
    if codes.NOTICES in failing:
        found.append(
            Step(
                "Have Karpenter receive Spot interruption events.",
                "all other pods on Spot nodes are terminated without SIGTERM, too",
                "no node; Karpenter itself restarts",
                _command(failing[codes.NOTICES]),
            )
        )
    return tuple(found)


def _look_again() -> Step:
    return Step(
        "Look again before anything else.",
        "whatever else is to mend makes pods anew, and with this Corefile none of them comes up",
        "nothing",
        LOOK,
    )


def _of_remedy(finding: Finding, number: int = 0, moves: str = "") -> Step:
    remedy = finding.remedy[number]
    return Step(remedy.text, finding.message, moves, remedy.command)


def _command(finding: Finding) -> str:
    return next((each.command for each in finding.remedy if each.command), "")
