"""What a field of an add-on does, and what it means when it changes.

A field that is not in knowledge/field_effects.json is none without effect: it is one of which nothing is known here,
and that is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kubectl_eksdoc.addon_diff.fields import AddonField
from kubectl_eksdoc.model.findings import Severity
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records


class Users(Enum):
    """Who notices."""

    BRANCH_PODS = "pods with security groups of their own"
    EVERYBODY = "all pods"
    NEW_PODS = "pods that start afterwards"
    NODES = "nodes that come afterwards"


@dataclass(frozen=True, slots=True)
class FieldEffect:
    """`fields`: names of variables, kinds with the last step of a path (``Deployment f:replicas``), or steps of any.
    `does`: what follows when their value is lost, a clause. `worst`: how bad that is where somebody uses it.
    `at_once`: as the update rolls over the nodes, and not later. `of`: the only value whose loss does it, "" for any.
    `probed`: what the kubelet's probes hear is changed; `strict_only`: nothing of it happens in standard mode.
    """

    fields: tuple[str, ...]
    does: str
    users: Users
    worst: Severity
    source: KnowledgeSource
    at_once: bool = True
    of: str = ""
    probed: bool = False
    strict_only: bool = False


_EFFECTS = {name: each for each in records(FieldEffect, "field_effects") for name in each.fields}


def effect_of(field: AddonField) -> FieldEffect | None:
    """None: nothing is known of it."""
    names = (field.variable, f"{field.of.kind} {field.path[-1]}", *field.path)
    return next((_EFFECTS[name] for name in names if name in _EFFECTS), None)
