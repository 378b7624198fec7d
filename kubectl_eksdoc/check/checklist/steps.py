"""A step of the checklist as data, and which findings it waits for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from kubectl_eksdoc.check.areas import Gate
from kubectl_eksdoc.check.wording import led
from kubectl_eksdoc.model.commands import CommandTarget
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.model.knowledge import KnowledgeSource
from kubectl_eksdoc.model.versions import Version


class Phase(str, Enum):
    """In the order of the way; those about the control plane come again with each minor version."""

    PREPARE = "prepare"
    BEFORE_CONTROL_PLANE = "before the control plane"
    CONTROL_PLANE = "control plane"
    AFTER_CONTROL_PLANE = "after the control plane"
    NODES = "nodes"
    END = "end"


@dataclass(frozen=True, slots=True)
class StepForm:
    """How a step is done where another `tool` manages what it changes: `text` a sentence."""

    tool: str
    text: str
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UpgradeStep:
    """`number` from 1. `commands`: one after the other; none where only people can do it. `done_when`: a sentence that
    can be verified, by `verify` where a command shows it ("" where none does). `at`: the minor version that the control
    plane has or gets, None outside of that. `gate`, `codes` and `about` (names of subjects): which findings it waits
    for, all that are given; with none of them it waits for nothing. `source`: of the rule, None where it is an advice.
    `forms`: in place of `commands`, where another tool manages it.
    """

    phase: Phase
    title: str
    why: str
    commands: tuple[str, ...] = ()
    done_when: str = ""
    verify: str = ""
    at: Version | None = None
    gate: Gate | None = None
    codes: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    source: KnowledgeSource | None = None
    number: int = 0
    forms: tuple[StepForm, ...] = ()

    def waits_for(self, finding: Finding, gate: Gate | None) -> bool:
        """Whether that finding, which counts at `gate`, is to be mended before this step."""
        if self.gate is None and not self.codes and not self.about:
            return False
        return (
            (self.gate is None or gate is self.gate)
            and (not self.codes or finding.code.name in self.codes)
            and (not self.about or finding.subject.name in self.about)
        )


def numbered(steps: Iterable[UpgradeStep], reach: CommandTarget) -> tuple[UpgradeStep, ...]:
    """In the order in which they come, with commands that lead to the cluster that was read."""
    return tuple(_numbered(number, each, reach) for number, each in enumerate(steps, 1))


def _numbered(number: int, step: UpgradeStep, reach: CommandTarget) -> UpgradeStep:
    commands = tuple(led(command, reach) for command in step.commands)
    return replace(step, number=number, commands=commands, verify=led(step.verify, reach))
