"""Policies of IAM that allow actions on what they need and nothing else.

Source of the limit: IAM and STS quotas, 6,144 characters of a managed policy, white space not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.rules import iam_resources
from kubectl_eksdoc.core.rules.iam_resources import Place

LONGEST = 6144
_VERSION = "2012-10-17"


def policies(actions: Iterable[str], place: Place, longest: int = LONGEST) -> tuple[Doc, ...]:
    """One where it is short enough; none where there are no actions. A statement is cut if it is too long alone."""
    found: list[list[Doc]] = []
    for statement in _statements(actions, place):
        for part in _short_enough(statement, longest):
            if found and size(_policy([*found[-1], part])) <= longest:
                found[-1].append(part)
            else:
                found.append([part])
    return tuple(map(_policy, found))


def size(value: object) -> int:
    """In characters as IAM counts them: of JSON without white space. Names in policies hold nothing to be escaped."""
    if isinstance(value, dict):
        return 1 + sum(size(key) + size(each) + 2 for key, each in value.items())
    if isinstance(value, list):
        return 1 + sum(size(each) + 1 for each in value)
    return len(str(value)) + 2


def _policy(statements: Sequence[Doc]) -> Doc:
    return {"Version": _VERSION, "Statement": list(statements)}


def _statements(actions: Iterable[str], place: Place) -> list[Doc]:
    """One for all actions on the same resources; that on anything comes last."""
    together: dict[tuple[str, ...], list[str]] = {}
    for action in sorted(set(actions)):
        together.setdefault(iam_resources.resources(action, place), []).append(action)
    return [
        _statement(_name(those[0]) if on != (iam_resources.ANY,) else "Anything", those, on)
        for on, those in sorted(together.items(), key=lambda it: (it[0] == (iam_resources.ANY,), it[0]))
    ]


def _statement(name: str, actions: Sequence[str], on: Sequence[str]) -> Doc:
    return {"Sid": name, "Effect": "Allow", "Action": list(actions), "Resource": on[0] if len(on) == 1 else list(on)}


def _name(action: str) -> str:
    """By the types of what it is on, letters and digits alone: ``EksClusterAddonNodegroup``."""
    found = iam_resources.types(action)
    service = found[0].partition(":")[0]
    return "".join(word.capitalize() for word in (service, *(each.partition(":")[2] for each in found))).replace(
        "-", ""
    )


def _short_enough(statement: Doc, longest: int) -> list[Doc]:
    actions = statement["Action"]
    if len(actions) == 1 or size(_policy([statement])) <= longest:
        return [statement]
    half = len(actions) // 2
    parts = [{**statement, "Sid": f"{statement['Sid']}1", "Action": actions[:half]}]
    parts.append({**statement, "Sid": f"{statement['Sid']}2", "Action": actions[half:]})
    return [each for part in parts for each in _short_enough(part, longest)]
