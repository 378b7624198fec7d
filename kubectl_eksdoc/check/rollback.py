"""Rollback of a proposed command, from the present state of the cluster: the command that undoes it, or that none does.

An on-call engineer who tries a likely remedy has to be able to undo it if it was the wrong one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence

from kubectl_eksdoc.model.budgets import Budget, IntOrPercent
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import kubectl, patch, shell

UNDO = "Undo: "
"""The prefix of the command that undoes."""
READ_ONLY = "It only looks: there is nothing to undo."
_READ_VERBS = ("get", "describe", "logs", "events", "top", "wait", "rollout status", "rollout history")
_UNKNOWN = "No rollback is known: save what it changes before."
_KIND_ALIASES = {"deploy": "deployment", "sts": "statefulset", "poddisruptionbudget": "pdb"}


def rollback_text(command: str, cluster: Cluster) -> str:
    """A sentence, with the command that undoes `command` if there is one. `command` "": none is proposed."""
    if not command:
        return "Nothing is proposed that could be undone."
    words = _words(command)
    if words[:2] == ["kubectl", "eksdoc"]:
        return _own_command_rollback(words)
    if words[:1] == ["kubectl"]:
        return _kubectl_rollback(command, words[1:], cluster)
    if words[:3] == ["aws", "cloudformation", "create-stack"]:
        return _delete_stack(words)
    return READ_ONLY if words[:1] == ["aws"] and len(words) > 2 and _is_read_verb(words[2]) else _UNKNOWN


def _words(command: str) -> list[str]:
    """The words of `command` without the --profile before the service of awscli: `CommandTarget` adds it again."""
    try:
        words = shlex.split(command)
    except ValueError:  # an unclosed quote
        words = command.split()
    return ["aws", *words[3:]] if words[:2] == ["aws", "--profile"] else words


def _is_read_verb(verb: str) -> bool:
    return verb.startswith(("describe-", "list-", "get-", "wait"))


def _own_command_rollback(words: Sequence[str]) -> str:
    """Commands of this tool change nothing without ``--apply``, and save the previous state before they do."""
    if "aws" in words and "create-stack" in words:
        return _delete_stack(words)
    if "--apply" not in words:
        return READ_ONLY
    subject = "A dry run changes nothing. Carried out, it" if "--dry-run" in words else "It"
    if "addon-diff" in words:
        return (
            f"{subject} shows the rollback before it asks for confirmation: the version and the values of "
            "before, in one more update."
        )
    return f"{subject} shows the rollback before it asks for confirmation, and again at its end."


def _delete_stack(words: Sequence[str]) -> str:
    name, region = _flag_value(words, "--stack-name"), _flag_value(words, "--region")
    region_flags = ("--region", region) if region else ()
    return (
        f"{UNDO}{shell('aws', 'cloudformation', 'delete-stack', '--stack-name', name, *region_flags)}"
        if name
        else _UNKNOWN
    )


def _kubectl_rollback(command: str, words: Sequence[str], cluster: Cluster) -> str:
    """A deletion is handled first: the same line may save a copy before it."""
    if "&&" in words and "delete" in words:
        saved_file = re.search(r"> (\S+)", command)
        return f"{UNDO}kubectl create -f {saved_file.group(1)}" if saved_file else _UNKNOWN
    verb = next((each for each in _READ_VERBS if " ".join(words[: len(each.split())]) == each), "")
    if verb:
        return READ_ONLY
    undo_command = next(
        (builder for prefix, builder in _UNDO_BY_VERB.items() if " ".join(words[: len(prefix.split())]) == prefix), None
    )
    return _UNKNOWN if undo_command is None else undo_command(words, cluster)


def _undo_scale(words: Sequence[str], cluster: Cluster) -> str:
    kind, name = _kind_and_name(words[1:])
    namespace = _flag_value(words, "-n")
    for each in cluster.workloads:
        if (each.kind.lower(), each.namespace, each.name) == (_KIND_ALIASES.get(kind, kind), namespace, name):
            return f"{UNDO}{kubectl('scale', kind, name, namespace, f'--replicas={each.replicas}')}"
    return "Scale it back to the replicas that it has now (kubectl get shows them)."


def _undo_patch(words: Sequence[str], cluster: Cluster) -> str:
    kind, name = _kind_and_name(words[1:])
    namespace = _flag_value(words, "-n")
    if _KIND_ALIASES.get(kind, kind) != "pdb":
        return _UNKNOWN
    budgets = (each for each in cluster.budgets if (each.namespace, each.name) == (namespace, name))
    budget = next(budgets, None)
    if budget is None:
        return _UNKNOWN
    return f"{UNDO}{patch('pdb', name, namespace, _budget_spec(budget))}"


def _budget_spec(budget: Budget) -> str:
    """A merge patch: null removes a field."""
    policy = f'"{budget.unhealthy_policy}"' if budget.unhealthy_policy.isalnum() else "null"
    min_available, max_unavailable = _amount(budget.min_available), _amount(budget.max_unavailable)
    fields = (
        f'"minAvailable": {min_available}, "maxUnavailable": {max_unavailable}, "unhealthyPodEvictionPolicy": {policy}'
    )
    return f'{{"spec": {{{fields}}}}}'


def _amount(amount: IntOrPercent | None) -> str:
    return "null" if amount is None else f'"{amount}"' if amount.percent else str(amount.value)


def _undo_label(words: Sequence[str], cluster: Cluster) -> str:
    """A new label or annotation is removed again; the value of a removed one is not in the command."""
    position = next((index for index, word in enumerate(words) if "=" in word and not word.startswith("-")), 0)
    if not position:
        removed = next((word[:-1] for word in words[1:] if word.endswith("-") and not word.startswith("-")), "")
        return f"Set {removed} again: note its value before." if removed else _UNKNOWN
    key = words[position].partition("=")[0]
    return f"{UNDO}{shell('kubectl', *words[:position], f'{key}-', *_namespace_flags(words[position + 1 :]))}"


def _namespace_flags(words: Sequence[str]) -> tuple[str, ...]:
    return ("-n", _flag_value(words, "-n")) if _flag_value(words, "-n") else ()


def _undo_restart(words: Sequence[str], cluster: Cluster) -> str:
    return "It changes nothing but the age of the pods, within their rollout's limits: there is nothing to undo."


def _undo_cordon(words: Sequence[str], cluster: Cluster) -> str:
    return f"{UNDO}{shell('kubectl', 'uncordon', *words[1:])}"


def _undo_uncordon(words: Sequence[str], cluster: Cluster) -> str:
    return f"{UNDO}{shell('kubectl', 'cordon', *words[1:])}"


def _undo_edit(words: Sequence[str], cluster: Cluster) -> str:
    kind, name = _kind_and_name(words[1:])
    namespace = _flag_value(words, "-n")
    return f"Save it before ({kubectl('get', kind, name, namespace, '-o', 'yaml')}), and restore the previous values."


def _undo_delete(words: Sequence[str], cluster: Cluster) -> str:
    kind, _ = _kind_and_name(words[1:])
    if kind in ("pod", "pods"):
        return "It is not undone: its controller makes another pod; one without a controller is gone."
    return "It is not undone: save the object before (-o yaml), and make it again of that."


_UNDO_BY_VERB: Mapping[str, Callable[[Sequence[str], Cluster], str]] = {
    "scale": _undo_scale,
    "patch": _undo_patch,
    "label": _undo_label,
    "annotate": _undo_label,
    "rollout restart": _undo_restart,
    "cordon": _undo_cordon,
    "uncordon": _undo_uncordon,
    "edit": _undo_edit,
    "delete": _undo_delete,
}


def _kind_and_name(words: Sequence[str]) -> tuple[str, str]:
    """Kind and name, from ``deployment web`` or ``deployment/web``."""
    first = words[0] if words else ""
    kind, slash, name = first.partition("/")
    return (kind, name) if slash else (first, words[1] if len(words) > 1 else "")


def _flag_value(words: Sequence[str], flag: str) -> str:
    """The value of a flag that is a separate word; "" without the flag."""
    for index, word in enumerate(words[:-1]):
        if word == flag:
            return words[index + 1]
    return ""
