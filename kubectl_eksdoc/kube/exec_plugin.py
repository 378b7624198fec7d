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

from kubectl_eksdoc.bounds import MAX_OUTPUT_BYTES, capture_stream, current_limits
from kubectl_eksdoc.errors import ConfigError, Unauthorized
from kubectl_eksdoc.held_secrets import redact_held, register_secrets
from kubectl_eksdoc.kubernetes.schedules import parse_time

from .target import Credential, CredentialContext, ExecPlugin, ServerEntry

TIMEOUT_S = 120.0  # seconds that a plugin may take where no user can answer its prompts
_KILL_S = 0.3
"""Seconds before the read timeout at which the plugin is ended, so that it does not continue without end."""
_MAX_STDERR = 2000  # characters


def run_plugin(
    plugin: ExecPlugin, server: ServerEntry, credential_context: CredentialContext, timeout_s: float = TIMEOUT_S
) -> Credential:
    """Run the plugin once, within `timeout_s` unless the user may have to answer a prompt, and within the response
    limits of the thread.

    Raises:
        ConfigError: it cannot be started, or its output is not a credential.
        Unauthorized: it ran and failed; the message has its stderr.
    """
    interactive = credential_context.interactive and plugin.interactive_mode != "Never"
    if plugin.interactive_mode == "Always" and not credential_context.interactive:
        raise ConfigError(
            f"the credential plugin {plugin.safe_command_line!r} has interactiveMode Always, but stdin is no terminal",
            "Run this in a terminal, or log in before screens are opened, or give --token.",
        )
    environ = {**credential_context.environ, **dict(plugin.env)}
    environ["KUBERNETES_EXEC_INFO"] = json.dumps(_exec_info(plugin, server, interactive))
    executable = shutil.which(plugin.command, path=credential_context.environ.get("PATH"))
    if executable is None:
        reason = "is not executable" if os.path.exists(plugin.command) else "does not exist"
        if not os.path.dirname(plugin.command):
            reason = "is not on PATH"
        raise ConfigError(f"the credential plugin {plugin.command!r} {reason}", _install_hint(plugin))
    try:
        process = subprocess.Popen(
            [executable, *plugin.args],
            stdin=None if interactive else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ,
        )
    except OSError as error:
        raise ConfigError(
            f"the credential plugin {plugin.safe_command_line!r} cannot be run: {error.strerror}", _install_hint(plugin)
        ) from error
    bounds = current_limits()
    left_s = inf if bounds is None else max(bounds.left_s - _KILL_S, 0.0)
    limit_s = min(inf if interactive else timeout_s, left_s)
    output, stderr_text = _communicate(
        process, plugin, credential_context, interactive, limit_s if limit_s < inf else None
    )
    if process.returncode != 0:
        stderr_clause = f": {stderr_text}" if stderr_text else ", without a word on stderr"
        raise Unauthorized(
            f"the credential plugin {plugin.safe_command_line!r} failed (exit {process.returncode}){stderr_clause}",
            _failure_hint(plugin, stderr_text, environ),
        )
    return _parse_credential(plugin, output, stderr_text)


def _communicate(
    process: subprocess.Popen[bytes],
    plugin: ExecPlugin,
    credential_context: CredentialContext,
    interactive: bool,
    limit_s: float | None,
) -> tuple[bytes, str]:
    """stdout and the end of stderr. While the user may have to answer, stderr is also shown as it comes.

    Threads read both, so that a child process which the plugin leaves behind with our pipes cannot block us.
    """
    output, stderr_bytes = bytearray(), bytearray()
    show = (lambda chunk: credential_context.show_prompt(chunk.decode("utf-8", "replace"))) if interactive else None
    listeners = (
        threading.Thread(target=capture_stream, args=(process, process.stdout, output), daemon=True),
        threading.Thread(target=capture_stream, args=(process, process.stderr, stderr_bytes, show), daemon=True),
    )
    for listener in listeners:
        listener.start()
    try:
        process.wait(limit_s)
        timed_out = False
    except subprocess.TimeoutExpired:
        timed_out = True
        process.kill()
        process.wait()
    except BaseException:
        process.kill()
        raise
    for listener in listeners:
        listener.join(timeout=0.1 if timed_out else 5.0)
    stderr_text = _redact(plugin, bytes(stderr_bytes).decode("utf-8", "replace").strip())[-_MAX_STDERR:]
    if timed_out:
        raise Unauthorized(
            f"the credential plugin {plugin.safe_command_line!r} gave no answer within {limit_s:.3g} s"
            + (f"; it said: {stderr_text}" if stderr_text else ""),
            "It may wait for a login in a browser or for an MFA code: run it by hand once. "
            "What it takes is a part of --read-timeout.",
        )
    if max(len(output), len(stderr_bytes)) > MAX_OUTPUT_BYTES:
        raise ConfigError(
            f"the credential plugin {plugin.safe_command_line!r} printed more than {MAX_OUTPUT_BYTES >> 20} MiB",
            _manual_run_hint(plugin),
        )
    return bytes(output), stderr_text


def _redact(plugin: ExecPlugin, text: str) -> str:
    if not text:
        return ""
    from kubectl_eksdoc.kubernetes.redaction import (
        redact_message,  # imported late: most plugins write nothing to stderr
    )

    return redact_message(plugin.redact(redact_held(text)))


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
        cluster_info = {
            "server": server.url,
            "tls-server-name": server.tls_server_name,
            "insecure-skip-tls-verify": server.skip_verify,
            "certificate-authority-data": base64.b64encode(ca.encode()).decode(),
            "proxy-url": server.proxy_url,
            "disable-compression": server.disable_compression,
            "config": server.exec_config,
        }
        spec["cluster"] = {key: value for key, value in cluster_info.items() if value}
    return {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}


def _parse_credential(plugin: ExecPlugin, output: bytes, stderr_text: str) -> Credential:
    def output_error(problem: str, hint: str = "") -> ConfigError:
        stderr_clause = f" On stderr it said: {redact_held(stderr_text)}" if stderr_text else ""
        return ConfigError(
            f"the credential plugin {plugin.safe_command_line!r} {problem}.{stderr_clause}",
            hint or _manual_run_hint(plugin),
        )

    try:
        document = json.loads(output)
    except (ValueError, RecursionError) as error:
        # The output is not shown: a partly printed credential is still a secret.
        raise output_error(f"printed {len(output)} bytes that are not JSON") from error
    status = document.get("status") if isinstance(document, dict) else None
    if not isinstance(status, dict) or document.get("kind") != "ExecCredential":
        raise output_error("printed JSON that is not an ExecCredential with a status")
    values = (status.get(name) for name in ("token", "clientCertificateData", "clientKeyData"))
    token, certificate, key = (value if isinstance(value, str) else "" for value in values)
    register_secrets(token, key)
    if document.get("apiVersion") != plugin.api_version:
        version = redact_held(str(document.get("apiVersion")))
        raise output_error(
            f"answered in {version}, but the kubeconfig asks for {plugin.api_version}",
            ("Update the plugin (the AWS CLI) and update the entry: aws eks update-kubeconfig --name CLUSTER."),
        )
    if not token and not certificate:
        raise output_error("printed a credential with neither a token nor a certificate")
    if bool(certificate) != bool(key):
        raise output_error("printed a certificate without its key, or a key without its certificate")
    expiration = status.get("expirationTimestamp")
    expires_at = parse_time(expiration)
    if expiration is not None and expires_at is None:
        raise output_error(f"printed an expirationTimestamp that is no time: {expiration!r}")
    return Credential(f"Bearer {token}" if token else "", certificate, key, expires_at)


def _install_hint(plugin: ExecPlugin) -> str:
    if plugin.install_hint:
        return plugin.install_hint
    if os.path.basename(plugin.command) == "aws":
        return "Install the AWS CLI: https://docs.aws.amazon.com/cli/latest/userguide/getting-started-install.html"
    return f"Install it, or add its folder to PATH. The kubeconfig runs: {plugin.safe_command_line}"


def _manual_run_hint(plugin: ExecPlugin) -> str:
    return f"Run it by hand to see what it prints: {plugin.safe_command_line}"


def _failure_hint(plugin: ExecPlugin, stderr_text: str, environ: Mapping[str, str]) -> str:
    """A hint for the usual causes. The texts are those of the AWS CLI; other plugins get the general advice."""
    profile = environ.get("AWS_PROFILE", "")
    if "--profile" in plugin.args[:-1]:
        profile = plugin.args[plugin.args.index("--profile") + 1]
    suffix = f" --profile {profile}" if profile else ""
    text = stderr_text.lower()
    if "sso" in text or "token has expired and refresh failed" in text:
        return f"Sign in again: aws sso login{suffix}"
    if "config profile" in text and "could not be found" in text:
        return "Known profiles: aws configure list-profiles. The kubeconfig entry or AWS_PROFILE names another."
    if "unable to locate credentials" in text or "expired" in text or "invalidclienttoken" in text:
        return f"Renew the AWS credentials, then check them: aws sts get-caller-identity{suffix}"
    return _manual_run_hint(plugin)


# Wrappers that only set environment variables for the program that returns the token: ``env`` and ``aws-vault exec``.


_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>.*)", re.DOTALL)
_VAULT_VALUES = frozenset(("-d", "--duration", "-t", "--mfa-token", "--region", "--backend", "--prompt"))
"""Flags of ``aws-vault`` that take a value."""

_MAX_WRAPPERS = 8


def program_name(plugin: ExecPlugin) -> str:
    """The name of the program, without folders and ``.exe``, in lower case."""
    return re.split(r"[/\\]", plugin.command)[-1].lower().removesuffix(".exe")


def unwrap_plugin(plugin: ExecPlugin) -> ExecPlugin:
    """The program that runs in the end, with all variables that are set for it; an unknown wrapper stays as it is."""
    for _ in range(_MAX_WRAPPERS):
        unwrap = {"env": _unwrap_env, "aws-vault": _unwrap_aws_vault}.get(program_name(plugin))
        inner = unwrap and unwrap(plugin)
        if inner is None:
            break
        plugin = inner
    return plugin


def _unwrap_env(plugin: ExecPlugin) -> ExecPlugin | None:
    """Unwrap ``env AWS_PROFILE=ops aws eks get-token …``; an ``env`` with options is not unwrapped, as it may also
    unset variables."""
    variables: list[tuple[str, str]] = []
    for at, arg in enumerate(plugin.args):
        assignment = _ASSIGNMENT.fullmatch(arg)
        if assignment is None:
            return None if arg.startswith("-") else _inner_plugin(plugin, plugin.args[at:], variables)
        variables.append((assignment["name"], assignment["value"]))
    return None


def _unwrap_aws_vault(plugin: ExecPlugin) -> ExecPlugin | None:
    """Unwrap ``aws-vault exec PROFILE -- aws eks get-token …``."""
    if plugin.args[:1] != ("exec",) or "--" not in plugin.args:
        return None
    end = plugin.args.index("--")
    pairs = zip(plugin.args[:end], plugin.args[1:end], strict=False)
    names = [arg for flag, arg in pairs if not arg.startswith("-") and flag not in _VAULT_VALUES]
    return _inner_plugin(plugin, plugin.args[end + 1 :], [("AWS_PROFILE", name) for name in names[:1]])


def _inner_plugin(
    plugin: ExecPlugin, command_line: tuple[str, ...], variables: list[tuple[str, str]]
) -> ExecPlugin | None:
    if not command_line:
        return None
    return replace(plugin, command=command_line[0], args=command_line[1:], env=(*plugin.env, *variables))
