"""docs/codes.md: every finding code, from the registry."""

from __future__ import annotations

from collections import defaultdict

from kubectl_eksdoc.check.registry import ALL_CHECKS
from kubectl_eksdoc.model.findings import Code

_HEAD = """\
# Finding codes

<!-- Generated from kubectl_eksdoc/knowledge/findings.json by `make docs`. -->

A finding has a code and a status: *fail* stops the drain or the update, *pass* stops nothing, *unknown* could not be
judged and names what was not read. `--accept-unknown CODE,…` accepts codes as unknown. In brackets: the step of `check`
that waits for the code.
"""


def page() -> str:
    gates: dict[Code, list[str]] = defaultdict(list)
    for check in ALL_CHECKS:
        for code in set(check.codes).intersection(Code.of_areas("check")):
            gates[code] += [check.gate.value] if check.gate else []
    places = {code: f" ({', '.join(dict.fromkeys(found))})" for code, found in gates.items() if found}
    parts = [_HEAD]
    for code in sorted(Code.all_codes(), key=lambda c: c.name):
        parts.append(f"## {code.name}\n\n{code.title}{places.get(code, '')}.\n")
    return "\n".join(parts)
