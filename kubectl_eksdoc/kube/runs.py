"""Runs in the cluster: for each run one ConfigMap with its state, and more with its journal entries.

``eksdoc-run-ID`` is the head: the first entry, the leader, the phase. ``eksdoc-run-ID-000`` and so on are the chunks:
each data key is a batch of lines that was written at once, and its name has the position of the batch in the run.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from types import TracebackType
from typing import TypeVar

from kubectl_eksdoc.errors import EksdocError, JournalError, JournalGone, Unreachable, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.schedules import parse_time
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from kubectl_eksdoc.model.journal import JournalEntries, LockState, RunPhase, RunStarted, RunSummary, is_run_id
from kubectl_eksdoc.objects.journal_lines import read_journal

from .lock import LeaseLock
from .requests import (
    FIELD_MANAGER,
    JSON,
    MERGE_PATCH,
    NOT_SENT,
    ApiResponse,
    Clock,
    RequestSender,
    RetryLimits,
    refusal_error,
)

# ConfigMaps of one namespace: reads are retried until they are answered, writes are sent once.


@frozen
class ConfigMap:
    """`resource_version` is its resourceVersion."""

    name: str
    uid: str
    resource_version: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    data: Mapping[str, str] = field(repr=False)


class ConfigMaps:
    def __init__(
        self,
        sender: RequestSender,
        namespace: str,
        clock: Clock,
        retry_limits: RetryLimits = RetryLimits(),
        fence: Callable[[], object] = lambda: None,
        refused_s: float = 0.0,
    ) -> None:
        """`fence` is called before each try to read; its errors are passed on. `refused_s`: how long a refusal of
        credentials or permissions is retried before it is believed."""
        self.namespace = namespace
        self.clock = clock
        self.retry_limits = retry_limits
        self._sender = sender
        self._fence = fence
        self._refused_s = refused_s
        self._path = f"/api/v1/namespaces/{namespace}/configmaps"

    def get(self, name: str) -> ConfigMap | None:
        """The ConfigMap; None where there is none.

        Raises:
            JournalError: no answer, or a refusal, until the retry limits were reached.
            Unauthorized, Forbidden
        """
        response = self._read(f"{self._path}/{name}", {}, "get configmaps")
        return None if response.code == 404 else config_map_from_doc(response.doc)

    def find(self, selector: str) -> Sequence[ConfigMap]:
        """The ConfigMaps with these labels, all of one moment. Raises: as `get`."""
        response = self._read(self._path, {"labelSelector": selector}, "list configmaps")
        items = response.doc.get("items", "") if response.ok else None
        if not (items is None or isinstance(items, list)) or nested_field(response.doc, "metadata", "continue"):
            raise self.read_error("list configmaps", response)
        return [config_map_from_doc(item) for item in items or ()]

    def create(self, name: str, labels: Mapping[str, str], annotations: Mapping[str, str], data: Doc) -> ApiResponse:
        metadata = {"name": name, "namespace": self.namespace, "labels": dict(labels), "annotations": dict(annotations)}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        return self._sender.send("POST", self._path, FIELD_MANAGER, body, JSON)

    def patch(self, name: str, resource_version: str, annotations: Mapping[str, str], data: Doc) -> ApiResponse:
        """Refused with 409 where the ConfigMap has another resourceVersion."""
        metadata: Doc = {"resourceVersion": resource_version}
        if annotations:
            metadata["annotations"] = dict(annotations)
        body = {"metadata": metadata, "data": data}
        return self._sender.send("PATCH", f"{self._path}/{name}", FIELD_MANAGER, body, MERGE_PATCH)

    def delete(self, name: str, uid: str) -> None:
        """Delete exactly this ConfigMap; one that is gone already is fine. Raises: as `get`."""
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid}}
        path, right = f"{self._path}/{name}", "delete configmaps"
        # 409: another ConfigMap has this name by now.
        send = partial(self._sender.send, "DELETE", path, {}, body, JSON)
        response = self.send_until(send, right, f"delete {name}", (404, 409))
        if not response.ok and response.code not in (404, 409):
            raise self.write_error(f"delete {name}", response)

    def send_until(
        self, send: Callable[[], ApiResponse], right: str, action: str, accepted_codes: Sequence[int] = (404,)
    ) -> ApiResponse:
        """The first final response: a success, or one with a code of `accepted_codes`; the last response where none is
        final.

        Raises: as `check_response`.
        """
        response = NOT_SENT
        for attempt in self.retry_limits.attempts(self.clock):
            response = send()
            if response.ok or response.code in accepted_codes:
                break
            self.check_response(response, right, action, attempt.elapsed_s)
            attempt.respect_retry_after(response)
        return response

    def check_response(self, response: ApiResponse, right: str, action: str, elapsed_s: float) -> None:
        """`elapsed_s`: time since the first try.

        Raises:
            Unauthorized, Forbidden, JournalError: a retry would not change this response.
        """
        if error := refusal_error(response, right, self.namespace):
            if elapsed_s >= self._refused_s:
                raise error
            return
        if not response.outcome_unknown and response.code not in (409, 429):
            raise self.write_error(action, response)

    def read_error(self, action: str, response: ApiResponse) -> JournalError:
        return JournalError(
            f"the journal of runs in namespace {self.namespace} cannot be read: to {action}, {response.summary}",
            "When the cluster answers again, resume the run.",
        )

    def write_error(self, action: str, response: ApiResponse) -> JournalError:
        return JournalError(
            f"the journal of the run cannot be kept in namespace {self.namespace}: to {action}, {response.summary}",
            "Nothing is done that is not written down first. When the cluster answers again, resume the run.",
        )

    def _read(self, path: str, query: Mapping[str, str], right: str) -> ApiResponse:
        def send_read() -> ApiResponse:
            self._fence()
            return self._sender.send("GET", path, query, None)

        response = self.send_until(send_read, right, right)
        if response.ok or response.code == 404:
            return response
        raise self.read_error(right, response)


def config_map_from_doc(doc: Doc) -> ConfigMap:
    """The ConfigMap of a server's document, which other clients may have changed: values that are not texts become
    texts."""
    data = _text_map(nested_field(doc, "data"))
    labels, annotations = (
        _text_map(nested_field(doc, "metadata", "labels")),
        _text_map(nested_field(doc, "metadata", "annotations")),
    )
    name, uid, resource_version = (
        str(nested_field(doc, "metadata", key) or "") for key in ("name", "uid", "resourceVersion")
    )
    return ConfigMap(name, uid, resource_version, labels, annotations, data)


def _text_map(texts: object) -> Mapping[str, str]:
    return {str(key): str(value) for key, value in texts.items()} if isinstance(texts, dict) else {}


RUN_LABEL, PART_LABEL = "eksdoc.io/run", "eksdoc.io/part"
HEAD_PART, ENTRIES_PART = "head", "entries"
FULL_ANNOTATION = "eksdoc.io/full"
"""The annotation of a chunk that is full: a writer creates the next chunk, and only one writer can."""

STARTED_KEY, LEADER_KEY, PHASE_KEY, UPDATED_KEY, MESSAGE_KEY = "begun", "leader", "phase", "updated", "said"
REQUESTED_KEY, REQUESTED_BY_KEY = "wanted", "wantedBy"
"""The request of a user on another machine to the leader: a value of `RunPhase`, and the user."""

_CHUNK_SUFFIX = re.compile(r"-([0-9]{3,9})")
_BATCH_KEY = re.compile(r"([0-9]{6,12})\..*")


@frozen
class StoredRun:
    """`chunks` in their order; `entries` of all of them, the head's first."""

    head: ConfigMap
    chunks: tuple[ConfigMap, ...]
    entries: JournalEntries

    @property
    def leader(self) -> str:
        return self.head.data.get(LEADER_KEY, "")

    @property
    def next_batch(self) -> int:
        """The number of the next batch."""
        return max((place + 1 for chunk in self.chunks for place in map(_batch_number, chunk.data)), default=0)


def head_name(run: str) -> str:
    """The name of the head ConfigMap.

    Raises:
        UsageError: `run` is not a run id.
    """
    if not is_run_id(run):
        raise UsageError(f"{run[:80]!r} is no id of a run", "kubectl eksdoc drain status lists them.")
    return f"eksdoc-run-{run}"


def chunk_name(run: str, number: int) -> str:
    return f"{head_name(run)}-{number:03d}"


def run_labels(run: str, part: str) -> Mapping[str, str]:
    return {RUN_LABEL: run, PART_LABEL: part, "app.kubernetes.io/managed-by": "eksdoc"}


def read_run(maps: ConfigMaps, run: str) -> StoredRun:
    """The run with all of its entries.

    Raises:
        UsageError: there is no such run.
        JournalError, Unauthorized, Forbidden: it cannot be read.
    """
    name = head_name(run)
    config_maps = maps.find(f"{RUN_LABEL}={run}")
    head = next((each for each in config_maps if each.name == name), None)
    if head is None:
        raise _no_run_error(maps, run)
    unsorted_chunks = [each for each in config_maps if chunk_number(name, each) is not None]
    chunks = sorted(unsorted_chunks, key=lambda each: chunk_number(name, each) or 0)
    reads_of_keys = list(_read_entries(name, head, chunks))
    entries = tuple(entry for read in reads_of_keys for entry in read.entries)
    return StoredRun(
        head, tuple(chunks), JournalEntries(entries, tuple(why for read in reads_of_keys for why in read.dropped))
    )


def list_runs(maps: ConfigMaps) -> tuple[RunSummary, ...]:
    """Every run in the namespace, the latest first. Raises: as `read_run`."""
    heads = maps.find(f"{PART_LABEL}={HEAD_PART}")
    summaries = [_summary(each) for each in heads if each.name == f"eksdoc-run-{each.labels.get(RUN_LABEL, '')}"]
    return tuple(sorted(summaries, key=lambda each: (each.begun is not None, each.begun, each.run), reverse=True))


def request_phase(maps: ConfigMaps, run: str, phase: RunPhase, requester: str) -> None:
    """Ask the leader of a run to pause, continue or abort it; the last request counts.

    Raises:
        UsageError: there is no such run.
        JournalError, Unauthorized, Forbidden
    """
    name, data = head_name(run), {REQUESTED_KEY: phase.value, REQUESTED_BY_KEY: requester}
    response = maps.send_until(lambda: maps.patch(name, "", {}, data), "patch configmaps", f"patch {name}")
    if response.code == 404:
        raise _no_run_error(maps, run)
    if not response.ok:
        raise maps.write_error(f"patch {name}", response)


def remove_run(maps: ConfigMaps, run: str) -> None:
    """Delete all ConfigMaps of a run, the head last: a run whose removal was interrupted is still listed and can be
    removed.

    Raises: as `read_run`.
    """
    stored = read_run(maps, run)
    for config_map in (*stored.chunks, stored.head):
        maps.delete(config_map.name, config_map.uid)


def chunk_number(head: str, config_map: ConfigMap) -> int | None:
    match = _CHUNK_SUFFIX.fullmatch(config_map.name.removeprefix(head)) if config_map.name.startswith(head) else None
    return int(match[1]) if match else None


def _read_entries(name: str, head: ConfigMap, chunks: Sequence[ConfigMap]) -> Iterator[JournalEntries]:
    if STARTED_KEY not in head.data:
        yield JournalEntries(dropped=(f"{name} does not say how the run began",))
    yield _entries_of(head, STARTED_KEY)
    last_number = chunk_number(name, chunks[-1]) if chunks else None
    numbers = {chunk_number(name, chunk) for chunk in chunks}
    for number in range(last_number or 0):
        if number not in numbers:
            yield JournalEntries(dropped=(f"{name}-{number:03d} is missing",))
    for chunk in chunks:
        for key in sorted(chunk.data, key=lambda each: (_batch_number(each), each)):
            yield _entries_of(chunk, key)


def _entries_of(config_map: ConfigMap, key: str) -> JournalEntries:
    return read_journal(config_map.data.get(key, "").encode("utf-8", "replace"), f"{config_map.name}, {key}")


def _batch_number(key: str) -> int:
    """The number of a batch; -1 for a key that is not of this tool: it comes first, and its lines are read too."""
    match = _BATCH_KEY.fullmatch(key)
    return int(match[1]) if match else -1


def _summary(head: ConfigMap) -> RunSummary:
    started = next((each for each in _entries_of(head, STARTED_KEY).entries if isinstance(each, RunStarted)), None)
    updated = parse_time(head.data.get(UPDATED_KEY, ""))
    data, run = head.data, head.labels[RUN_LABEL]
    phase, leader, message, requested, requested_by = (
        data.get(key, "") for key in (PHASE_KEY, LEADER_KEY, MESSAGE_KEY, REQUESTED_KEY, REQUESTED_BY_KEY)
    )
    return RunSummary(run, started.at if started else None, phase, leader, updated, message, requested, requested_by)


def _no_run_error(maps: ConfigMaps, run: str) -> UsageError:
    hint = "Was its journal kept in another namespace? Runs are listed by: kubectl eksdoc drain status"
    return UsageError(f"there is no run {run} in namespace {maps.namespace}", hint)


def removed_error(maps: ConfigMaps, run: str, name: str) -> JournalError:
    """The error for the missing part `name`, or for a run that is missing altogether. Raises: as `ConfigMaps.get`."""
    message = f"the journal {name} is not in the cluster any more"
    consequence = "It was deleted. What was done stays done, and nothing more is done from here."
    if name != head_name(run) and maps.get(head_name(run)) is not None:
        return JournalError(message, f"{consequence} The rest of the run's journal is there.")
    return JournalGone(message, f"{consequence} The nodes that were changed carry notes of what they were.")


# The port `ports.RunStore`: all runs of a cluster, for processes that do not lead them.


Result = TypeVar("Result")


INTERACTIVE_RETRY_LIMITS = RetryLimits(give_up_s=6.0)
"""A user waits for the answer."""


class StoredRuns:
    def __init__(self, maps: ConfigMaps, lock: LeaseLock) -> None:
        self._maps = maps
        self._lock = lock

    def all(self) -> Sequence[RunSummary]:
        return self._read_or_unreachable(lambda: list_runs(self._maps))

    def entries(self, run: str) -> JournalEntries:
        return self._read_or_unreachable(lambda: read_run(self._maps, run).entries)

    def request_phase(self, run: str, phase: RunPhase, requester: str) -> None:
        self._read_or_unreachable(lambda: request_phase(self._maps, run, phase, requester))

    def remove(self, run: str) -> None:
        self._read_or_unreachable(lambda: remove_run(self._maps, run))

    def _read_or_unreachable(self, read: Callable[[], Result]) -> Result:
        """A JournalError would be about the journal of a run that is under way; here it means that the cluster does not
        answer."""
        try:
            return read()
        except JournalError as error:
            raise Unreachable(error.message, "Nothing was changed. Try again.") from error

    def lock(self) -> LockState:
        return self._lock.current_holder()


# Requests of other users to a run: a thread of its own polls the head, so that the run does not wait for it.


POLL_INTERVAL_S = 3.0


class RunRequestListener:
    """Used as ``with RunRequestListener(…) as listener: … listener.requested``. `maps` is used in another thread."""

    def __init__(self, maps: ConfigMaps, run: str, poll_interval_s: float = POLL_INTERVAL_S) -> None:
        self._maps = maps
        self._name = head_name(run)
        self._poll_interval_s = poll_interval_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="asked of the run", daemon=True)
        self.requested: tuple[str, str] = ("", "")
        """A value of `RunPhase`, and the requesting user; two empty texts while there is no request."""

    def __enter__(self) -> RunRequestListener:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()  # the thread is not joined: an answer may take long

    def _poll(self) -> None:
        while not self._stop.wait(self._poll_interval_s):
            try:
                head = self._maps.get(self._name)
            except EksdocError:
                continue  # the leader gets the same error when it writes
            if head is not None:
                self.requested = head.data.get(REQUESTED_KEY, ""), head.data.get(REQUESTED_BY_KEY, "")
