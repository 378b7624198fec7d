"""What is shown of a plugin that was held to krew's rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc import __version__
from kubectl_eksdoc.core.model.findings import Status
from kubectl_eksdoc.core.plan.krew_lint.judging import KrewLint
from kubectl_eksdoc.render.text import counted


@dataclass(frozen=True, slots=True)
class KrewLintView:
    """`path`: the manifest, as it was named; `options` as they were given."""

    lint: KrewLint
    path: str
    options: Mapping[str, object]
    tool_version: str = __version__

    @property
    def verdict(self) -> str:
        """In a sentence, without its full stop."""
        manifest, findings = self.lint.manifest, self.lint.findings
        failing = sum(each.status is Status.FAIL for each in findings)
        asked = len(findings) - failing
        what = f"{counted(failing, 'thing')} to mend" if failing else "krew takes it"
        more = f", {counted(asked, 'remark')} as reviewers make them" if asked else ""
        return f"{manifest.name or self.path} {manifest.version}".rstrip() + f": {what}{more}"
