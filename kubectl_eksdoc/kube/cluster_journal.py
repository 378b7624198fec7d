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
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.journal import Entries, Entry, RunPhase, RunStarted
from kubectl_eksdoc.objects.journal_lines import line

from .requests import UNASKED, SentRequest
from .runs import (
    BEGUN,
    ENTRIES,
    FULL,
    HEAD,
    LEADER,
    PHASE,
    SAID,
    UPDATED,
    WANTED,
    WANTED_BY,
    ConfigMap,
    ConfigMaps,
    chunk_name,
    chunk_number,
    gone,
    head_name,
    labels_of,
    read_run,
)

CHUNK_BYTES = 256 << 10
"""A chunk of this size is closed. A ConfigMap may have 1 MiB (MaxSecretSize, pkg/apis/core/validation)."""

Fence = Callable[[], object]
"""Raises LockLost where this process must not write any more."""


@dataclass(slots=True)
class _Chunk:
    """The chunk that is written to. Mutable. `keys`: the known batches."""

    number: int
    version: str
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
        self._batches = 0
        self._stale = False  # whether the outcome of the last batch is unknown
        self._leads = False

    def begin(self, begun: RunStarted) -> None:
        """Create the head of a new run.

        Raises:
            UsageError: there is no such namespace, or the run id is invalid.
            JournalError, LockLost, Unauthorized, Forbidden
        """
        name, text = head_name(begun.run), line(begun)
        self._run, self._leader = begun.run, begun.leader
        data = {BEGUN: text, **self._said(RunPhase.RUNNING, begun.at)}
        made = self._create(name, labels_of(begun.run, HEAD), {}, data, lambda found: found.data.get(BEGUN) == text)
        if isinstance(made, ConfigMap):
            raise JournalError(f"there is a run {begun.run} already", "Begin another one, or resume that.")
        self._head_version, self._leads = made, True

    def put_back(self, run: str, leader: str, begun: RunStarted | None = None) -> None:
        """Create the head of a run whose journal was removed, so that it can be opened and adopted for a rollback.
        `started`: its first entry, where that is still known.

        Raises:
            UsageError: there is no such namespace, or the run id is invalid.
            JournalError, LockLost, Unauthorized, Forbidden
        """
        self._run, self._leader, self._head_version = run, leader, ""
        first = {BEGUN: line(begun)} if begun is not None else {}
        data = {**first, **self._said(RunPhase.RUNNING, self._maps.clock.now())}
        self._create(head_name(run), labels_of(run, HEAD), {}, data, lambda found: True)

    def open(self, run: str) -> Entries:
        """Read a run that is to be adopted next. Raises: as `kube.runs.read_run`."""
        self._leads = self._stale = False
        stored = read_run(self._maps, run)
        self._run, self._batches = run, stored.batches
        self._head_version, self._leader = stored.head.version, stored.leader
        self._chunk = None
        if stored.chunks:
            last = stored.chunks[-1]
            self._chunk = _chunk(chunk_number(stored.head.name, last) or 0, last)
        return stored.entries

    def adopt(self, leader: str, entries: Sequence[Entry], phase: RunPhase = RunPhase.RUNNING) -> None:
        """Lead the run that was opened; `entries` record that. From now on the former leader is refused, and requests
        of users to it are removed.

        Raises:
            LockLost: another process wrote since it was opened: open it again, if the lock is still held.
            JournalError, Unauthorized, Forbidden
        """
        self._tell(phase, leader, self._leader, {WANTED: "", WANTED_BY: ""})
        self._leader, self._leads = leader, True
        self.append(entries)

    def append(self, entries: Iterable[Entry]) -> None:
        """The entries are in the cluster when it returns.

        Raises:
            LockLost: another process writes to this run, or the lock is not held any more.
            JournalError: the entries are not stored, or that is unknown.
            Unauthorized, Forbidden: by the missing permission.
        """
        if not self._leads:
            raise _lost(f"the run {self._run} is not ours to write to", "")
        if self._stale:
            self._look_again()
        self._stale = True
        for text in _pieces(entries, self._chunk_bytes // 4):
            key = f"{self._batches:06d}.{self._writer}"
            self._batches += 1  # the key is unique, whatever the outcome of this batch
            while self._chunk is None or key not in self._chunk.keys:
                if self._chunk is None or self._chunk.full:
                    self._chunk = self._next_chunk(key, text)
                else:
                    self._add(self._chunk, key, text)
        self._stale = False

    def tell(self, phase: RunPhase, said: str = "") -> None:
        """Update the phase and message that the list of runs shows. Raises: as `append`."""
        self._tell(phase, self._leader, self._leader, {SAID: said})

    # One batch

    def _look_again(self) -> None:
        """Read the chunk: a batch that failed may be stored all the same, and may have closed its chunk."""
        if self._chunk is None:
            return
        name = chunk_name(self._run, self._chunk.number)
        found = self._maps.get(name)
        if found is None:
            raise gone(self._maps, self._run, name)
        if any(map(self._is_foreign, found.data.keys() - self._chunk.keys)):
            raise self._somebody_else(name)
        self._chunk = _chunk(self._chunk.number, found)

    def _next_chunk(self, key: str, text: str) -> _Chunk:
        number = self._chunk.number + 1 if self._chunk is not None else 0
        name, full = chunk_name(self._run, number), len(text) >= self._chunk_bytes
        annotations = {FULL: "true"} if full else {}
        made = self._create(name, labels_of(self._run, ENTRIES), annotations, {key: text}, lambda f: key in f.data)
        if isinstance(made, ConfigMap):
            if any(map(self._is_foreign, made.data)):
                raise self._somebody_else(name)
            return _chunk(number, made)  # our own, whose answer was lost
        return _Chunk(number, made, len(text), full, {key})

    def _is_foreign(self, key: str) -> bool:
        return not key.endswith(f".{self._writer}")

    def _add(self, chunk: _Chunk, key: str, text: str) -> None:
        name, size = chunk_name(self._run, chunk.number), chunk.size + len(text)
        full = size >= self._chunk_bytes
        annotations = {FULL: "true"} if full else {}

        def is_there(found: ConfigMap) -> bool:
            if key in found.data:
                return True
            if found.data.keys() - chunk.keys or FULL in found.annotations:
                raise self._somebody_else(name)
            if chunk.keys - found.data.keys():
                raise JournalError(f"entries were removed from {name}", "What this run did is in the local journal.")
            return False

        chunk.version = self._patch(name, chunk.version, annotations, {key: text}, is_there)
        chunk.size, chunk.full = size, full
        chunk.keys.add(key)

    def _somebody_else(self, name: str) -> LockLost:
        self._leads = False
        head = self._maps.get(head_name(self._run))
        leader = head.data.get(LEADER, "") if head is not None else ""
        return _lost(f"another process writes to {name}", leader if leader != self._leader else "")

    # The head

    def _tell(self, phase: RunPhase, leader: str, before: str, more: Doc | None = None) -> None:
        """`previous_leader`: the leader as far as this process knows."""
        name = head_name(self._run)
        said = {**self._said(phase, self._maps.clock.now(), leader), **(more or {})}

        def is_there(found: ConfigMap) -> bool:
            led = found.data.get(LEADER, "")
            if led not in (before, leader):
                self._leads = False
                raise _lost(f"another process leads the run {self._run}", led)
            return all(found.data.get(key) == value for key, value in said.items())

        self._head_version = self._patch(name, self._head_version, {}, said, is_there)

    def _said(self, phase: RunPhase, now: datetime, leader: str = "") -> Doc:
        updated = now.isoformat(timespec="seconds").replace("+00:00", "Z")
        return {LEADER: leader or self._leader, PHASE: phase.value, UPDATED: updated}

    # Writes whose outcome is known at the end

    def _create(
        self, name: str, labels: Mapping[str, str], annotations: Doc, data: Doc, ours: Callable[[ConfigMap], bool]
    ) -> str | ConfigMap:
        """The resourceVersion of the new ConfigMap; or the existing one of another writer, for which `is_ours` is
        false."""
        sent, space = UNASKED, self._maps.namespace
        for pause in self._maps.tries.each(self._maps.clock):
            self._fence()
            sent = self._maps.create(name, labels, annotations, data)
            if sent.ok:
                return _version(sent)
            if sent.code == 404 and not self._head_version:  # no run was begun
                hint = f"Make it (kubectl create namespace {space}), or keep the journal in another one."
                raise UsageError(f"there is no namespace {space} to keep the journal of the run in", hint)
            self._maps.check(sent, "create configmaps", f"create {name}", pause.tried_s)
            if sent.code == 409 or sent.unknown:
                found = self._maps.get(name)
                if found is not None:
                    return found.version if ours(found) else found
            pause.after(sent)
        raise self._maps.failed(f"create {name}", sent)

    def _patch(
        self, name: str, version: str, annotations: Doc, data: Doc, is_there: Callable[[ConfigMap], bool]
    ) -> str:
        """The resourceVersion after the patch. Where the outcome is unknown, `is_there` judges the ConfigMap that is
        read then."""
        sent = UNASKED
        for pause in self._maps.tries.each(self._maps.clock):
            self._fence()
            sent = self._maps.patch(name, version, annotations, data)
            if sent.ok:
                return _version(sent)
            if sent.code == 404:
                raise gone(self._maps, self._run, name)
            self._maps.check(sent, "patch configmaps", f"patch {name}", pause.tried_s)
            if sent.code == 409 or sent.unknown:
                found = self._maps.get(name)
                if found is None:
                    raise gone(self._maps, self._run, name)
                version = found.version
                if is_there(found):
                    return version
            pause.after(sent)
        raise self._maps.failed(f"patch {name}", sent)


def _pieces(entries: Iterable[Entry], most: int) -> Iterator[str]:
    """The entries as texts of at most `max_bytes` each; a longer line is a text of its own."""
    piece: list[str] = []
    size = 0
    for entry in entries:
        text = line(entry)
        if piece and size + len(text) > most:
            yield "".join(piece)
            piece, size = [], 0
        piece.append(text)
        size += len(text)
    if piece:
        yield "".join(piece)


def _chunk(number: int, found: ConfigMap) -> _Chunk:
    size = sum(map(len, found.data.values()))
    return _Chunk(number, found.version, size, FULL in found.annotations, set(found.data))


def _version(sent: SentRequest) -> str:
    return str(at(sent.doc, "metadata", "resourceVersion") or "")


def _lost(what: str, holder: str) -> LockLost:
    who = f": {holder} leads it now" if holder else ""
    hint = "Nothing more is done from here. The process that leads now continues; kubectl eksdoc drain status shows it."
    return LockLost(f"{what}{who}", hint, holder)
