"""How far the requests of one probe came, as a whole: one word for each way it can go, and a clause for people."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kubectl_eksdoc.model.metadata import Ask, Seen, Step

OK, UNAUTHORIZED, FORBIDDEN = 200, 401, 403

_NO_CONNECTION = 7
"""Of curl's exit codes: a refusal, or no route; 28 is a timeout (man curl)."""


class Way(Enum):
    """What came of the three requests."""

    REACHED = "a token was issued, and the request with it"
    LOST = "no token came, a request without one was answered"
    SILENT = "nothing was answered"
    FORBIDDEN = "all was answered with 403"
    REFUSED = "the request for a token was answered with no token"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Outcome:
    """`said` in a clause. `v1`: what asks without a token is served; `broken`: the connection that asked for a token
    was ended by somebody, before its answer."""

    way: Way
    said: str
    v1: bool = False
    broken: bool = False


def outcome(seen: Seen) -> Outcome:
    v1, token, v2 = (seen.of(ask) for ask in (Ask.V1, Ask.TOKEN, Ask.V2))
    if v1 is None or token is None:
        return Outcome(Way.UNKNOWN, "the probe did not ask")
    served = v1.code == OK
    if token.code == OK:
        if v2 is not None and v2.code == OK:
            return Outcome(Way.REACHED, "a token is issued, and the request with it", served)
        return Outcome(Way.UNKNOWN, f"a token is issued, but the request with it {_ended(v2)}", served)
    if token.answered:
        return _no_token(v1, token, served)
    if v1.code in (OK, UNAUTHORIZED):
        return _lost(token, served)
    if v1.answered:
        return Outcome(
            Way.UNKNOWN, f"a request without a token is answered with {v1.code}, and for one {_ended(token)}"
        )
    return _silent(v1, token)


def _no_token(v1: Step, token: Step, served: bool) -> Outcome:
    if token.code == v1.code == FORBIDDEN:
        return Outcome(Way.FORBIDDEN, "every request is answered with 403")
    if token.code >= 500:
        return Outcome(Way.UNKNOWN, f"the request for a token is answered with {token.code}", served)
    return Outcome(Way.REFUSED, f"the request for a token is answered with {token.code}", served)


def _lost(token: Step, served: bool) -> Outcome:
    if not token.connected:
        said = "one request was answered, and for the next one no connection came about: ask again"
        return Outcome(Way.UNKNOWN, said, served)
    said = "no token comes, and a request without one is answered"
    return Outcome(Way.LOST, said, served, broken=token.exit != _TIMEOUT)


_TIMEOUT = 28


def _silent(v1: Step, token: Step) -> Outcome:
    if v1.connected != token.connected:
        return Outcome(
            Way.UNKNOWN, "one connection came about and the other did not, and nothing was answered: ask again"
        )
    if v1.connected:
        return Outcome(Way.SILENT, "connections come about, and nothing is answered")
    if v1.exit == token.exit == _NO_CONNECTION:
        return Outcome(Way.SILENT, "every connection is refused, or there is no route")
    return Outcome(Way.SILENT, "no connection comes about")


def _ended(step: Step | None) -> str:
    if step is None:
        return "was not asked"
    return f"is answered with {step.code}" if step.answered else "is not answered"
