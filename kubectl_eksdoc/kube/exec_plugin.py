"""Credential plugins (``aws eks get-token``): run one, and read the ExecCredential that it prints.

The official client runs plugins too, but only logs their failures, has no `interactiveMode`, and changes the working
folder; a user whose SSO session ended needs to read the error of the plugin. Source of the protocol:
https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import Any

from kubectl_eksdoc.bounds import PRINTED_BYTES, current, listen
from kubectl_eksdoc.errors import ConfigError, Unauthorized
from kubectl_eksdoc.held_secrets import hold, without_held
from kubectl_eksdoc.kubernetes.schedules import parsed

from .target import Credential, CredentialContext, ExecPlugin, ServerEntry

TIMEOUT = 120.0  # seconds that a plugin may take where no user can answer its prompts
_KILL_S = 0.3
"""Seconds before the read timeout at which the plugin is ended, so that it does not continue without end."""
_STDERR_KEPT = 2000  # characters


def run(plugin: ExecPlugin, server: ServerEntry, around: CredentialContext, timeout: float = TIMEOUT) -> Credential:
    """Run the plugin once, within `timeout_s` unless the user may have to answer a prompt, and within the response
    limits of the thread.

    Raises:
        ConfigError: it cannot be started, or its output is not a credential.
        Unauthorized: it ran and failed; the message has its stderr.
    """
    interactive = around.interactive and plugin.interactive_mode != "Never"
    if plugin.interactive_mode == "Always" and not around.interactive:
        raise ConfigError(
            f"the credential plugin {plugin.line!r} has interactiveMode Always, but stdin is no terminal",
            "Run this in a terminal, or log in before screens are opened, or give --token.",
        )
    environ = {**around.environ, **dict(plugin.env)}
    environ["KUBERNETES_EXEC_INFO"] = json.dumps(_exec_info(plugin, server, interactive))
    program = shutil.which(plugin.command, path=around.environ.get("PATH"))
    if program is None:
        why_not = "is not executable" if os.path.exists(plugin.command) else "does not exist"
        if not os.path.dirname(plugin.command):
            why_not = "is not on PATH"
        raise ConfigError(f"the credential plugin {plugin.command!r} {why_not}", _install_hint(plugin))
    try:
        process = subprocess.Popen(
            [program, *plugin.args],
            stdin=None if interactive else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ,
        )
    except OSError as error:
        raise ConfigError(
            f"the credential plugin {plugin.line!r} cannot be run: {error.strerror}", _install_hint(plugin)
        ) from error
    bounds = current()
    left_s = inf if bounds is None else max(bounds.left_s - _KILL_S, 0.0)
    limit_s = min(inf if interactive else timeout, left_s)
    output, complaint = _converse(process, plugin, around, interactive, limit_s if limit_s < inf else None)
    if process.returncode != 0:
        said = f": {complaint}" if complaint else ", without a word on stderr"
        raise Unauthorized(
            f"the credential plugin {plugin.line!r} failed (exit {process.returncode}){said}",
            _remedy(plugin, complaint, environ),
        )
    return _credential(plugin, output, complaint)


def _converse(
    process: subprocess.Popen[bytes],
    plugin: ExecPlugin,
    around: CredentialContext,
    interactive: bool,
    limit_s: float | None,
) -> tuple[bytes, str]:
    """stdout and the end of stderr. While the user may have to answer, stderr is also shown as it comes.

    Threads read both, so that a child process which the plugin leaves behind with our pipes cannot block us.
    """
    output, complaint = bytearray(), bytearray()
    shown = (lambda chunk: around.say(chunk.decode("utf-8", "replace"))) if interactive else None
    listeners = (
        threading.Thread(target=listen, args=(process, process.stdout, output), daemon=True),
        threading.Thread(target=listen, args=(process, process.stderr, complaint, shown), daemon=True),
    )
    for listener in listeners:
        listener.start()
    try:
        process.wait(limit_s)
        late = False
    except subprocess.TimeoutExpired:
        late = True
        process.kill()
        process.wait()
    except BaseException:
        process.kill()
        raise
    for listener in listeners:
        listener.join(timeout=0.1 if late else 5.0)
    said = _without_secrets(plugin, bytes(complaint).decode("utf-8", "replace").strip())[-_STDERR_KEPT:]
    if late:
        raise Unauthorized(
            f"the credential plugin {plugin.line!r} gave no answer within {limit_s:.3g} s"
            + (f"; it said: {said}" if said else ""),
            "It may wait for a login in a browser or for an MFA code: run it by hand once. "
            "What it takes is a part of --read-timeout.",
        )
    if max(len(output), len(complaint)) > PRINTED_BYTES:
        raise ConfigError(
            f"the credential plugin {plugin.line!r} printed more than {PRINTED_BYTES >> 20} MiB", _by_hand(plugin)
        )
    return bytes(output), said


def _without_secrets(plugin: ExecPlugin, said: str) -> str:
    if not said:
        return ""
    from kubectl_eksdoc.kubernetes.redaction import hidden  # imported late: most plugins write nothing to stderr

    return hidden(plugin.without_secrets(without_held(said)))


def _exec_info(plugin: ExecPlugin, server: ServerEntry, interactive: bool) -> dict[str, Any]:
    spec: dict[str, Any] = {"interactive": interactive}
    if plugin.provide_cluster_info:
        ca = server.ca_data
        if not ca and server.ca_file:
            try:
                with open(server.ca_file, encoding="ascii") as file:
                    ca = file.read()
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigError(f"certificate authority {server.ca_file} cannot be read: {error}") from error
        told = {
            "server": server.url,
            "tls-server-name": server.tls_server_name,
            "insecure-skip-tls-verify": server.skip_verify,
            "certificate-authority-data": base64.b64encode(ca.encode()).decode(),
            "proxy-url": server.proxy_url,
            "disable-compression": server.disable_compression,
            "config": server.exec_config,
        }
        spec["cluster"] = {key: value for key, value in told.items() if value}
    return {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}


def _credential(plugin: ExecPlugin, output: bytes, complaint: str) -> Credential:
    def garbage(what: str, hint: str = "") -> ConfigError:
        said = f" On stderr it said: {without_held(complaint)}" if complaint else ""
        return ConfigError(f"the credential plugin {plugin.line!r} {what}.{said}", hint or _by_hand(plugin))

    try:
        document = json.loads(output)
    except (ValueError, RecursionError) as error:
        # The output is not shown: a partly printed credential is still a secret.
        raise garbage(f"printed {len(output)} bytes that are not JSON") from error
    status = document.get("status") if isinstance(document, dict) else None
    if not isinstance(status, dict) or document.get("kind") != "ExecCredential":
        raise garbage("printed JSON that is not an ExecCredential with a status")
    told = (status.get(name) for name in ("token", "clientCertificateData", "clientKeyData"))
    token, certificate, key = (value if isinstance(value, str) else "" for value in told)
    hold(token, key)
    if document.get("apiVersion") != plugin.api_version:
        version = without_held(str(document.get("apiVersion")))
        raise garbage(
            f"answered in {version}, but the kubeconfig asks for {plugin.api_version}",
            ("Update the plugin (the AWS CLI) and update the entry: aws eks update-kubeconfig --name CLUSTER."),
        )
    if not token and not certificate:
        raise garbage("printed a credential with neither a token nor a certificate")
    if bool(certificate) != bool(key):
        raise garbage("printed a certificate without its key, or a key without its certificate")
    until = status.get("expirationTimestamp")
    expires_at = parsed(until)
    if until is not None and expires_at is None:
        raise garbage(f"printed an expirationTimestamp that is no time: {until!r}")
    return Credential(f"Bearer {token}" if token else "", certificate, key, expires_at)


def _install_hint(plugin: ExecPlugin) -> str:
    if plugin.install_hint:
        return plugin.install_hint
    if os.path.basename(plugin.command) == "aws":
        return "Install the AWS CLI: https://docs.aws.amazon.com/cli/latest/userguide/getting-started-install.html"
    return f"Install it, or add its folder to PATH. The kubeconfig runs: {plugin.line}"


def _by_hand(plugin: ExecPlugin) -> str:
    return f"Run it by hand to see what it prints: {plugin.line}"


def _remedy(plugin: ExecPlugin, complaint: str, environ: Mapping[str, str]) -> str:
    """A hint for the usual causes. The texts are those of the AWS CLI; other plugins get the general advice."""
    profile = environ.get("AWS_PROFILE", "")
    if "--profile" in plugin.args[:-1]:
        profile = plugin.args[plugin.args.index("--profile") + 1]
    suffix = f" --profile {profile}" if profile else ""
    said = complaint.lower()
    if "sso" in said or "token has expired and refresh failed" in said:
        return f"Sign in again: aws sso login{suffix}"
    if "config profile" in said and "could not be found" in said:
        return "Known profiles: aws configure list-profiles. The kubeconfig entry or AWS_PROFILE names another."
    if "unable to locate credentials" in said or "expired" in said or "invalidclienttoken" in said:
        return f"Renew the AWS credentials, then check them: aws sts get-caller-identity{suffix}"
    return _by_hand(plugin)


# Wrappers that only set environment variables for the program that returns the token: ``env`` and ``aws-vault exec``.


_ASSIGNED = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>.*)", re.DOTALL)
_VAULT_VALUES = frozenset(("-d", "--duration", "-t", "--mfa-token", "--region", "--backend", "--prompt"))
"""Flags of ``aws-vault`` that take a value."""

_DEEPEST = 8


def program_of(plugin: ExecPlugin) -> str:
    """The name of the program, without folders and ``.exe``, in lower case."""
    return re.split(r"[/\\]", plugin.command)[-1].lower().removesuffix(".exe")


def unwrapped(plugin: ExecPlugin) -> ExecPlugin:
    """The program that runs in the end, with all variables that are set for it; an unknown wrapper stays as it is."""
    for _ in range(_DEEPEST):
        unwrap = {"env": _of_env, "aws-vault": _of_vault}.get(program_of(plugin))
        inner = unwrap and unwrap(plugin)
        if inner is None:
            break
        plugin = inner
    return plugin


def _of_env(plugin: ExecPlugin) -> ExecPlugin | None:
    """Unwrap ``env AWS_PROFILE=ops aws eks get-token …``; an ``env`` with options is not unwrapped, as it may also
    unset variables."""
    set_too: list[tuple[str, str]] = []
    for at, arg in enumerate(plugin.args):
        assigned = _ASSIGNED.fullmatch(arg)
        if assigned is None:
            return None if arg.startswith("-") else _inner(plugin, plugin.args[at:], set_too)
        set_too.append((assigned["name"], assigned["value"]))
    return None


def _of_vault(plugin: ExecPlugin) -> ExecPlugin | None:
    """Unwrap ``aws-vault exec PROFILE -- aws eks get-token …``."""
    if plugin.args[:1] != ("exec",) or "--" not in plugin.args:
        return None
    end = plugin.args.index("--")
    before = zip(plugin.args[:end], plugin.args[1:end], strict=False)
    names = [arg for flag, arg in before if not arg.startswith("-") and flag not in _VAULT_VALUES]
    return _inner(plugin, plugin.args[end + 1 :], [("AWS_PROFILE", name) for name in names[:1]])


def _inner(plugin: ExecPlugin, line: tuple[str, ...], set_too: list[tuple[str, str]]) -> ExecPlugin | None:
    if not line:
        return None
    return replace(plugin, command=line[0], args=line[1:], env=(*plugin.env, *set_too))
