"""The dataclass of this package: what is known of something, which nobody changes afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**of: Any) -> Any:
        """Only for type checkers; `typing` has it from Python 3.11 on."""
        return lambda decorator: decorator


T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(fact: type[T]) -> type[T]:
    """``@dataclass(frozen=True, slots=True)``."""
    return dataclass(frozen=True, slots=True)(fact)
