"""What a Terraform plan says of the configuration it was made of: which providers, and which modules are called.

Nothing is judged by it alone, so what is of another form than Terraform writes is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubectl_eksdoc.model.terraform import ModuleCall, ProviderConstraint


def constraints(configuration: Any) -> tuple[ProviderConstraint, ...]:
    """Of hashicorp/aws, by module; the root's is "". Keys are ``aws`` and ``module.eks:aws``."""
    found = []
    for key, said in _object(_object(configuration).get("provider_config")).items():
        if _object(said).get("name") == "aws":
            source, version = _text(said.get("full_name")), _text(said.get("version_constraint"))
            module = _text(said.get("module_address")) or key.rpartition(":")[0]
            path = ".".join(module.removeprefix("module.").split(".module."))
            found.append(ProviderConstraint(path, source, version))
    return tuple(sorted(found, key=lambda each: (each.module, each.source, each.version)))


def modules(configuration: Any) -> tuple[ModuleCall, ...]:
    """All that are called, by path."""
    return tuple(sorted(_calls(_object(configuration).get("root_module"), ""), key=lambda each: each.path))


def _calls(module: Any, below: str) -> Iterator[ModuleCall]:
    waiting = [(module, below)]
    while waiting:
        said, path = waiting.pop()
        for name, call in _object(_object(said).get("module_calls")).items():
            inner = f"{path}.{name}" if path else name
            source, version = (_text(_object(call).get(key)) for key in ("source", "version_constraint"))
            given = tuple(sorted(_object(_object(call).get("expressions"))))
            yield ModuleCall(inner, source, version, given)
            waiting.append((_object(call).get("module"), inner))


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
