"""The decorator of facts and decisions: a dataclass that nobody changes, with slots."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

    _T = TypeVar("_T")

    @dataclass_transform(frozen_default=True, field_specifiers=(field,))
    def frozen(cls: type[_T]) -> type[_T]: ...
else:
    frozen = dataclass(frozen=True, slots=True)
