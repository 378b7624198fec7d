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
from kubectl_eksdoc.kubernetes.schedules import parsed
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.journal import Entries, HeldLock, RunPhase, RunStarted, RunSummary, is_run_id
from kubectl_eksdoc.objects.journal_lines import read_lines

from .lock import Lock
from .requests import (
    JSON,
    MANAGER,
    MERGE_PATCH,
    UNASKED,
    Clock,
    RequestSender,
    RetryLimits,
    SentRequest,
    refused,
)

# ConfigMaps of one namespace: reads are retried until they are answered, writes are sent once.


@frozen
class ConfigMap:
    """`version` is its resourceVersion."""

    name: str
    uid: str
    version: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    data: Mapping[str, str] = field(repr=False)


class ConfigMaps:
    def __init__(
        self,
        sender: RequestSender,
        namespace: str,
        clock: Clock,
        tries: RetryLimits = RetryLimits(),
        fence: Callable[[], object] = lambda: None,
        refused_s: float = 0.0,
    ) -> None:
        """`fence` is called before each try to read; its errors are passed on. `refused_s`: how long a refusal of
        credentials or permissions is retried before it is believed."""
        self.namespace = namespace
        self.clock = clock
        self.tries = tries
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
        sent = self._read(f"{self._path}/{name}", {}, "get configmaps")
        return None if sent.code == 404 else config_map(sent.doc)

    def find(self, selector: str) -> Sequence[ConfigMap]:
        """The ConfigMaps with these labels, all of one moment. Raises: as `get`."""
        sent = self._read(self._path, {"labelSelector": selector}, "list configmaps")
        items = sent.doc.get("items", "") if sent.ok else None
        if not (items is None or isinstance(items, list)) or at(sent.doc, "metadata", "continue"):
            raise self.unread("list configmaps", sent)
        return [config_map(item) for item in items or ()]

    def create(self, name: str, labels: Mapping[str, str], annotations: Mapping[str, str], data: Doc) -> SentRequest:
        meta = {"name": name, "namespace": self.namespace, "labels": dict(labels), "annotations": dict(annotations)}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}
        return self._sender.send("POST", self._path, MANAGER, body, JSON)

    def patch(self, name: str, version: str, annotations: Mapping[str, str], data: Doc) -> SentRequest:
        """Refused with 409 where the ConfigMap has another resourceVersion."""
        meta: Doc = {"resourceVersion": version}
        if annotations:
            meta["annotations"] = dict(annotations)
        body = {"metadata": meta, "data": data}
        return self._sender.send("PATCH", f"{self._path}/{name}", MANAGER, body, MERGE_PATCH)

    def delete(self, name: str, uid: str) -> None:
        """Delete exactly this ConfigMap; one that is gone already is fine. Raises: as `get`."""
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid}}
        path, right = f"{self._path}/{name}", "delete configmaps"
        # 409: another ConfigMap has this name by now.
        send = partial(self._sender.send, "DELETE", path, {}, body, JSON)
        sent = self.until(send, right, f"delete {name}", (404, 409))
        if not sent.ok and sent.code not in (404, 409):
            raise self.failed(f"delete {name}", sent)

    def until(
        self, send: Callable[[], SentRequest], right: str, what: str, also: Sequence[int] = (404,)
    ) -> SentRequest:
        """The first final response: a success, or one with a code of `accepted_codes`; the last response where none is
        final.

        Raises: as `check_response`.
        """
        sent = UNASKED
        for pause in self.tries.each(self.clock):
            sent = send()
            if sent.ok or sent.code in also:
                break
            self.check(sent, right, what, pause.tried_s)
            pause.after(sent)
        return sent

    def check(self, sent: SentRequest, right: str, what: str, tried_s: float) -> None:
        """`elapsed_s`: time since the first try.

        Raises:
            Unauthorized, Forbidden, JournalError: a retry would not change this response.
        """
        if error := refused(sent, right, self.namespace):
            if tried_s >= self._refused_s:
                raise error
            return
        if not sent.unknown and sent.code not in (409, 429):
            raise self.failed(what, sent)

    def unread(self, what: str, sent: SentRequest) -> JournalError:
        return JournalError(
            f"the journal of runs in namespace {self.namespace} cannot be read: to {what}, {sent.told}",
            "When the cluster answers again, resume the run.",
        )

    def failed(self, what: str, sent: SentRequest) -> JournalError:
        return JournalError(
            f"the journal of the run cannot be kept in namespace {self.namespace}: to {what}, {sent.told}",
            "Nothing is done that is not written down first. When the cluster answers again, resume the run.",
        )

    def _read(self, path: str, query: Mapping[str, str], right: str) -> SentRequest:
        def ask() -> SentRequest:
            self._fence()
            return self._sender.send("GET", path, query, None)

        sent = self.until(ask, right, right)
        if sent.ok or sent.code == 404:
            return sent
        raise self.unread(right, sent)


def config_map(doc: Doc) -> ConfigMap:
    """The ConfigMap of a server's document, which other clients may have changed: values that are not texts become
    texts."""
    data = _texts(at(doc, "data"))
    labels, annotations = _texts(at(doc, "metadata", "labels")), _texts(at(doc, "metadata", "annotations"))
    name, uid, version = (str(at(doc, "metadata", key) or "") for key in ("name", "uid", "resourceVersion"))
    return ConfigMap(name, uid, version, labels, annotations, data)


def _texts(found: object) -> Mapping[str, str]:
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


RUN_LABEL, PART_LABEL = "eksdoc.io/run", "eksdoc.io/part"
HEAD, ENTRIES = "head", "entries"
FULL = "eksdoc.io/full"
"""The annotation of a chunk that is full: a writer creates the next chunk, and only one writer can."""

BEGUN, LEADER, PHASE, UPDATED, SAID = "begun", "leader", "phase", "updated", "said"
WANTED, WANTED_BY = "wanted", "wantedBy"
"""The request of a user on another machine to the leader: a value of `RunPhase`, and the user."""

_CHUNK = re.compile(r"-([0-9]{3,9})")
_BATCH = re.compile(r"([0-9]{6,12})\..*")


@frozen
class StoredRun:
    """`chunks` in their order; `entries` of all of them, the head's first."""

    head: ConfigMap
    chunks: tuple[ConfigMap, ...]
    entries: Entries

    @property
    def leader(self) -> str:
        return self.head.data.get(LEADER, "")

    @property
    def batches(self) -> int:
        """The number of the next batch."""
        return max((place + 1 for chunk in self.chunks for place in map(_place, chunk.data)), default=0)


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


def labels_of(run: str, part: str) -> Mapping[str, str]:
    return {RUN_LABEL: run, PART_LABEL: part, "app.kubernetes.io/managed-by": "eksdoc"}


def read_run(maps: ConfigMaps, run: str) -> StoredRun:
    """The run with all of its entries.

    Raises:
        UsageError: there is no such run.
        JournalError, Unauthorized, Forbidden: it cannot be read.
    """
    name = head_name(run)
    found = maps.find(f"{RUN_LABEL}={run}")
    head = next((each for each in found if each.name == name), None)
    if head is None:
        raise _no_run(maps, run)
    numbered = [each for each in found if chunk_number(name, each) is not None]
    chunks = sorted(numbered, key=lambda each: chunk_number(name, each) or 0)
    reads = list(_reads(name, head, chunks))
    entries = tuple(entry for read in reads for entry in read.entries)
    return StoredRun(head, tuple(chunks), Entries(entries, tuple(why for read in reads for why in read.dropped)))


def list_runs(maps: ConfigMaps) -> tuple[RunSummary, ...]:
    """Every run in the namespace, the latest first. Raises: as `read_run`."""
    heads = maps.find(f"{PART_LABEL}={HEAD}")
    found = [_summary(each) for each in heads if each.name == f"eksdoc-run-{each.labels.get(RUN_LABEL, '')}"]
    return tuple(sorted(found, key=lambda each: (each.begun is not None, each.begun, each.run), reverse=True))


def ask_run(maps: ConfigMaps, run: str, wanted: RunPhase, who: str) -> None:
    """Ask the leader of a run to pause, continue or abort it; the last request counts.

    Raises:
        UsageError: there is no such run.
        JournalError, Unauthorized, Forbidden
    """
    name, asked = head_name(run), {WANTED: wanted.value, WANTED_BY: who}
    sent = maps.until(lambda: maps.patch(name, "", {}, asked), "patch configmaps", f"patch {name}")
    if sent.code == 404:
        raise _no_run(maps, run)
    if not sent.ok:
        raise maps.failed(f"patch {name}", sent)


def remove_run(maps: ConfigMaps, run: str) -> None:
    """Delete all ConfigMaps of a run, the head last: a run whose removal was interrupted is still listed and can be
    removed.

    Raises: as `read_run`.
    """
    stored = read_run(maps, run)
    for each in (*stored.chunks, stored.head):
        maps.delete(each.name, each.uid)


def chunk_number(head: str, found: ConfigMap) -> int | None:
    match = _CHUNK.fullmatch(found.name.removeprefix(head)) if found.name.startswith(head) else None
    return int(match[1]) if match else None


def _reads(name: str, head: ConfigMap, chunks: Sequence[ConfigMap]) -> Iterator[Entries]:
    if BEGUN not in head.data:
        yield Entries(dropped=(f"{name} does not say how the run began",))
    yield _lines(head, BEGUN)
    last = chunk_number(name, chunks[-1]) if chunks else None
    there = {chunk_number(name, chunk) for chunk in chunks}
    for number in range(last or 0):
        if number not in there:
            yield Entries(dropped=(f"{name}-{number:03d} is missing",))
    for chunk in chunks:
        for key in sorted(chunk.data, key=lambda each: (_place(each), each)):
            yield _lines(chunk, key)


def _lines(of: ConfigMap, key: str) -> Entries:
    return read_lines(of.data.get(key, "").encode("utf-8", "replace"), f"{of.name}, {key}")


def _place(key: str) -> int:
    """The number of a batch; -1 for a key that is not of this tool: it comes first, and its lines are read too."""
    match = _BATCH.fullmatch(key)
    return int(match[1]) if match else -1


def _summary(head: ConfigMap) -> RunSummary:
    begun = next((each for each in _lines(head, BEGUN).entries if isinstance(each, RunStarted)), None)
    updated = parsed(head.data.get(UPDATED, ""))
    data, run = head.data, head.labels[RUN_LABEL]
    phase, leader, said, wanted, by = (data.get(key, "") for key in (PHASE, LEADER, SAID, WANTED, WANTED_BY))
    return RunSummary(run, begun.at if begun else None, phase, leader, updated, said, wanted, by)


def _no_run(maps: ConfigMaps, run: str) -> UsageError:
    hint = "Was its journal kept in another namespace? Runs are listed by: kubectl eksdoc drain status"
    return UsageError(f"there is no run {run} in namespace {maps.namespace}", hint)


def gone(maps: ConfigMaps, run: str, name: str) -> JournalError:
    """The error for the missing part `name`, or for a run that is missing altogether. Raises: as `ConfigMaps.get`."""
    what = f"the journal {name} is not in the cluster any more"
    done = "It was deleted. What was done stays done, and nothing more is done from here."
    if name != head_name(run) and maps.get(head_name(run)) is not None:
        return JournalError(what, f"{done} The rest of the run's journal is there.")
    return JournalGone(what, f"{done} The nodes that were changed carry notes of what they were.")


# The port `ports.RunStore`: all runs of a cluster, for processes that do not lead them.


Told = TypeVar("Told")


PATIENCE = RetryLimits(patience_s=6.0)
"""A user waits for the answer."""


class StoredRuns:
    def __init__(self, maps: ConfigMaps, lock: Lock) -> None:
        self._maps = maps
        self._lock = lock

    def all(self) -> Sequence[RunSummary]:
        return self._asked(lambda: list_runs(self._maps))

    def entries(self, run: str) -> Entries:
        return self._asked(lambda: read_run(self._maps, run).entries)

    def ask(self, run: str, wanted: RunPhase, who: str) -> None:
        self._asked(lambda: ask_run(self._maps, run, wanted, who))

    def remove(self, run: str) -> None:
        self._asked(lambda: remove_run(self._maps, run))

    def _asked(self, ask: Callable[[], Told]) -> Told:
        """A JournalError would be about the journal of a run that is under way; here it means that the cluster does not
        answer."""
        try:
            return ask()
        except JournalError as error:
            raise Unreachable(error.message, "Nothing was changed. Try again.") from error

    def lock(self) -> HeldLock:
        return self._lock.look()


# Requests of other users to a run: a thread of its own polls the head, so that the run does not wait for it.


LOOK_S = 3.0


class WishListener:
    """Used as ``with RunRequestListener(…) as listener: … listener.requested``. `maps` is used in another thread."""

    def __init__(self, maps: ConfigMaps, run: str, look_s: float = LOOK_S) -> None:
        self._maps = maps
        self._name = head_name(run)
        self._look_s = look_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="asked of the run", daemon=True)
        self.wanted: tuple[str, str] = ("", "")
        """A value of `RunPhase`, and the requesting user; two empty texts while there is no request."""

    def __enter__(self) -> WishListener:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()  # the thread is not joined: an answer may take long

    def _look(self) -> None:
        while not self._over.wait(self._look_s):
            try:
                head = self._maps.get(self._name)
            except EksdocError:
                continue  # the leader gets the same error when it writes
            if head is not None:
                self.wanted = head.data.get(WANTED, ""), head.data.get(WANTED_BY, "")
