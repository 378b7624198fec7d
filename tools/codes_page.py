"""docs/codes.md: every finding code, from the registry itself."""

from __future__ import annotations

from kubectl_eksdoc.model.codes import Code

_HEAD = """\
# Finding codes

<!-- Generated from kubectl_eksdoc/knowledge/findings.json by `make docs`. -->

A code names a question that was judged. Its finding has a status: *fail* stops the drain or the update, *pass* is
worth knowing and stops nothing, *unknown* could not be judged because something was not read. `--accept-unknown
CODE,…` says which codes may stay unknown. The kinds are those without which the answer is unknown.
"""


def page() -> str:
    parts = [_HEAD]
    for code in sorted(Code.every(), key=lambda c: c.name):
        needs = ", ".join(f"`{resource.full_name}`" for resource in code.needs)
        parts.append(f"## {code.name}\n\n**{code.title}.** {code.about}\n")
        if needs:
            parts.append(f"Reads: {needs}.\n")
    return "\n".join(parts)
