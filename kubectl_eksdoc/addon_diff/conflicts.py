"""The message of a conflict, explained: who has each field that it names, and what ends the conflict.

Source: the message as EKS words it, amazon-vpc-cni-k8s #2607; ``aws eks describe-update`` prints it as JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kubectl_eksdoc.model.api_objects import named
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.findings import Finding, Subject, in_order

from .manifests import addons_of
from .plan import AddonPlan
from .prediction import Fate, Mode

_FIELD = re.compile(r"([A-Z]\w*(?:\.[\w.-]+)? [\w.:-]+) - ((?:\.[\w/~.-]+|\[[^\]\n]*\])+)")


def fields_in(message: str) -> tuple[str, ...]:
    """As `AddonField` prints them, in their order: ``DaemonSet.apps aws-node - .spec.…``."""
    plain = message.replace("\\n", "\n").replace('\\"', '"')
    return tuple(dict.fromkeys(f"{each[1]} - {each[2].rstrip('.')}" for each in _FIELD.finditer(plain)))


def addon_in(fields: Sequence[str]) -> str:
    """Whose objects they are of, "" where that is not one add-on."""
    found = {addon for field in fields for addon in addons_of(*_object(field))}
    return found.pop() if len(found) == 1 else ""


def _object(field: str) -> tuple[str, str]:
    """``DaemonSet.apps aws-node - .spec.…`` → kind and name."""
    kind, _, name = field.partition(" - ")[0].partition(" ")
    return kind.partition(".")[0], name


def explained(plan: AddonPlan, fields: Sequence[str]) -> AddonPlan:
    """Of its fields those that the message names. The values that are proposed stay those for all fields at risk: else
    the next update would be in conflict over another one."""
    others = {str(change.field) for change in plan.changes} - {*fields}
    kept = [each for each in plan.findings if not others & set(each.evidence)]
    predictions = tuple(
        replace(each, changes=tuple(change for change in each.changes if str(change.field) in fields))
        for each in plan.predictions
    )
    return replace(plan, predictions=predictions, findings=in_order((*kept, *_unexplained(plan, fields))))


def _unexplained(plan: AddonPlan, fields: Sequence[str]) -> Iterator[Finding]:
    """What is in conflict by the message, and not by what is read now."""
    told = {str(change.field): change for change in plan.changes}
    read = {(of.kind, of.name) for of in map(named, plan.facts.objects)}
    for field in fields:
        if field in told and told[field].fate(Mode.NONE) in (Fate.CONFLICT, Fate.UNKNOWN):
            continue
        of = _object(field)
        others = addons_of(*of)
        if of in read:
            yield Finding.of("addon-field-unknown/not-in-conflict", Subject(*of), (field,), field=field)
        elif others and plan.facts.addon.name not in others:
            command = shell("kubectl", "eksdoc", "addon-diff", others[0], "--explain-conflict", field)
            yield Finding.of(
                "addon-field-unknown/of-another-addon",
                Subject(*of),
                (field,),
                field=field,
                addon_name=plan.facts.addon.name,
                other=others[0],
                command=command,
            )
        else:
            kind = field.partition(" ")[0]
            command = shell(
                *("kubectl", "get", kind, "-A", "--field-selector", f"metadata.name={of[1]}"),
                *("-o", "jsonpath={.items[*].metadata.managedFields}"),
            )
            yield Finding.of(
                "addon-field-unknown/object-not-read", Subject(*of), (field,), field=field, command=command
            )
