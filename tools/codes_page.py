"""docs/codes.md: every finding code, from the registry itself."""

from __future__ import annotations

from kubectl_eksdoc.core.model import (
    addon_codes,
    addon_past_codes,
    check_codes,
    codes,
    dns_change_codes,
    dns_codes,
    dns_measure_codes,
    interruption_codes,
    metadata_codes,
    metadata_probe_codes,
)

EVERY = (
    *codes.ALL,
    *addon_codes.ALL,
    *addon_past_codes.ALL,
    *metadata_codes.ALL,
    *metadata_probe_codes.ALL,
    *dns_codes.ALL,
    *dns_change_codes.ALL,
    *dns_measure_codes.ALL,
    *interruption_codes.ALL,
    *check_codes.ALL,
)
"""All codes of the tool."""

_HEAD = """\
# Finding codes

<!-- Generated from kubectl_eksdoc/core/model/codes.py and what is called *_codes beside it by `make docs`. -->

A code names a question that was judged. Its finding has a status: *fail* stops the drain or the update, *pass* is
worth knowing and stops nothing, *unknown* could not be judged because something was not read. `--accept-unknown
CODE,…` says which codes may stay unknown. The kinds are those without which the answer is unknown.
"""


def page() -> str:
    parts = [_HEAD]
    for code in sorted(EVERY, key=lambda c: c.name):
        needs = ", ".join(f"`{resource.full_name}`" for resource in code.needs)
        parts.append(f"## {code.name}\n\n**{code.title}.** {code.about}\n")
        if needs:
            parts.append(f"Reads: {needs}.\n")
    return "\n".join(parts)
