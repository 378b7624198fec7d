"""One object at a time: documents to bytes, bytes to the fact, for whoever holds objects that change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.objects.structs import RawError

encode: Callable[[Any], bytes] = msgspec.json.encode
"""A document as the bytes of its JSON, keys in the order they have."""


class NoJson(ValueError):
    """It is no JSON: or none that an object can be made of, as text with half a character in it."""


class NoSuchObject(ValueError):
    """An object that is none of its kind."""


def decode(raw: bytes) -> Any:
    """
    Raises:
        NoJson: the message says where.
    """
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise NoJson(str(error)) from error


def document(raw: bytes | memoryview) -> Doc | None:
    """The object of an answer or a dump; None where it is none, which whoever makes facts of it says."""
    try:
        found = decode(bytes(raw))
    except NoJson:
        return None
    return found if isinstance(found, dict) else None


class FactDecoder:
    """Turns the objects of the catalogue's kinds into facts, sharing what they have in common."""

    def __init__(self) -> None:
        # Imported late: documents alone must not pay for the forms of all kinds.
        from kubectl_eksdoc.objects.karpenter import BY_RESOURCE
        from kubectl_eksdoc.objects.sharing import SharedTexts

        self._share, self._kinds = SharedTexts(), BY_RESOURCE
        self._decoders: dict[Resource, Callable[[bytes], Any]] = {
            resource: msgspec.json.Decoder(kind.form).decode for resource, kind in BY_RESOURCE.items()
        }

    def fact(self, resource: Resource, raw: bytes) -> Any:
        """The fact of one object, which has a name and a uid.

        Raises:
            NoSuchObject: it is none of `resource`; the message says where it differs.
        """
        try:
            return self._kinds[resource].project(self._decoders[resource](raw), self._share)
        except (msgspec.MsgspecError, RawError) as error:
            raise NoSuchObject(str(error)) from error
