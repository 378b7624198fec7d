"""APIs that Kubernetes stops serving on the way: who asks for them, and what is written in them."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.amazon.upgrades.removed_apis import unread
from kubectl_eksdoc.amazon.upgrades.sourced import in_words
from kubectl_eksdoc.check.areas import Area, Gate
from kubectl_eksdoc.check.checking import Judge, UpgradeCheck, cluster_of, unknown
from kubectl_eksdoc.check.checks import api_manifests, api_objects, api_requests
from kubectl_eksdoc.check.facts import CheckFacts
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.check_needs import CheckNeed
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.findings import Finding


def _to_the_end(code: Code, judge: Judge) -> Judge:
    """With it said where the table of removed APIs ends before the way does."""

    def judged(facts: CheckFacts) -> Iterator[Finding]:
        yield from judge(facts)
        beyond = unread(facts.way.target) if facts.way.steps else None
        if beyond is not None and (code is not Code.of("api-in-manifest") or facts.api.manifests):
            yield unknown(code, cluster_of(facts), f"which APIs {in_words(facts.way.target)} does not serve", beyond)

    return judged


def _on_the_way(code: Code, judge: Judge, need: CheckNeed) -> UpgradeCheck:
    return UpgradeCheck((code,), Area.APIS, Gate.BEFORE_CONTROL_PLANE, _to_the_end(code, judge), needs=(need,))


def _today(code: Code, judge: Judge, need: CheckNeed) -> UpgradeCheck:
    """Of custom resources their definitions tell what is served."""
    return UpgradeCheck((code,), Area.APIS, None, judge, (kinds.DEFINITIONS,), (need,))


CHECKS = (
    _on_the_way(Code.of("api-requested"), api_requests.judge, CheckNeed.API_REQUESTS),
    _on_the_way(Code.of("api-written"), api_objects.judge, CheckNeed.API_WRITTEN),
    _on_the_way(Code.of("api-in-helm"), api_manifests.judge_releases, CheckNeed.HELM),
    _on_the_way(Code.of("api-in-manifest"), api_manifests.judge_files, CheckNeed.MANIFESTS),
    # What is refused today is so with or without an upgrade.
    UpgradeCheck(
        (Code.of("api-refused-today"),), Area.APIS, None, api_objects.judge_refused, needs=(CheckNeed.API_GONE,)
    ),
    _today(Code.of("api-in-helm"), api_manifests.judge_releases_today, CheckNeed.HELM),
    _today(Code.of("api-in-manifest"), api_manifests.judge_files_today, CheckNeed.MANIFESTS),
)
