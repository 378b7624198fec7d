"""Programs that only set an environment for another one, which gives the token: ``env`` and ``aws-vault exec``."""

from __future__ import annotations

import re
from dataclasses import replace

from kubectl_eksdoc.kube.target import ExecPlugin

_ASSIGNED = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>.*)", re.DOTALL)
_VAULT_VALUES = frozenset(("-d", "--duration", "-t", "--mfa-token", "--region", "--backend", "--prompt"))
"""Flags of ``aws-vault`` that take a value."""

_DEEPEST = 8


def program_of(plugin: ExecPlugin) -> str:
    """Its name, without folders and ``.exe``, in lower case."""
    return re.split(r"[/\\]", plugin.command)[-1].lower().removesuffix(".exe")


def unwrapped(plugin: ExecPlugin) -> ExecPlugin:
    """The program that is run in the end, with all that was set for it; what sets something else is left as it is."""
    for _ in range(_DEEPEST):
        inner = {"env": _of_env, "aws-vault": _of_vault}.get(program_of(plugin), _nothing)(plugin)
        if inner is None:
            break
        plugin = inner
    return plugin


def _nothing(_plugin: ExecPlugin) -> ExecPlugin | None:
    return None


def _of_env(plugin: ExecPlugin) -> ExecPlugin | None:
    """Of ``env AWS_PROFILE=ops aws eks get-token …``; one with options of its own may take away as well."""
    set_too: list[tuple[str, str]] = []
    for at, arg in enumerate(plugin.args):
        assigned = _ASSIGNED.fullmatch(arg)
        if assigned is None:
            return None if arg.startswith("-") else _run(plugin, plugin.args[at:], set_too)
        set_too.append((assigned["name"], assigned["value"]))
    return None


def _of_vault(plugin: ExecPlugin) -> ExecPlugin | None:
    """Of ``aws-vault exec PROFILE -- aws eks get-token …``."""
    if plugin.args[:1] != ("exec",) or "--" not in plugin.args:
        return None
    end = plugin.args.index("--")
    own = plugin.args[1:end]
    names = [arg for at, arg in enumerate(own) if not arg.startswith("-") and own[at - 1 : at] not in _AS_VALUE]
    return _run(plugin, plugin.args[end + 1 :], [("AWS_PROFILE", name) for name in names[:1]])


_AS_VALUE = frozenset((flag,) for flag in _VAULT_VALUES)


def _run(plugin: ExecPlugin, line: tuple[str, ...], set_too: list[tuple[str, str]]) -> ExecPlugin | None:
    if not line:
        return None
    return replace(plugin, command=line[0], args=line[1:], env=(*plugin.env, *set_too))
