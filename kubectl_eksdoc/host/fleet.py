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
from kubectl_eksdoc.model.api_objects import API_VERSION, Doc, at, text_at
from kubectl_eksdoc.model.cluster import Identity, JudgedMember, Member, MemberFinding, Outcome, UnjudgedMember
from kubectl_eksdoc.model.findings import Severity, Status
from kubectl_eksdoc.model.quantities import duration

from . import processes as endings
from .documents import hand_written, no_number, read_text

ANSWERS = (0, 1, 5)
"""Exit codes with a result."""
REFUSALS = (2, 3, 4, 70)
"""Exit codes with an error message: usage, the cluster, AWS, a bug."""

_BUG = 70
_KILLED = -9
_SHORT_OF_MEMORY = "The machine may be short of memory: ask fewer at a time (--parallel)."
_NAMES = {
    **{name: name for name in ("context", "cluster", "account", "region", "uid")},
    "server_version": "serverVersion",
}
"""Fields of `Identity`, and their keys in the document."""
_ERROR = "error: "
_LONGEST = 1000
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z\Z")


def outcome(status: int, printed: bytes, complaint: str, kind: str) -> Outcome:
    """The outcome of a member process. `exit_status`: as in `subprocess`; `stderr_tail`: the end of its stderr; `kind`:
    of the document that it prints."""
    reason, hint = _complained(complaint)
    if status in REFUSALS:
        return UnjudgedMember(status, reason or f"its process ended with exit code {status} and said nothing", hint)
    if status not in ANSWERS:
        how = f"was killed by signal {-status}" if status < 0 else f"ended with exit code {status}"
        hint = _SHORT_OF_MEMORY if status == _KILLED else hint
        return UnjudgedMember(_BUG, f"its process {how}{f': {reason}' if reason else ''}", hint)
    try:
        read = json.loads(printed, parse_constant=no_number)
    except (ValueError, RecursionError):
        read = {}
    document: Doc = read if isinstance(read, dict) else {}
    whole = isinstance(document.get("findings"), list)  # without findings the state is unknown, not healthy
    if document.get("kind") != kind or document.get("apiVersion") != API_VERSION or not whole:
        return UnjudgedMember(_BUG, f"its process ended with exit code {status} and printed no {kind}", reason)
    unverified, moment = at(document, "metadata", "cluster", "unverified"), text_at(document, "metadata", "observedAt")
    return JudgedMember(
        status,
        Identity(
            **{field: text_at(document, "metadata", "cluster", name) for field, name in _NAMES.items()},
            unverified=tuple(map(str, unverified)) if isinstance(unverified, list) else (),
        ),
        text_at(document, "metadata", "source"),
        moment if _MOMENT.match(moment) else "",
        text_at(document, "verdict"),
        tuple(_said(each) for each in document["findings"] if isinstance(each, dict)),
        document,
    )


def _complained(text: str) -> tuple[str, str]:
    """The last error and its hint; without an error the last line."""
    lines = [line.strip()[:_LONGEST] for line in text.split("\n")]
    begun = [number for number, line in enumerate(lines) if line.startswith(_ERROR)]
    if begun:
        hint = " ".join(line for line in lines[begun[-1] + 1 :] if line)
        return lines[begun[-1]].removeprefix(_ERROR), hint[:_LONGEST]
    return next((line for line in reversed(lines) if line), ""), ""


def _said(finding: Doc) -> MemberFinding:
    names = [text_at(finding, "subject", key) for key in ("namespace", "name")]
    subject = f"{text_at(finding, 'subject', 'kind')} {'/'.join(filter(None, names))}".strip()
    severity, status = text_at(finding, "severity"), text_at(finding, "status")
    return MemberFinding(
        Severity(severity) if severity in _SEVERITIES else Severity.INFO,
        Status(status) if status in _STATUSES else Status.UNKNOWN,
        subject,
        text_at(finding, "message"),
        text_at(finding, "gate"),
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

SOURCES: Mapping[str, tuple[str, ...]] = {
    "Environment": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
    "EcsContainer": tuple(name for name in CREDENTIALS if name.startswith("AWS_CONTAINER_")),
}
"""Credentials that a profile names itself (``credential_source``) to assume its role."""

_PROFILE = "AWS_PROFILE"
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")


def environment_of(member: Member, environ: Mapping[str, str], source: str = "") -> dict[str, str]:
    """The environment of this process, but with only the profile and the region of the member where it has them.
    Credential plugins inherit it; they do not see the flags of this process. `source`: a key of `CREDENTIAL_SOURCES`,
    or ""."""
    found = dict(environ)
    if member.profile:
        for name in CREDENTIALS:
            if name not in SOURCES.get(source, ()):
                found.pop(name, None)
        found[_PROFILE] = member.profile
    if member.region:
        found.update(dict.fromkeys(_REGIONS, member.region))
    return found


# One process for each cluster of a fleet.
#
# It isolates credentials, environment and SDK sessions of different accounts; a crash affects no other member; and a
# timeout ends a process that hangs. The process has its own session, without a terminal on which a credential plugin
# could prompt, and is terminated with all of its child processes.


_CLUSTER, _MEMBER_PROCESS_BUG = 3, 70
_LOOK_S = 0.05
_REST_S = 5.0
"""Maximum time to read the pipes of an ended process; its child processes may keep them open."""


def own_program() -> tuple[str, ...]:
    """The command line of this program, with the same Python and module paths. ``python -m`` would also search the
    current directory."""
    places = [os.path.abspath(place) for place in sys.path]
    begin = f"import sys; sys.path[:] = {places!r}; from kubectl_eksdoc.launch import main; main()"
    return (sys.executable, "-c", begin)


@frozen
class MemberProcess:
    """Settings of all member processes: `program`, then the `arguments` for a member; the `environment` of each.
    `kind`: of the document that is expected."""

    words: Callable[[Member], Sequence[str]]
    kind: str
    environ: Callable[[Member], Mapping[str, str]]
    timeout_s: float
    program: Sequence[str]


class MemberProcesses:
    """The port `fleet.members.MemberRunner`. For one thread."""

    def __init__(self, asked: MemberProcess) -> None:
        self._asked = asked
        self._closing = threading.Event()
        self._ended: SimpleQueue[tuple[Member, Outcome]] = SimpleQueue()
        self._running: dict[str, tuple[threading.Thread, _Process]] = {}

    def begin(self, member: Member) -> None:
        process = _Process(member, self._asked)
        thread = threading.Thread(target=self._ask, args=(member, process), name=f"eksdoc: {member.name}", daemon=True)
        self._running[member.name] = (thread, process)
        thread.start()

    def ended(self, wait_s: float) -> Sequence[tuple[Member, Outcome]]:
        found: list[tuple[Member, Outcome]] = []
        try:
            found.append(self._ended.get(timeout=wait_s))
            while True:
                found.append(self._ended.get_nowait())
        except Empty:
            for member, _ in found:
                self._running.pop(member.name, None)
            return found

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

    def _ask(self, member: Member, process: _Process) -> None:
        try:
            found = process.run(self._closing)
        except OSError as error:
            found = UnjudgedMember(_MEMBER_PROCESS_BUG, f"its process cannot be begun: {error.strerror or error}")
        except Exception as error:  # any error concerns this member only
            found = UnjudgedMember(_MEMBER_PROCESS_BUG, f"its answer cannot be read: {type(error).__name__}: {error}")
        self._ended.put((member, found))


class _Process:
    """The process of one member, in its own thread. Mutable."""

    def __init__(self, member: Member, asked: MemberProcess) -> None:
        self._member = member
        self._asked = asked
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, closing: threading.Event) -> Outcome:
        """
        Raises:
            OSError: the process cannot be started.
        """
        if closing.is_set():
            return UnjudgedMember(_CLUSTER, "it was not asked any more")
        self._process = process = subprocess.Popen(
            [*self._asked.program, *self._asked.words(self._member)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._asked.environ(self._member),
            start_new_session=True,
        )
        try:
            return self._heard_out(process, closing)
        finally:
            if process.poll() is None:
                endings.end(process)
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()

    def _heard_out(self, process: subprocess.Popen[bytes], closing: threading.Event) -> Outcome:
        """Read all output until the process ends; its child processes may keep the pipes open."""
        begun_s = monotonic()
        ended_s: float | None = None
        while True:
            try:
                printed, said = process.communicate(timeout=_LOOK_S)
                break
            except subprocess.TimeoutExpired as late:
                printed, said = late.output or b"", late.stderr or b""
            ended_s = monotonic() if ended_s is None and process.poll() is not None else ended_s
            if ended_s is not None and monotonic() - ended_s > _REST_S:
                break
            if closing.is_set():
                return UnjudgedMember(_CLUSTER, "it was left alone before it had answered")
            if monotonic() - begun_s > self._asked.timeout_s:
                last = said.decode("utf-8", "replace").strip().rpartition("\n")[2]
                reason = f"no answer within {duration(self._asked.timeout_s)}{f': {last}' if last else ''}"
                return UnjudgedMember(_CLUSTER, reason, "Give it longer: --fleet-timeout.")
        return outcome(process.returncode, printed, said.decode("utf-8", "replace"), self._asked.kind)

    def kill(self) -> None:
        """Kill the process with its child processes."""
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # it has ended meanwhile
                os.killpg(self._process.pid, signal.SIGKILL)


MOST_BYTES = 1 << 20
FLAG = "--fleet"
_LISTS = ("members", "fleet", "clusters", "contexts")
_PATHS = ("kubeconfig", "snapshot")
_STRUCTURED = re.compile(r"---|-(\s|$)|[\[{]|\S+:(\s|$)")
"""Matches the first line of a YAML or JSON document; in a plain file that line is the name of a context."""
_COMMENT = re.compile(r"(^|\s)#.*")


def named_file(text: str) -> str:
    """The path that `text` names: text that begins with ``@``, ``./``, ``../``, ``/`` or ``~/``, or the name of an
    existing file; else ""."""
    if text.startswith("@"):
        return text[1:]
    if text.startswith(("./", "../", "/", "~/")):
        return text
    return text if os.path.isfile(text) else ""


def read_fleet(path: str, wanted: str) -> list[object]:
    """The entries as written; relative paths in them are resolved against the folder of the file. `hint` says what to
    give.

    Raises:
        UsageError: it cannot be read, or holds no list.
    """
    path = os.path.expanduser(path)
    text = read_text(path, FLAG, MOST_BYTES, wanted)
    plain = [line for line in (_COMMENT.sub("", line).strip() for line in text.splitlines()) if line]
    if not plain or not _STRUCTURED.match(plain[0]):
        return list(plain)
    try:
        found = hand_written(text)
    except ValueError as error:
        raise UsageError(f"{FLAG} {path} is neither YAML nor JSON: {error}", wanted) from error
    if isinstance(found, dict):
        found = next((found[key] for key in _LISTS if key in found), found)
    if not isinstance(found, list):
        raise UsageError(f"{FLAG} {path} holds no list of clusters", wanted)
    folder = os.path.dirname(path)
    return [
        {key: _path(value, folder) if key in _PATHS else value for key, value in each.items()}
        if isinstance(each, Mapping)
        else each
        for each in found
    ]


def _path(value: object, folder: str) -> object:
    """The path, resolved against the file's folder; a value that is no text is reported later."""
    if not isinstance(value, str) or not value.strip():
        return value
    path = os.path.join(folder, os.path.expanduser(value.strip()))
    return f"./{path}" if path.startswith("-") else path  # a bare ``-`` would be standard input, and ``-x`` a flag
