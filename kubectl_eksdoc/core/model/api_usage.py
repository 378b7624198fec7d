"""Which API versions clients and manifests use, as far as the API server and what is stored in it tell."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ApiTold:
    """Each answer, or why there is none."""
