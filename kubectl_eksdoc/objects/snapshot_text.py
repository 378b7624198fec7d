"""What a snapshot says of itself, as the JSON in it, and back."""

from __future__ import annotations

from typing import Any

import msgspec

from kubectl_eksdoc.core.model.cluster import Source
from kubectl_eksdoc.core.model.snapshots import FORMAT, Scene, Snapshot

KIND = "SnapshotManifest"


class BadManifest(ValueError):
    """The text says nothing of a snapshot; the message says why."""


class NewerFormat(BadManifest):
    """A newer tool wrote it."""


def written(snapshot: Snapshot) -> bytes:
    scenes = {name: msgspec.to_builtins(scene) for name, scene in snapshot.scenes.items()}
    body = {
        "apiVersion": "eksdoc.io/v1alpha1",
        "kind": KIND,
        "format": FORMAT,
        "tool": snapshot.tool,
        "source": snapshot.source.value,
        "scenes": scenes,
    }
    return msgspec.json.format(msgspec.json.encode(body), indent=1)


def read(text: bytes) -> Snapshot:
    """
    Raises:
        NewerFormat: as it says.
        BadManifest: it is something else.
    """
    try:
        body = msgspec.json.decode(text)
        if body["kind"] != KIND:
            raise BadManifest(f"it is {str(body['kind'])[:80]!r}")
        if body["format"] != FORMAT:
            raise NewerFormat(f"it is of format {str(body['format'])[:20]}, and this tool reads {FORMAT}")
        scenes = {name: _scene(each) for name, each in body["scenes"].items()}
        if "" not in scenes:
            raise BadManifest("it has no scene that all commands see")
        return Snapshot(str(body["tool"]), Source(body["source"]), scenes)
    except BadManifest:
        raise
    except (msgspec.MsgspecError, KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise BadManifest(f"{type(error).__name__}: {error}") from error


def _scene(given: Any) -> Scene:
    return msgspec.convert(given, Scene)
