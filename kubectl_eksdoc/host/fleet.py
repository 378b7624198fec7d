"""Fleet members: one process for each cluster, its environment, and its output as facts.

Also reads the file that lists the clusters of a fleet: YAML, JSON or plain lines. The output of a member process may be
truncated, although the process is this program.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue
from time import monotonic

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import API_VERSION, Doc, nested_field, nested_string
from kubectl_eksdoc.model.cluster import (
    FleetMember,
    Identity,
    JudgedMember,
    MemberFinding,
    MemberOutcome,
    UnjudgedMember,
)
from kubectl_eksdoc.model.findings import Severity, Status
from kubectl_eksdoc.model.quantities import format_duration

from . import processes as endings
from .documents import parse_yaml_or_json, read_text, reject_constant

ANSWER_CODES = (0, 1, 5)
"""Exit codes with a result."""
ERROR_CODES = (2, 3, 4, 70)
"""Exit codes with an error message: usage, the cluster, AWS, a bug."""

_BUG_CODE = 70
_KILLED = -9
_SHORT_OF_MEMORY = "The machine may be short of memory: ask fewer at a time (--parallel)."
_IDENTITY_KEYS = {
    **{name: name for name in ("context", "cluster", "account", "region", "uid")},
    "server_version": "serverVersion",
}
"""Fields of `Identity`, and their keys in the document."""
_ERROR_PREFIX = "error: "
_MAX_LINE = 1000
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z\Z")


def parse_outcome(exit_status: int, stdout: bytes, stderr_tail: str, kind: str) -> MemberOutcome:
    """The outcome of a member process. `exit_status`: as in `subprocess`; `stderr_tail`: the end of its stderr; `kind`:
    of the document that it prints."""
    reason, hint = _last_error(stderr_tail)
    if exit_status in ERROR_CODES:
        return UnjudgedMember(
            exit_status, reason or f"its process ended with exit code {exit_status} and said nothing", hint
        )
    if exit_status not in ANSWER_CODES:
        ending = f"was killed by signal {-exit_status}" if exit_status < 0 else f"ended with exit code {exit_status}"
        hint = _SHORT_OF_MEMORY if exit_status == _KILLED else hint
        return UnjudgedMember(_BUG_CODE, f"its process {ending}{f': {reason}' if reason else ''}", hint)
    try:
        parsed = json.loads(stdout, parse_constant=reject_constant)
    except (ValueError, RecursionError):
        parsed = {}
    document: Doc = parsed if isinstance(parsed, dict) else {}
    has_findings = isinstance(document.get("findings"), list)  # without findings the state is unknown, not healthy
    if document.get("kind") != kind or document.get("apiVersion") != API_VERSION or not has_findings:
        return UnjudgedMember(
            _BUG_CODE, f"its process ended with exit code {exit_status} and printed no {kind}", reason
        )
    unverified, observed_at = (
        nested_field(document, "metadata", "cluster", "unverified"),
        nested_string(document, "metadata", "observedAt"),
    )
    return JudgedMember(
        exit_status,
        Identity(
            **{field: nested_string(document, "metadata", "cluster", name) for field, name in _IDENTITY_KEYS.items()},
            unverified=tuple(map(str, unverified)) if isinstance(unverified, list) else (),
        ),
        nested_string(document, "metadata", "source"),
        observed_at if _TIMESTAMP.match(observed_at) else "",
        nested_string(document, "verdict"),
        tuple(_member_finding(each) for each in document["findings"] if isinstance(each, dict)),
        document,
    )


def _last_error(text: str) -> tuple[str, str]:
    """The last error and its hint; without an error the last line."""
    lines = [line.strip()[:_MAX_LINE] for line in text.split("\n")]
    error_lines = [number for number, line in enumerate(lines) if line.startswith(_ERROR_PREFIX)]
    if error_lines:
        hint = " ".join(line for line in lines[error_lines[-1] + 1 :] if line)
        return lines[error_lines[-1]].removeprefix(_ERROR_PREFIX), hint[:_MAX_LINE]
    return next((line for line in reversed(lines) if line), ""), ""


def _member_finding(finding: Doc) -> MemberFinding:
    names = [nested_string(finding, "subject", key) for key in ("namespace", "name")]
    subject = f"{nested_string(finding, 'subject', 'kind')} {'/'.join(filter(None, names))}".strip()
    severity, status = nested_string(finding, "severity"), nested_string(finding, "status")
    return MemberFinding(
        Severity(severity) if severity in _SEVERITIES else Severity.INFO,
        Status(status) if status in _STATUSES else Status.UNKNOWN,
        subject,
        nested_string(finding, "message"),
        nested_string(finding, "gate"),
    )


_SEVERITIES = {each.value for each in Severity}
_STATUSES = {each.value for each in Status}


# The environment of a member process: it must not contain the credentials of another account.
#
# Sources: botocore, credentials.py (`create_credential_resolver`: keys in the environment take precedence over the
# profile of AWS_PROFILE; only an explicitly configured profile takes precedence over them); the AWS SDKs' reference,
# "Environment variables support".


CREDENTIALS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_SECURITY_TOKEN",
    "AWS_CREDENTIAL_EXPIRATION",
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
)
"""For a member with its own profile, these variables may hold credentials of another account."""

CREDENTIAL_SOURCES: Mapping[str, tuple[str, ...]] = {
    "Environment": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
    "EcsContainer": tuple(name for name in CREDENTIALS if name.startswith("AWS_CONTAINER_")),
}
"""Credentials that a profile names itself (``credential_source``) to assume its role."""

_PROFILE_VARIABLE = "AWS_PROFILE"
_REGION_VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION")


def member_environment(member: FleetMember, environ: Mapping[str, str], source: str = "") -> dict[str, str]:
    """The environment of this process, but with only the profile and the region of the member where it has them.
    Credential plugins inherit it; they do not see the flags of this process. `source`: a key of `CREDENTIAL_SOURCES`,
    or ""."""
    environment = dict(environ)
    if member.profile:
        for name in CREDENTIALS:
            if name not in CREDENTIAL_SOURCES.get(source, ()):
                environment.pop(name, None)
        environment[_PROFILE_VARIABLE] = member.profile
    if member.region:
        environment.update(dict.fromkeys(_REGION_VARIABLES, member.region))
    return environment


# One process for each cluster of a fleet.
#
# It isolates credentials, environment and SDK sessions of different accounts; a crash affects no other member; and a
# timeout ends a process that hangs. The process has its own session, without a terminal on which a credential plugin
# could prompt, and is terminated with all of its child processes.


_CLUSTER_CODE, _PROCESS_BUG_CODE = 3, 70
_POLL_S = 0.05
_PIPE_TIMEOUT_S = 5.0
"""Maximum time to read the pipes of an ended process; its child processes may keep them open."""


def own_program() -> tuple[str, ...]:
    """The command line of this program, with the same Python and module paths. ``python -m`` would also search the
    current directory."""
    module_paths = [os.path.abspath(place) for place in sys.path]
    program = f"import sys; sys.path[:] = {module_paths!r}; from kubectl_eksdoc.launch import main; main()"
    return (sys.executable, "-c", program)


@frozen
class MemberProcessSettings:
    """Settings of all member processes: `program`, then the `arguments` for a member; the `environment` of each.
    `kind`: of the document that is expected."""

    arguments: Callable[[FleetMember], Sequence[str]]
    kind: str
    environment: Callable[[FleetMember], Mapping[str, str]]
    timeout_s: float
    program: Sequence[str]


class MemberProcesses:
    """The port `fleet.members.MemberRunner`. For one thread."""

    def __init__(self, settings: MemberProcessSettings) -> None:
        self._settings = settings
        self._closing = threading.Event()
        self._outcomes: SimpleQueue[tuple[FleetMember, MemberOutcome]] = SimpleQueue()
        self._running: dict[str, tuple[threading.Thread, _MemberRun]] = {}

    def start(self, member: FleetMember) -> None:
        process = _MemberRun(member, self._settings)
        thread = threading.Thread(
            target=self._run_member, args=(member, process), name=f"eksdoc: {member.name}", daemon=True
        )
        self._running[member.name] = (thread, process)
        thread.start()

    def finished(self, wait_s: float) -> Sequence[tuple[FleetMember, MemberOutcome]]:
        outcomes: list[tuple[FleetMember, MemberOutcome]] = []
        try:
            outcomes.append(self._outcomes.get(timeout=wait_s))
            while True:
                outcomes.append(self._outcomes.get_nowait())
        except Empty:
            for member, _ in outcomes:
                self._running.pop(member.name, None)
            return outcomes

    def close(self) -> None:
        """Terminate the running processes.

        Raises:
            KeyboardInterrupt: the user presses Ctrl-C again; they are killed at once.
        """
        self._closing.set()
        try:
            for thread, _ in self._running.values():
                thread.join()
        except KeyboardInterrupt:
            for _, process in self._running.values():
                process.kill()
            raise

    def _run_member(self, member: FleetMember, process: _MemberRun) -> None:
        try:
            member_outcome = process.run(self._closing)
        except OSError as error:
            member_outcome = UnjudgedMember(
                _PROCESS_BUG_CODE, f"its process cannot be begun: {error.strerror or error}"
            )
        except Exception as error:  # any error concerns this member only
            member_outcome = UnjudgedMember(
                _PROCESS_BUG_CODE, f"its answer cannot be read: {type(error).__name__}: {error}"
            )
        self._outcomes.put((member, member_outcome))


class _MemberRun:
    """The process of one member, in its own thread. Mutable."""

    def __init__(self, member: FleetMember, settings: MemberProcessSettings) -> None:
        self._member = member
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, closing: threading.Event) -> MemberOutcome:
        """
        Raises:
            OSError: the process cannot be started.
        """
        if closing.is_set():
            return UnjudgedMember(_CLUSTER_CODE, "it was not asked any more")
        self._process = process = subprocess.Popen(
            [*self._settings.program, *self._settings.arguments(self._member)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._settings.environment(self._member),
            start_new_session=True,
        )
        try:
            return self._communicate(process, closing)
        finally:
            if process.poll() is None:
                endings.terminate(process)
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()

    def _communicate(self, process: subprocess.Popen[bytes], closing: threading.Event) -> MemberOutcome:
        """Read all output until the process ends; its child processes may keep the pipes open."""
        started_s = monotonic()
        ended_s: float | None = None
        while True:
            try:
                stdout, stderr = process.communicate(timeout=_POLL_S)
                break
            except subprocess.TimeoutExpired as late:
                stdout, stderr = late.output or b"", late.stderr or b""
            ended_s = monotonic() if ended_s is None and process.poll() is not None else ended_s
            if ended_s is not None and monotonic() - ended_s > _PIPE_TIMEOUT_S:
                break
            if closing.is_set():
                return UnjudgedMember(_CLUSTER_CODE, "it was left alone before it had answered")
            if monotonic() - started_s > self._settings.timeout_s:
                last_line = stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
                reason = (
                    "no answer within "
                    f"{format_duration(self._settings.timeout_s)}{f': {last_line}' if last_line else ''}"
                )
                return UnjudgedMember(_CLUSTER_CODE, reason, "Give it longer: --fleet-timeout.")
        return parse_outcome(process.returncode, stdout, stderr.decode("utf-8", "replace"), self._settings.kind)

    def kill(self) -> None:
        """Kill the process with its child processes."""
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # it has ended meanwhile
                os.killpg(self._process.pid, signal.SIGKILL)


MAX_FLEET_BYTES = 1 << 20
FLEET_FLAG = "--fleet"
_LIST_KEYS = ("members", "fleet", "clusters", "contexts")
_PATH_KEYS = ("kubeconfig", "snapshot")
_STRUCTURED = re.compile(r"---|-(\s|$)|[\[{]|\S+:(\s|$)")
"""Matches the first line of a YAML or JSON document; in a plain file that line is the name of a context."""
_COMMENT = re.compile(r"(^|\s)#.*")


def fleet_file_path(text: str) -> str:
    """The path that `text` names: text that begins with ``@``, ``./``, ``../``, ``/`` or ``~/``, or the name of an
    existing file; else ""."""
    if text.startswith("@"):
        return text[1:]
    if text.startswith(("./", "../", "/", "~/")):
        return text
    return text if os.path.isfile(text) else ""


def read_fleet(path: str, hint: str) -> list[object]:
    """The entries as written; relative paths in them are resolved against the folder of the file. `hint` says what to
    give.

    Raises:
        UsageError: it cannot be read, or holds no list.
    """
    path = os.path.expanduser(path)
    text = read_text(path, FLEET_FLAG, MAX_FLEET_BYTES, hint)
    plain_lines = [line for line in (_COMMENT.sub("", line).strip() for line in text.splitlines()) if line]
    if not plain_lines or not _STRUCTURED.match(plain_lines[0]):
        return list(plain_lines)
    try:
        entries = parse_yaml_or_json(text)
    except ValueError as error:
        raise UsageError(f"{FLEET_FLAG} {path} is neither YAML nor JSON: {error}", hint) from error
    if isinstance(entries, dict):
        entries = next((entries[key] for key in _LIST_KEYS if key in entries), entries)
    if not isinstance(entries, list):
        raise UsageError(f"{FLEET_FLAG} {path} holds no list of clusters", hint)
    folder = os.path.dirname(path)
    return [
        {key: _resolve_path(value, folder) if key in _PATH_KEYS else value for key, value in each.items()}
        if isinstance(each, Mapping)
        else each
        for each in entries
    ]


def _resolve_path(value: object, folder: str) -> object:
    """The path, resolved against the file's folder; a value that is no text is reported later."""
    if not isinstance(value, str) or not value.strip():
        return value
    path = os.path.join(folder, os.path.expanduser(value.strip()))
    return f"./{path}" if path.startswith("-") else path  # a bare ``-`` would be standard input, and ``-x`` a flag
