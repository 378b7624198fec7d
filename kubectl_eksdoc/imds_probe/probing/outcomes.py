"""How far the requests of one probe came, as a whole: one word for each way it can go, and a clause for people."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kubectl_eksdoc.model.metadata import Ask, FamilyAnswer, ProbeStep

OK, UNAUTHORIZED, FORBIDDEN = 200, 401, 403

_NO_CONNECTION = 7
"""Of curl's exit codes: a refusal, or no route; 28 is a timeout (man curl)."""


class RequestResult(Enum):
    """What came of the three requests."""

    REACHED = "a token was issued, and the request with it"
    LOST = "no token came, a request without one was answered"
    SILENT = "nothing was answered"
    FORBIDDEN = "all was answered with 403"
    REFUSED = "the request for a token was answered with no token"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class ProbeOutcome:
    """`said` in a clause. `v1`: what asks without a token is served; `broken`: the connection that asked for a token
    was ended by somebody, before its answer."""

    way: RequestResult
    said: str
    v1: bool = False
    broken: bool = False


def outcome(seen: FamilyAnswer) -> ProbeOutcome:
    v1, token, v2 = (seen.of(ask) for ask in (Ask.V1, Ask.TOKEN, Ask.V2))
    if v1 is None or token is None:
        return ProbeOutcome(RequestResult.UNKNOWN, "the probe did not ask")
    served = v1.code == OK
    if token.code == OK:
        if v2 is not None and v2.code == OK:
            return ProbeOutcome(RequestResult.REACHED, "a token is issued, and the request with it", served)
        return ProbeOutcome(RequestResult.UNKNOWN, f"a token is issued, but the request with it {_ended(v2)}", served)
    if token.answered:
        return _no_token(v1, token, served)
    if v1.code in (OK, UNAUTHORIZED):
        return _lost(token, served)
    if v1.answered:
        return ProbeOutcome(
            RequestResult.UNKNOWN, f"a request without a token is answered with {v1.code}, and for one {_ended(token)}"
        )
    return _silent(v1, token)


def _no_token(v1: ProbeStep, token: ProbeStep, served: bool) -> ProbeOutcome:
    if token.code == v1.code == FORBIDDEN:
        return ProbeOutcome(RequestResult.FORBIDDEN, "every request is answered with 403")
    if token.code >= 500:
        return ProbeOutcome(RequestResult.UNKNOWN, f"the request for a token is answered with {token.code}", served)
    return ProbeOutcome(RequestResult.REFUSED, f"the request for a token is answered with {token.code}", served)


def _lost(token: ProbeStep, served: bool) -> ProbeOutcome:
    if not token.connected:
        said = "one request was answered, and for the next one no connection came about: ask again"
        return ProbeOutcome(RequestResult.UNKNOWN, said, served)
    said = "no token comes, and a request without one is answered"
    return ProbeOutcome(RequestResult.LOST, said, served, broken=token.exit != _TIMEOUT)


_TIMEOUT = 28


def _silent(v1: ProbeStep, token: ProbeStep) -> ProbeOutcome:
    if v1.connected != token.connected:
        return ProbeOutcome(
            RequestResult.UNKNOWN,
            "one connection came about and the other did not, and nothing was answered: ask again",
        )
    if v1.connected:
        return ProbeOutcome(RequestResult.SILENT, "connections come about, and nothing is answered")
    if v1.exit == token.exit == _NO_CONNECTION:
        return ProbeOutcome(RequestResult.SILENT, "every connection is refused, or there is no route")
    return ProbeOutcome(RequestResult.SILENT, "no connection comes about")


def _ended(step: ProbeStep | None) -> str:
    if step is None:
        return "was not asked"
    return f"is answered with {step.code}" if step.answered else "is not answered"
