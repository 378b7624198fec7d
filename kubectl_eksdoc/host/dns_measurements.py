"""What ``coredns-lameduck --measure`` found out about propagation, one file for each CoreDNS, in the state folder.

What cannot be read, is damaged or of another version is as if it were not there.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from datetime import timezone

from kubectl_eksdoc.errors import LocalJournalError
from kubectl_eksdoc.host.cache import CacheFiles
from kubectl_eksdoc.host.documents import DocumentFields
from kubectl_eksdoc.host.journals import state_folder
from kubectl_eksdoc.model.coredns import Propagation

VERSION = 1
_MOST, _LARGEST = 200, 4096


def measured(uid: str, context: str, environ: Mapping[str, str]) -> Propagation | None:
    """Of the CoreDNS whose Deployment has this `uid`, reached by this `context`; None where nothing is known.
    The context tells a rehearsal from the cluster of its snapshot: both have the same uids."""
    files = _files(environ)
    content = files.of(_key(uid, context)) if uid and files is not None else None
    return None if content is None else _read(content)


def keep(uid: str, context: str, found: Propagation, environ: Mapping[str, str]) -> None:
    """What cannot be written is not kept. A loss is not forgotten for a run that lost nothing in the same time."""
    files, before = _files(environ), measured(uid, context, environ)
    if before is not None and before.lost and not found.lost and found.seconds <= before.seconds:
        return
    if uid and files is not None and found.measured_at is not None:
        document = {
            "version": VERSION,
            "seconds": found.seconds,
            "nodes": found.nodes,
            "lost": int(found.lost),
            "measuredAt": found.measured_at.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        files.keep(_key(uid, context), json.dumps(document).encode())


def _files(environ: Mapping[str, str]) -> CacheFiles | None:
    try:
        folder = state_folder(environ, environ.get("HOME") or os.path.expanduser("~"))
    except LocalJournalError:
        return None
    return CacheFiles(folder / "dns-measurements", ".json", _MOST, _LARGEST)


def _key(uid: str, context: str) -> str:
    return hashlib.sha256(f"{uid} {context}".encode()).hexdigest()


def _read(content: bytes) -> Propagation | None:
    try:
        document: object = json.loads(content)
        fields = DocumentFields(document if isinstance(document, dict) else {})
        if fields.whole("version") != VERSION:
            return None
        return Propagation(
            fields.whole("seconds"), fields.whole("nodes"), fields.moment("measuredAt"), bool(fields.whole("lost"))
        )
    except (ValueError, RecursionError):  # ValueError: not JSON, or Unfit
        return None
