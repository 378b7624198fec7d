"""What every object has: metadata, and conditions that are listed by type (apimachinery/pkg/apis/meta/v1)."""

from __future__ import annotations

from kubectl_eksdoc.kubernetes.api.places import MERGED_SET, WHOLE, Place, by, fields, owned_by

METADATA = fields(finalizers=MERGED_SET, ownerReferences=by("uid", items=WHOLE))

CONDITIONS = by("type")
STATUS = fields(conditions=CONDITIONS)
STATUS_REPLACED = fields(conditions=owned_by("type"))
"""For the kinds whose conditions have no patch strategy."""


def kind(**named: Place) -> Place:
    """An object with metadata, of which `named` fields are not plain."""
    return fields(metadata=METADATA, **named)
