"""docs/codes.md: every finding code, from the registry itself."""

from __future__ import annotations

from kubectl_eksdoc.check.registry import ALL
from kubectl_eksdoc.model.codes import Code

_HEAD = """\
# Finding codes

<!-- Generated from kubectl_eksdoc/knowledge/findings.json by `make docs`. -->

A code names a question that was judged. Its finding has a status: *fail* stops the drain or the update, *pass* is
worth knowing and stops nothing, *unknown* could not be judged because something was not read. `--accept-unknown
CODE,…` says which codes may stay unknown. An unknown finding names what could not be read. Codes of `check` have their
area and the step that waits for them.
"""


def page() -> str:
    places = {check.codes[0]: f" ({check.area.value}{f', {check.gate.value}' if check.gate else ''})" for check in ALL}
    parts = [_HEAD]
    for code in sorted(Code.every(), key=lambda c: c.name):
        parts.append(f"## {code.name}\n\n{code.title}{places.get(code, '')}.\n")
    return "\n".join(parts)
