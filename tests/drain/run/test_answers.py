"""The interpretation of each answer to an eviction: answers that a real API server gave, and rare ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from kubectl_eksdoc.drain.run.answers import (
    CONFLICT_RETRY_S,
    FORBIDDEN_RETRY_S,
    SLOW_RETRY_S,
    FollowUp,
    ResponseMeaning,
    RunTrouble,
    interpret_eviction,
)
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse, StatusCause, StatusDetails
from kubectl_eksdoc.kubernetes.evictions import SEVERAL_BUDGETS
from tests.raw_facts import Raw, lines


def status(code: int, said: str = "", *causes: StatusCause, kind: str = "pods", retry_s: int = 0) -> ApiStatus:
    return ApiStatus(code, "", said, StatusDetails("p", "", kind, causes=causes, retry_after_s=retry_s))


def of_document(doc: Raw) -> ApiStatus:
    details = doc.get("details") or {}
    causes = tuple(StatusCause(each.get("reason", ""), each.get("message", "")) for each in details.get("causes") or ())
    made = StatusDetails(kind=details.get("kind", ""), causes=causes, retry_after_s=details.get("retryAfterSeconds", 0))
    return ApiStatus(doc.get("code", 201), doc.get("reason", ""), doc.get("message", ""), made)


def recorded() -> Iterator[ApiStatus]:
    """Every answer to an eviction among the recorded exchanges."""
    for each in lines("recordings/exchanges.jsonl.gz"):
        if each["request"]["method"] == "POST" and "/eviction" in each["request"]["path"]:
            yield of_document(each["response"]["body"])


DISRUPTION = "DisruptionBudget"
NOT_ACCEPTED = "the server does not accept the credentials: Unauthorized"
WEBHOOK = 'Internal error occurred: failed calling webhook "w": no endpoints'

TABLE = [
    (status(201), ResponseMeaning(FollowUp.ACCEPTED)),
    (status(200), ResponseMeaning(FollowUp.ACCEPTED)),
    (
        status(401, "Unauthorized"),
        ResponseMeaning(FollowUp.RETRY, RunTrouble.CREDENTIALS, FORBIDDEN_RETRY_S, NOT_ACCEPTED),
    ),
    (status(400, "name in URL"), ResponseMeaning(FollowUp.NEVER, RunTrouble.REQUEST, 0.0, "name in URL")),
    (status(422, "grace"), ResponseMeaning(FollowUp.NEVER, RunTrouble.REQUEST, 0.0, "grace")),
    (
        status(403, "it is being terminated", StatusCause("NamespaceTerminating", "")),
        ResponseMeaning(FollowUp.RETRY, RunTrouble.NAMESPACE, 5.0, "it is being terminated"),
    ),
    (
        status(403, "pdb disruptions allowed is negative"),
        ResponseMeaning(FollowUp.RETRY, RunTrouble.BUDGET_BEHIND, SLOW_RETRY_S, "pdb disruptions allowed is negative"),
    ),
    (
        status(403, 'admission webhook "no.example" denied the request: never'),
        ResponseMeaning(
            FollowUp.RETRY, RunTrouble.DENIED, SLOW_RETRY_S, 'admission webhook "no.example" denied the request: never'
        ),
    ),
    (
        status(403, 'pods "p" is forbidden: User "v" cannot create resource'),
        ResponseMeaning(
            FollowUp.RETRY,
            RunTrouble.RIGHT,
            FORBIDDEN_RETRY_S,
            'pods "p" is forbidden: User "v" cannot create resource',
        ),
    ),
    (status(403, "a proxy's no"), ResponseMeaning(FollowUp.RETRY, RunTrouble.DENIED, SLOW_RETRY_S, "a proxy's no")),
    (status(404, "gone"), ResponseMeaning(FollowUp.GONE, message="gone")),
    (
        status(404, "no budget", kind="poddisruptionbudgets"),
        ResponseMeaning(FollowUp.RETRY, RunTrouble.CONTENTION, 0.0, "no budget"),
    ),
    (
        status(409, "Precondition failed: the UID in the precondition (a) does not match"),
        ResponseMeaning(FollowUp.GONE, message="Precondition failed: the UID in the precondition (a) does not match"),
    ),
    (status(409, "modified"), ResponseMeaning(FollowUp.RETRY, RunTrouble.CONTENTION, CONFLICT_RETRY_S, "modified")),
    (
        status(429, "no", StatusCause(DISRUPTION, "needs 2")),
        ResponseMeaning(FollowUp.BUDGET, RunTrouble.BUDGET, 0.0, "needs 2"),
    ),
    (
        status(429, "no", StatusCause(DISRUPTION, "processed"), retry_s=10),
        ResponseMeaning(FollowUp.BUDGET, RunTrouble.BUDGET_BEHIND, 10.0, "processed"),
    ),
    (status(429, "too many", retry_s=7), ResponseMeaning(FollowUp.RETRY, RunTrouble.THROTTLED, 7.0, "too many")),
    (status(429, "too many"), ResponseMeaning(FollowUp.RETRY, RunTrouble.THROTTLED, CONFLICT_RETRY_S, "too many")),
    (
        status(429, 'admission webhook "virt" denied the request: migrating'),
        ResponseMeaning(
            FollowUp.RETRY, RunTrouble.DENIED, 5.0, 'admission webhook "virt" denied the request: migrating'
        ),
    ),
    (status(500, SEVERAL_BUDGETS), ResponseMeaning(FollowUp.NEVER, RunTrouble.SEVERAL_BUDGETS, 0.0, SEVERAL_BUDGETS)),
    (status(500, WEBHOOK), ResponseMeaning(FollowUp.RETRY, RunTrouble.WEBHOOK_DOWN, SLOW_RETRY_S, WEBHOOK)),
    (
        status(500, "leader changed"),
        ResponseMeaning(FollowUp.CHECK, RunTrouble.SERVER, CONFLICT_RETRY_S, "leader changed"),
    ),
    (status(503, "busy", retry_s=3), ResponseMeaning(FollowUp.CHECK, RunTrouble.SERVER, 3.0, "busy")),
    (status(504, "late"), ResponseMeaning(FollowUp.CHECK, RunTrouble.SERVER, CONFLICT_RETRY_S, "late")),
]


@pytest.mark.parametrize(
    ("answer", "reading"), TABLE, ids=lambda each: f"{each.code}" if isinstance(each, ApiStatus) else ""
)
def test_every_answer_has_its_reading(answer: ApiStatus, reading: ResponseMeaning) -> None:
    assert interpret_eviction(answer) == reading


def test_without_an_answer_nobody_knows() -> None:
    assert interpret_eviction(LostResponse("connection reset")) == ResponseMeaning(
        FollowUp.CHECK, RunTrouble.SERVER, CONFLICT_RETRY_S, "connection reset"
    )


@pytest.mark.parametrize("code", [400, 401, 403, 404, 409, 422, 429, 500, 503])
def test_a_webhook_denies_with_any_code(code: int) -> None:
    """No such answer means that the pod is gone or that the eviction may have succeeded."""
    reading = interpret_eviction(status(code, 'admission webhook "no.example.com" denied the request: not found'))
    assert (reading.follow_up, reading.trouble) == (FollowUp.RETRY, RunTrouble.DENIED)


def test_no_code_is_without_a_reading() -> None:
    wrong = []
    for code in range(200, 600):
        reading = interpret_eviction(ApiStatus(code, "", "?"))
        if (reading.follow_up is FollowUp.ACCEPTED, reading.follow_up is FollowUp.CHECK) != (code < 300, code >= 500):
            wrong.append((code, reading))
    assert wrong == []


def of_step(step: Raw) -> ApiStatus:
    """An answer in the form of the recorded oracle."""
    causes = tuple(StatusCause(each["reason"], each["message"]) for each in step["causes"] or ())
    retry_s = int(step["retryAfter"] or 0)
    return ApiStatus(
        step["code"], step["reason"] or "", step["message"] or "", StatusDetails(causes=causes, retry_after_s=retry_s)
    )


def test_answers_of_a_real_server() -> None:
    seen = Counter(
        (answer.code, interpret_eviction(answer).follow_up, interpret_eviction(answer).trouble) for answer in recorded()
    )
    assert seen == {
        (201, FollowUp.ACCEPTED, RunTrouble.NONE): 8,
        (400, FollowUp.NEVER, RunTrouble.REQUEST): 1,
        (403, FollowUp.RETRY, RunTrouble.DENIED): 1,
        (403, FollowUp.RETRY, RunTrouble.NAMESPACE): 4,
        (403, FollowUp.RETRY, RunTrouble.RIGHT): 1,
        (404, FollowUp.GONE, RunTrouble.NONE): 1,
        (409, FollowUp.GONE, RunTrouble.NONE): 1,
        (422, FollowUp.RETRY, RunTrouble.DENIED): 5,
        (429, FollowUp.BUDGET, RunTrouble.BUDGET): 5,
        (429, FollowUp.BUDGET, RunTrouble.BUDGET_BEHIND): 2,
        (500, FollowUp.NEVER, RunTrouble.SEVERAL_BUDGETS): 1,
    }


def test_answers_of_the_oracle() -> None:
    """About a thousand answers, from every rule of the eviction endpoint."""
    seen = Counter(
        (step["code"], interpret_eviction(of_step(step)).follow_up, interpret_eviction(of_step(step)).trouble)
        for world in lines("recordings/eviction-oracle.jsonl.gz")
        for step in world["steps"]
    )
    assert seen == {
        (201, FollowUp.ACCEPTED, RunTrouble.NONE): 541,
        (404, FollowUp.GONE, RunTrouble.NONE): 6,
        (429, FollowUp.BUDGET, RunTrouble.BUDGET): 358,
        (429, FollowUp.BUDGET, RunTrouble.BUDGET_BEHIND): 6,
        (500, FollowUp.NEVER, RunTrouble.SEVERAL_BUDGETS): 68,
    }
