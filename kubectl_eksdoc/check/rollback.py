"""Rollback of a proposed command, from the present state of the cluster: the command that undoes it, or that none does.

An on-call engineer who tries a likely remedy has to be able to undo it if it was the wrong one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence

from kubectl_eksdoc.model.budgets import Amount, Budget
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import kubectl, patch, shell

UNDO = "Undo: "
"""The prefix of the command that undoes."""
LOOKS = "It only looks: there is nothing to undo."
_LOOKING = ("get", "describe", "logs", "events", "top", "wait", "rollout status", "rollout history")
_UNKNOWN = "No rollback is known: save what it changes before."
_SHORT = {"deploy": "deployment", "sts": "statefulset", "poddisruptionbudget": "pdb"}


def way_back(command: str, cluster: Cluster) -> str:
    """A sentence, with the command that undoes `command` if there is one. `command` "": none is proposed."""
    if not command:
        return "Nothing is proposed that could be undone."
    words = _words(command)
    if words[:2] == ["kubectl", "eksdoc"]:
        return _ours(words)
    if words[:1] == ["kubectl"]:
        return _kubectl(command, words[1:], cluster)
    if words[:3] == ["aws", "cloudformation", "create-stack"]:
        return _stack(words)
    return LOOKS if words[:1] == ["aws"] and len(words) > 2 and _reads(words[2]) else _UNKNOWN


def _words(command: str) -> list[str]:
    """The words of `command` without the --profile before the service of awscli: the user adds it again."""
    try:
        words = shlex.split(command)
    except ValueError:  # an unclosed quote
        words = command.split()
    return ["aws", *words[3:]] if words[:2] == ["aws", "--profile"] else words


def _reads(verb: str) -> bool:
    return verb.startswith(("describe-", "list-", "get-", "wait"))


def _ours(words: Sequence[str]) -> str:
    """Commands of this tool change nothing without ``--apply``, and save the previous state before they do."""
    if "aws" in words and "create-stack" in words:
        return _stack(words)
    if "--apply" not in words:
        return LOOKS
    first = "A dry run changes nothing. Carried out, it" if "--dry-run" in words else "It"
    if "addon-diff" in words:
        return (
            f"{first} shows the rollback before it asks for confirmation: the version and the values of "
            "before, in one more update."
        )
    return f"{first} shows the rollback before it asks for confirmation, and again at its end."


def _stack(words: Sequence[str]) -> str:
    name, region = _value(words, "--stack-name"), _value(words, "--region")
    where = ("--region", region) if region else ()
    return f"{UNDO}{shell('aws', 'cloudformation', 'delete-stack', '--stack-name', name, *where)}" if name else _UNKNOWN


def _kubectl(command: str, words: Sequence[str], cluster: Cluster) -> str:
    """A deletion is handled first: the same line may save a copy before it."""
    if "&&" in words and "delete" in words:
        saved = re.search(r"> (\S+)", command)
        return f"{UNDO}kubectl create -f {saved.group(1)}" if saved else _UNKNOWN
    verb = next((each for each in _LOOKING if " ".join(words[: len(each.split())]) == each), "")
    if verb:
        return LOOKS
    undo = next((make for begin, make in _BACK.items() if " ".join(words[: len(begin.split())]) == begin), None)
    return _UNKNOWN if undo is None else undo(words, cluster)


def _scale(words: Sequence[str], cluster: Cluster) -> str:
    kind, name = _named(words[1:])
    namespace = _value(words, "-n")
    for each in cluster.workloads:
        if (each.kind.lower(), each.namespace, each.name) == (_SHORT.get(kind, kind), namespace, name):
            return f"{UNDO}{kubectl('scale', kind, name, namespace, f'--replicas={each.replicas}')}"
    return "Scale it back to the replicas that it has now (kubectl get shows them)."


def _patch(words: Sequence[str], cluster: Cluster) -> str:
    kind, name = _named(words[1:])
    namespace = _value(words, "-n")
    if _SHORT.get(kind, kind) != "pdb":
        return _UNKNOWN
    budgets = (each for each in cluster.budgets if (each.namespace, each.name) == (namespace, name))
    budget = next(budgets, None)
    if budget is None:
        return _UNKNOWN
    return f"{UNDO}{patch('pdb', name, namespace, _spec(budget))}"


def _spec(budget: Budget) -> str:
    """A merge patch: null removes a field."""
    policy = f'"{budget.unhealthy_policy}"' if budget.unhealthy_policy.isalnum() else "null"
    least, most = _amount(budget.min_available), _amount(budget.max_unavailable)
    fields = f'"minAvailable": {least}, "maxUnavailable": {most}, "unhealthyPodEvictionPolicy": {policy}'
    return f'{{"spec": {{{fields}}}}}'


def _amount(of: Amount | None) -> str:
    return "null" if of is None else f'"{of}"' if of.percent else str(of.value)


def _label(words: Sequence[str], cluster: Cluster) -> str:
    """A new label or annotation is removed again; the value of a removed one is not in the command."""
    at = next((index for index, word in enumerate(words) if "=" in word and not word.startswith("-")), 0)
    if not at:
        removed = next((word[:-1] for word in words[1:] if word.endswith("-") and not word.startswith("-")), "")
        return f"Set {removed} again: note its value before." if removed else _UNKNOWN
    key = words[at].partition("=")[0]
    return f"{UNDO}{shell('kubectl', *words[:at], f'{key}-', *_place(words[at + 1 :]))}"


def _place(words: Sequence[str]) -> tuple[str, ...]:
    return ("-n", _value(words, "-n")) if _value(words, "-n") else ()


def _restart(words: Sequence[str], cluster: Cluster) -> str:
    return "It changes nothing but the age of the pods, within their rollout's limits: there is nothing to undo."


def _cordon(words: Sequence[str], cluster: Cluster) -> str:
    return f"{UNDO}{shell('kubectl', 'uncordon', *words[1:])}"


def _uncordon(words: Sequence[str], cluster: Cluster) -> str:
    return f"{UNDO}{shell('kubectl', 'cordon', *words[1:])}"


def _edit(words: Sequence[str], cluster: Cluster) -> str:
    kind, name = _named(words[1:])
    namespace = _value(words, "-n")
    return f"Save it before ({kubectl('get', kind, name, namespace, '-o', 'yaml')}), and restore the previous values."


def _delete(words: Sequence[str], cluster: Cluster) -> str:
    kind, _ = _named(words[1:])
    if kind in ("pod", "pods"):
        return "It is not undone: its controller makes another pod; one without a controller is gone."
    return "It is not undone: save the object before (-o yaml), and make it again of that."


_BACK: Mapping[str, Callable[[Sequence[str], Cluster], str]] = {
    "scale": _scale,
    "patch": _patch,
    "label": _label,
    "annotate": _label,
    "rollout restart": _restart,
    "cordon": _cordon,
    "uncordon": _uncordon,
    "edit": _edit,
    "delete": _delete,
}


def _named(words: Sequence[str]) -> tuple[str, str]:
    """Kind and name, from ``deployment web`` or ``deployment/web``."""
    first = words[0] if words else ""
    kind, slash, name = first.partition("/")
    return (kind, name) if slash else (first, words[1] if len(words) > 1 else "")


def _value(words: Sequence[str], flag: str) -> str:
    """The value of a flag that is a separate word; "" without the flag."""
    for index, word in enumerate(words[:-1]):
        if word == flag:
            return words[index + 1]
    return ""
