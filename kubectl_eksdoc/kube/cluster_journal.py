"""The journal of a run in the cluster, written by one leader at a time.

Every batch is a patch that adds one data key of its own and names the resourceVersion of the ConfigMap. So the server
refuses a second writer, a lost answer is resolved by reading whether the key exists, and a batch that arrives twice is
stored once. The patch that fills a chunk also closes it: of two writers that continue, only one creates the next chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from kubectl_eksdoc.errors import JournalError, LockLost, UsageError
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from kubectl_eksdoc.model.journal import JournalEntries, JournalEntry, RunPhase, RunStarted
from kubectl_eksdoc.objects.journal_lines import entry_line

from .requests import NOT_SENT, ApiResponse
from .runs import (
    ENTRIES_PART,
    FULL_ANNOTATION,
    HEAD_PART,
    LEADER_KEY,
    MESSAGE_KEY,
    PHASE_KEY,
    REQUESTED_BY_KEY,
    REQUESTED_KEY,
    STARTED_KEY,
    UPDATED_KEY,
    ConfigMap,
    ConfigMaps,
    chunk_name,
    chunk_number,
    head_name,
    read_run,
    removed_error,
    run_labels,
)

CHUNK_BYTES = 256 << 10
"""A chunk of this size is closed. A ConfigMap may have 1 MiB (MaxSecretSize, pkg/apis/core/validation)."""

Fence = Callable[[], object]
"""Raises LockLost where this process must not write any more."""


@dataclass(slots=True)
class _Chunk:
    """The chunk that is written to. Mutable. `keys`: the known batches."""

    number: int
    resource_version: str
    size: int = 0
    full: bool = False
    keys: set[str] = field(default_factory=set)


class ClusterJournal:
    """Begin a run or adopt one, then append. For one thread.

    `writer`: a few characters that are unique to this process and become part of the names of batches; `fence` is
    called before every request that writes.
    """

    def __init__(self, maps: ConfigMaps, writer: str, fence: Fence, chunk_bytes: int = CHUNK_BYTES) -> None:
        self._maps = maps
        self._writer = writer
        self._fence = fence
        self._chunk_bytes = chunk_bytes
        self._run = ""
        self._leader = ""
        self._head_version = ""
        self._chunk: _Chunk | None = None
        self._next_batch = 0
        self._outcome_unknown = False  # whether the outcome of the last batch is unknown
        self._is_leader = False

    def start(self, started: RunStarted) -> None:
        """Create the head of a new run.

        Raises:
            UsageError: there is no such namespace, or the run id is invalid.
            JournalError, LockLost, Unauthorized, Forbidden
        """
        name, text = head_name(started.run), entry_line(started)
        self._run, self._leader = started.run, started.leader
        data = {STARTED_KEY: text, **self._head_data(RunPhase.RUNNING, started.at)}
        created = self._create(
            name, run_labels(started.run, HEAD_PART), {}, data, lambda found: found.data.get(STARTED_KEY) == text
        )
        if isinstance(created, ConfigMap):
            raise JournalError(f"there is a run {started.run} already", "Begin another one, or resume that.")
        self._head_version, self._is_leader = created, True

    def restore_head(self, run: str, leader: str, started: RunStarted | None = None) -> None:
        """Create the head of a run whose journal was removed, so that it can be opened and adopted for a rollback.
        `started`: its first entry, where that is still known.

        Raises:
            UsageError: there is no such namespace, or the run id is invalid.
            JournalError, LockLost, Unauthorized, Forbidden
        """
        self._run, self._leader, self._head_version = run, leader, ""
        first_entry = {STARTED_KEY: entry_line(started)} if started is not None else {}
        data = {**first_entry, **self._head_data(RunPhase.RUNNING, self._maps.clock.now())}
        self._create(head_name(run), run_labels(run, HEAD_PART), {}, data, lambda found: True)

    def open(self, run: str) -> JournalEntries:
        """Read a run that is to be adopted next. Raises: as `kube.runs.read_run`."""
        self._is_leader = self._outcome_unknown = False
        stored = read_run(self._maps, run)
        self._run, self._next_batch = run, stored.next_batch
        self._head_version, self._leader = stored.head.resource_version, stored.leader
        self._chunk = None
        if stored.chunks:
            last_chunk = stored.chunks[-1]
            self._chunk = _chunk_from(chunk_number(stored.head.name, last_chunk) or 0, last_chunk)
        return stored.entries

    def adopt(self, leader: str, entries: Sequence[JournalEntry], phase: RunPhase = RunPhase.RUNNING) -> None:
        """Lead the run that was opened; `entries` record that. From now on the former leader is refused, and requests
        of users to it are removed.

        Raises:
            LockLost: another process wrote since it was opened: open it again, if the lock is still held.
            JournalError, Unauthorized, Forbidden
        """
        self._update_head(phase, leader, self._leader, {REQUESTED_KEY: "", REQUESTED_BY_KEY: ""})
        self._leader, self._is_leader = leader, True
        self.append(entries)

    def append(self, entries: Iterable[JournalEntry]) -> None:
        """The entries are in the cluster when it returns.

        Raises:
            LockLost: another process writes to this run, or the lock is not held any more.
            JournalError: the entries are not stored, or that is unknown.
            Unauthorized, Forbidden: by the missing permission.
        """
        if not self._is_leader:
            raise _lost_error(f"the run {self._run} is not ours to write to", "")
        if self._outcome_unknown:
            self._reread_chunk()
        self._outcome_unknown = True
        for text in _split_lines(entries, self._chunk_bytes // 4):
            key = f"{self._next_batch:06d}.{self._writer}"
            self._next_batch += 1  # the key is unique, whatever the outcome of this batch
            while self._chunk is None or key not in self._chunk.keys:
                if self._chunk is None or self._chunk.full:
                    self._chunk = self._next_chunk(key, text)
                else:
                    self._append_to_chunk(self._chunk, key, text)
        self._outcome_unknown = False

    def report_progress(self, phase: RunPhase, said: str = "") -> None:
        """Update the phase and message that the list of runs shows. Raises: as `append`."""
        self._update_head(phase, self._leader, self._leader, {MESSAGE_KEY: said})

    # One batch

    def _reread_chunk(self) -> None:
        """Read the chunk: a batch that failed may be stored all the same, and may have closed its chunk."""
        if self._chunk is None:
            return
        name = chunk_name(self._run, self._chunk.number)
        config_map = self._maps.get(name)
        if config_map is None:
            raise removed_error(self._maps, self._run, name)
        if any(map(self._is_foreign, config_map.data.keys() - self._chunk.keys)):
            raise self._other_writer_error(name)
        self._chunk = _chunk_from(self._chunk.number, config_map)

    def _next_chunk(self, key: str, text: str) -> _Chunk:
        number = self._chunk.number + 1 if self._chunk is not None else 0
        name, full = chunk_name(self._run, number), len(text) >= self._chunk_bytes
        annotations = {FULL_ANNOTATION: "true"} if full else {}
        created = self._create(
            name, run_labels(self._run, ENTRIES_PART), annotations, {key: text}, lambda f: key in f.data
        )
        if isinstance(created, ConfigMap):
            if any(map(self._is_foreign, created.data)):
                raise self._other_writer_error(name)
            return _chunk_from(number, created)  # our own, whose answer was lost
        return _Chunk(number, created, len(text), full, {key})

    def _is_foreign(self, key: str) -> bool:
        return not key.endswith(f".{self._writer}")

    def _append_to_chunk(self, chunk: _Chunk, key: str, text: str) -> None:
        name, new_size = chunk_name(self._run, chunk.number), chunk.size + len(text)
        full = new_size >= self._chunk_bytes
        annotations = {FULL_ANNOTATION: "true"} if full else {}

        def is_there(current: ConfigMap) -> bool:
            if key in current.data:
                return True
            if current.data.keys() - chunk.keys or FULL_ANNOTATION in current.annotations:
                raise self._other_writer_error(name)
            if chunk.keys - current.data.keys():
                raise JournalError(f"entries were removed from {name}", "What this run did is in the local journal.")
            return False

        chunk.resource_version = self._patch_until_known(
            name, chunk.resource_version, annotations, {key: text}, is_there
        )
        chunk.size, chunk.full = new_size, full
        chunk.keys.add(key)

    def _other_writer_error(self, name: str) -> LockLost:
        self._is_leader = False
        head = self._maps.get(head_name(self._run))
        leader = head.data.get(LEADER_KEY, "") if head is not None else ""
        return _lost_error(f"another process writes to {name}", leader if leader != self._leader else "")

    # The head

    def _update_head(self, phase: RunPhase, leader: str, previous_leader: str, extra: Doc | None = None) -> None:
        """`previous_leader`: the leader as far as this process knows."""
        name = head_name(self._run)
        data = {**self._head_data(phase, self._maps.clock.now(), leader), **(extra or {})}

        def is_there(current: ConfigMap) -> bool:
            current_leader = current.data.get(LEADER_KEY, "")
            if current_leader not in (previous_leader, leader):
                self._is_leader = False
                raise _lost_error(f"another process leads the run {self._run}", current_leader)
            return all(current.data.get(key) == value for key, value in data.items())

        self._head_version = self._patch_until_known(name, self._head_version, {}, data, is_there)

    def _head_data(self, phase: RunPhase, now: datetime, leader: str = "") -> Doc:
        updated = now.isoformat(timespec="seconds").replace("+00:00", "Z")
        return {LEADER_KEY: leader or self._leader, PHASE_KEY: phase.value, UPDATED_KEY: updated}

    # Writes whose outcome is known at the end

    def _create(
        self, name: str, labels: Mapping[str, str], annotations: Doc, data: Doc, is_ours: Callable[[ConfigMap], bool]
    ) -> str | ConfigMap:
        """The resourceVersion of the new ConfigMap; or the existing one of another writer, for which `is_ours` is
        false."""
        response, namespace = NOT_SENT, self._maps.namespace
        for attempt in self._maps.retry_limits.attempts(self._maps.clock):
            self._fence()
            response = self._maps.create(name, labels, annotations, data)
            if response.ok:
                return _resource_version(response)
            if response.code == 404 and not self._head_version:  # no run was begun
                hint = f"Make it (kubectl create namespace {namespace}), or keep the journal in another one."
                raise UsageError(f"there is no namespace {namespace} to keep the journal of the run in", hint)
            self._maps.check_response(response, "create configmaps", f"create {name}", attempt.elapsed_s)
            if response.code == 409 or response.outcome_unknown:
                existing = self._maps.get(name)
                if existing is not None:
                    return existing.resource_version if is_ours(existing) else existing
            attempt.respect_retry_after(response)
        raise self._maps.write_error(f"create {name}", response)

    def _patch_until_known(
        self, name: str, version: str, annotations: Doc, data: Doc, is_there: Callable[[ConfigMap], bool]
    ) -> str:
        """The resourceVersion after the patch. Where the outcome is unknown, `is_there` judges the ConfigMap that is
        read then."""
        response = NOT_SENT
        for attempt in self._maps.retry_limits.attempts(self._maps.clock):
            self._fence()
            response = self._maps.patch(name, version, annotations, data)
            if response.ok:
                return _resource_version(response)
            if response.code == 404:
                raise removed_error(self._maps, self._run, name)
            self._maps.check_response(response, "patch configmaps", f"patch {name}", attempt.elapsed_s)
            if response.code == 409 or response.outcome_unknown:
                current = self._maps.get(name)
                if current is None:
                    raise removed_error(self._maps, self._run, name)
                version = current.resource_version
                if is_there(current):
                    return version
            attempt.respect_retry_after(response)
        raise self._maps.write_error(f"patch {name}", response)


def _split_lines(entries: Iterable[JournalEntry], max_bytes: int) -> Iterator[str]:
    """The entries as texts of at most `max_bytes` each; a longer line is a text of its own."""
    piece: list[str] = []
    size = 0
    for entry in entries:
        text = entry_line(entry)
        if piece and size + len(text) > max_bytes:
            yield "".join(piece)
            piece, size = [], 0
        piece.append(text)
        size += len(text)
    if piece:
        yield "".join(piece)


def _chunk_from(number: int, config_map: ConfigMap) -> _Chunk:
    size = sum(map(len, config_map.data.values()))
    return _Chunk(
        number, config_map.resource_version, size, FULL_ANNOTATION in config_map.annotations, set(config_map.data)
    )


def _resource_version(response: ApiResponse) -> str:
    return str(nested_field(response.doc, "metadata", "resourceVersion") or "")


def _lost_error(message: str, holder: str) -> LockLost:
    leader = f": {holder} leads it now" if holder else ""
    hint = "Nothing more is done from here. The process that leads now continues; kubectl eksdoc drain status shows it."
    return LockLost(f"{message}{leader}", hint, holder)
