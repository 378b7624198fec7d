"""Diagnosis of a probe's answers: whether pods reach the metadata service, and the cause if they do not.

The pod in the pod network measures the reach. The cause is concluded from three rules:

- The hop limit applies only to the response that carries the token (EC2 user guide, "Use the Instance Metadata
  Service": "the response to PUT requests has a response hop limit (time to live)"). If it is too low, connections
  succeed, and a request without a token is answered with 200 or 401, while the PUT gets no answer
  (DataDog/datadog-agent #55269: the PUT hangs until its timeout, the GET returns 401 in less than 10 ms).
- A disabled endpoint answers every request with 403 (AWS re:Post, "How can I troubleshoot instance metadata issues on
  my EC2 Linux instance?"; ansible/ansible #68098). A PUT with X-Forwarded-For, which a proxy adds, gets 403, too (EC2
  user guide): the answer to the node itself tells the two apart.
- Without any answer, packets are dropped. Whether the pod network or the node drops them, only the node's own answer
  tells.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from kubectl_eksdoc.amazon.metadata_service import Reach
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.metadata import AddressFamily, Ask, FamilyAnswer, ProbeReport, ProbeStep

# Result of a probe's requests: one enum member for each outcome, with a clause for users.


OK, UNAUTHORIZED, FORBIDDEN = 200, 401, 403

_NO_CONNECTION = 7
"""Exit codes of curl: 7 for a refused connection or no route, 28 for a timeout (man curl)."""


class RequestResult(Enum):
    """Result of the three requests."""

    REACHED = "a token was issued, and the request with it"
    LOST = "no token came, a request without one was answered"
    SILENT = "nothing was answered"
    FORBIDDEN = "all was answered with 403"
    REFUSED = "the request for a token was answered with no token"
    UNKNOWN = "not known"


@frozen
class ProbeOutcome:
    """`description`: a clause. `is_v1_served`: a request without a token gets the metadata; `is_connection_closed`: the
    connection of the token request was closed before an answer."""

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
        if token.code == v1.code == FORBIDDEN:
            return ProbeOutcome(RequestResult.FORBIDDEN, "every request is answered with 403")
        if token.code >= 500:
            return ProbeOutcome(RequestResult.UNKNOWN, f"the request for a token is answered with {token.code}", served)
        return ProbeOutcome(RequestResult.REFUSED, f"the request for a token is answered with {token.code}", served)
    if v1.code in (OK, UNAUTHORIZED):
        if not token.connected:
            said = "one request was answered, and for the next one no connection came about: ask again"
            return ProbeOutcome(RequestResult.UNKNOWN, said, served)
        said = "no token comes, and a request without one is answered"
        return ProbeOutcome(RequestResult.LOST, said, served, broken=token.exit != _TIMEOUT)
    if v1.answered:
        return ProbeOutcome(
            RequestResult.UNKNOWN, f"a request without a token is answered with {v1.code}, and for one {_ended(token)}"
        )
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


_TIMEOUT = 28


def _ended(step: ProbeStep | None) -> str:
    if step is None:
        return "was not asked"
    return f"is answered with {step.code}" if step.answered else "is not answered"


class Cause(str, Enum):
    """Why pods cannot reach the service, or only in part; `NONE`: they reach it."""

    NONE = "none"
    HOP_LIMIT = "hop limit"  # likely: the response with the token is dropped on its way to the pod
    BLOCKED = "blocked"  # between the pod and its node: a network policy, a rule, a route
    NODE = "node"  # the node itself gets no answer either
    DISABLED = "disabled"  # likely: the endpoint is disabled
    IN_BETWEEN = "in between"  # another server answers, or changes requests: a proxy, a service mesh
    UNKNOWN = "unknown"


@frozen
class ProbeDiagnosis:
    """`why`: a clause; `doubt`: contrary or missing evidence, "" for none."""

    reach: Reach
    cause: Cause
    why: str
    doubt: str = ""


Answers = ProbeReport | Unknown

_LIMITED = (
    "likely the hop limit is too low for pods: the answer that carries the token is lost on its way, other answers are "
    "not"
)
_UNLESS = {
    Cause.HOP_LIMIT: "if it says that the hop limit is 3 or more, something else loses that answer",
    Cause.DISABLED: "if it says that the endpoint is enabled, something else answers with 403",
}
"""EC2 facts that would contradict the diagnosis: the probe asks only the metadata service."""
_IN_THE_WAY = "a policy, a rule or a route of the pod's network is in the way"
_NOT_ON_NODE = "the node itself was not asked"


def diagnosis(own: Answers, host: Answers, family: AddressFamily = AddressFamily.V4) -> ProbeDiagnosis:
    """Diagnose the answers to a pod in the pod network, `pod_answers`, and to one in the host network,
    `host_answers`."""
    if isinstance(own, Unknown):
        return ProbeDiagnosis(Reach.UNKNOWN, Cause.UNKNOWN, own.why)
    here = outcome(own.of(family))
    there = ProbeOutcome(RequestResult.UNKNOWN, host.why) if isinstance(host, Unknown) else outcome(host.of(family))
    found = _DECIDED[here.way](here, there)
    doubts = [found.doubt]
    if found.cause in _UNLESS:
        doubts.append(f"EC2 was not asked, the command without --active does that: {_UNLESS[found.cause]}")
    told, theirs = own.of(family).instance, "" if isinstance(host, Unknown) else host.of(family).instance
    if told and theirs and told != theirs:
        doubts.append(f"the pod reported {told} and the node {theirs}: another server answers one of them")
    return replace(found, doubt="; ".join(filter(None, doubts)))


def _reached(here: ProbeOutcome, there: ProbeOutcome) -> ProbeDiagnosis:
    return ProbeDiagnosis(Reach.REACHABLE, Cause.NONE, "a token is issued, and the request with it")


def _diagnosis_lost(here: ProbeOutcome, there: ProbeOutcome) -> ProbeDiagnosis:
    """The PUT got no answer, the GET without a token got one."""
    reach = Reach.V1_ONLY if here.v1 else Reach.CUT_OFF
    if there.way is RequestResult.LOST:
        why = "not even the node itself gets a token, which no hop limit does"
        return ProbeDiagnosis(reach, Cause.UNKNOWN, why)
    doubts = []
    if there.way is RequestResult.UNKNOWN:
        doubts.append(_not_on_node(there))
    elif there.way is not RequestResult.REACHED:
        doubts.append(f"on the node itself {there.said}")
    if here.broken:
        doubts.append("the connection was broken off and not silent, as a proxy would do it, too")
    return ProbeDiagnosis(reach, Cause.HOP_LIMIT, _LIMITED, "; ".join(doubts))


def _diagnosis_silent(here: ProbeOutcome, there: ProbeOutcome) -> ProbeDiagnosis:
    """No request got an answer. The hop limit cannot cause that: it does not limit the response to a GET."""
    if there.way in (RequestResult.REACHED, RequestResult.LOST):
        why = f"{here.said}, and the node itself is answered: {_IN_THE_WAY}"
        return ProbeDiagnosis(Reach.CUT_OFF, Cause.BLOCKED, why)
    if there.way is RequestResult.SILENT:
        why = f"{here.said}, and on the node itself {there.said}"
        return ProbeDiagnosis(Reach.CUT_OFF, Cause.NODE, why, "a rule on the node, or no service there at all")
    if there.way is RequestResult.FORBIDDEN:
        why = "the endpoint is likely disabled: the node itself is answered with 403"
        return ProbeDiagnosis(Reach.CUT_OFF, Cause.DISABLED, why, f"and also, from the pod {here.said}")
    why = f"{here.said}, which no hop limit does"
    return ProbeDiagnosis(Reach.CUT_OFF, Cause.UNKNOWN, why, _not_on_node(there))


def _forbidden(here: ProbeOutcome, there: ProbeOutcome) -> ProbeDiagnosis:
    if there.way is RequestResult.FORBIDDEN:
        return ProbeDiagnosis(
            Reach.CUT_OFF, Cause.DISABLED, "the endpoint is likely disabled: everything is answered with 403"
        )
    if there.way is RequestResult.REACHED:
        why = "every request is answered with 403, and not so on the node itself: something in between does that"
        return ProbeDiagnosis(Reach.CUT_OFF, Cause.IN_BETWEEN, why)
    why = "every request is answered with 403: the endpoint is likely disabled"
    return ProbeDiagnosis(Reach.CUT_OFF, Cause.DISABLED, why, f"or a proxy does that: {_not_on_node(there)}")


def _refused(here: ProbeOutcome, there: ProbeOutcome) -> ProbeDiagnosis:
    """The PUT was answered without a token."""
    reach = Reach.V1_ONLY if here.v1 else Reach.CUT_OFF
    if there.way is RequestResult.REACHED:
        return ProbeDiagnosis(reach, Cause.IN_BETWEEN, f"{here.said}, and on the node itself it is given")
    return ProbeDiagnosis(Reach.UNKNOWN, Cause.UNKNOWN, here.said, _not_on_node(there))


def _odd(here: ProbeOutcome, there: ProbeOutcome) -> ProbeDiagnosis:
    return ProbeDiagnosis(Reach.UNKNOWN, Cause.UNKNOWN, here.said)


_DECIDED = {
    RequestResult.REACHED: _reached,
    RequestResult.LOST: _diagnosis_lost,
    RequestResult.SILENT: _diagnosis_silent,
    RequestResult.FORBIDDEN: _forbidden,
    RequestResult.REFUSED: _refused,
    RequestResult.UNKNOWN: _odd,
}


def _not_on_node(there: ProbeOutcome) -> str:
    return (
        f"{_NOT_ON_NODE} ({there.said})" if there.way is RequestResult.UNKNOWN else f"on the node itself {there.said}"
    )
