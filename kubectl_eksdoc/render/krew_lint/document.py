"""A plugin that was held to krew's rules as one plain document, as KrewLint.json says. No cluster is in it."""

from __future__ import annotations

from kubectl_eksdoc.core.model.documents import API_VERSION, KREW_LINT
from kubectl_eksdoc.core.plan.krew_lint.judging import JudgedPlatform
from kubectl_eksdoc.render.document import Fields, finding, known, strings
from kubectl_eksdoc.render.encode import plain_value
from kubectl_eksdoc.render.krew_lint.view import KrewLintView


def document(view: KrewLintView) -> Fields:
    """The same files are the same document."""
    lint = view.lint
    return {
        "apiVersion": API_VERSION,
        "kind": KREW_LINT,
        "metadata": {
            "toolVersion": view.tool_version,
            "options": {key: plain_value(view.options[key]) for key in sorted(view.options)},
        },
        "file": view.path,
        "plugin": {"name": known(lint.manifest.name), "version": known(lint.manifest.version)},
        "verdict": view.verdict,
        "link": known(lint.link),
        "platforms": [_platform(each) for each in lint.platforms],
        "findings": [finding(each) for each in lint.findings],
    }


def _platform(each: JudgedPlatform) -> Fields:
    return {
        "number": each.number,
        "machines": strings(map(str, each.machines)),
        "uri": known(each.uri),
        "bin": known(each.bin),
        "archive": known(each.archive),
    }
