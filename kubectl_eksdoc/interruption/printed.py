"""Documents of ``interruption --print``: a CloudFormation stack, commands, an IAM policy, Helm values."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.interruption import KarpenterInstall
from kubectl_eksdoc.report.encode import plain_value, to_json, to_yaml
from kubectl_eksdoc.report.text import clean

from .installs import helm_upgrade_command
from .repair import (
    AsJson,
    MissingLinks,
    create_stack_command,
    helm_values,
    repair_steps,
    rights_policy,
    stack_template,
)

_FILE = "interruption-values.yaml"
_ACCOUNT_COMMAND = "aws sts get-caller-identity --query Account --output text"


def print_document(document: str, stack: str, missing: MissingLinks, install: KarpenterInstall) -> str:
    """The document, or "" where it would contain nothing. `stack`: the stack's name."""
    return _PRINTERS[document](stack, missing, install)


def _stack(stack: str, missing: MissingLinks, install: KarpenterInstall) -> str:
    if not missing.in_stack:
        return ""
    return _comments(_about_stack(stack, missing, install)) + to_yaml(plain_value(stack_template(missing)))


def _about_stack(stack: str, missing: MissingLinks, install: KarpenterInstall) -> Iterator[str]:
    yield "Only what is missing, for a stack of its own: to update another one with it, Karpenter's or one of before,"
    yield "deletes the rest of that. Where there is a stack of this name, give this one another name."
    yield create_stack_command(stack, missing.region)
    if missing.policy is not None and not missing.queue:
        yield (
            "QueuePolicy replaces the policy of the queue: this one is the current policy with one more statement. If"
        )
        yield "another stack or Terraform keeps that policy, change it there; to delete this stack deletes the policy."
    if missing.key_policy is not None:
        yield "The policy of the queue's key is not in it, as the key is there already: --print commands has it."
    if missing.setting:
        yield f"Karpenter must be configured with the queue as well: --print helm-values > {_FILE}"
        yield helm_upgrade_command(install, _FILE)
    for each in missing.not_known:
        yield f"Not known, and so not in it: {each}"


def _commands(stack: str, missing: MissingLinks, install: KarpenterInstall) -> str:
    if not missing.anything:
        return ""
    lines = ["#!/bin/sh", *(f"# {clean(line)}" for line in _about_commands(missing)), "set -eu"]
    if missing.region:
        lines.append(
            f"export AWS_REGION={shlex.quote(missing.region)} AWS_DEFAULT_REGION={shlex.quote(missing.region)}"
        )
    if missing.account:
        account = shlex.quote(missing.account)
        lines.append(
            f'[ "$({_ACCOUNT_COMMAND})" = {account} ] || {{ echo "not the credentials of account {account}" '
            ">&2; exit 1; }"
        )
    for step in repair_steps(missing):
        lines += ["", f"# {clean(step.about)}", shell(*map(_word_text, step.words))]
    if missing.setting:
        lines += ["", "# The setting, merged into the values that the release has."]
        values = to_yaml(plain_value(helm_values(missing.queue_name, install)))
        lines += [f"cat > {_FILE} <<'EOF'", values.rstrip("\n"), "EOF", helm_upgrade_command(install, _FILE)]
    return "\n".join(lines) + "\n"


def _about_commands(missing: MissingLinks) -> Iterator[str]:
    account = f" in account {missing.account}" if missing.account else ""
    yield f"What interruption handling lacks{account}. Existing resources are kept."
    if missing.rights and not missing.role:
        yield f"Which role Karpenter has is not known; it needs {', '.join(missing.rights)}: --print iam"
    for each in missing.not_known:
        yield f"Not known, and so not in it: {each}"


def _word_text(word: str | AsJson) -> str:
    return word if isinstance(word, str) else json.dumps(_embed_json(word.document), separators=(",", ":"))


def _embed_json(value: Any) -> Any:
    """An `AsJson` within a document becomes a string."""
    if isinstance(value, AsJson):
        return json.dumps(_embed_json(value.document), separators=(",", ":"))
    if isinstance(value, Mapping):
        return {key: _embed_json(each) for key, each in value.items()}
    return [_embed_json(each) for each in value] if isinstance(value, (list, tuple)) else value


def _iam(_stack: str, missing: MissingLinks, install: KarpenterInstall) -> str:
    return to_json(plain_value(rights_policy(missing.queue_arn, missing.key)))


def _values(_stack: str, missing: MissingLinks, install: KarpenterInstall) -> str:
    return _comments(_about_values(install)) + to_yaml(plain_value(helm_values(missing.queue_name, install)))


def _about_values(install: KarpenterInstall) -> Iterator[str]:
    version = install.tag or install.version or "(version not known)"
    yield f"To be merged into the values of the chart of Karpenter {version}."
    yield helm_upgrade_command(install, _FILE)


def _comments(lines: Iterator[str]) -> str:
    return "".join(f"# {clean(line)}\n" for line in lines)


_PRINTERS: Mapping[str, Callable[[str, MissingLinks, KarpenterInstall], str]] = {
    "stack": _stack,
    "commands": _commands,
    "iam": _iam,
    "helm-values": _values,
}
