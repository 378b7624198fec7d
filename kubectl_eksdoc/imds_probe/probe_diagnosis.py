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

from kubectl_eksdoc.amazon.metadata_service import ImdsReach
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.metadata import AddressFamily, FamilyAnswer, ImdsRequest, ProbeReport, ProbeStep

# Result of a probe's requests: one enum member for each outcome, with a clause for users.


OK, UNAUTHORIZED, FORBIDDEN = 200, 401, 403

_NO_CONNECTION = 7
"""Exit codes of curl: 7 for a refused connection or no route, 28 for a timeout (man curl)."""


class RequestResult(Enum):
    """Result of the three requests."""

    REACHED = "a token was issued, and the request with it"
    TOKEN_LOST = "no token came, a request without one was answered"
    NO_ANSWER = "nothing was answered"
    FORBIDDEN = "all was answered with 403"
    REFUSED = "the request for a token was answered with no token"
    UNKNOWN = "not known"


@frozen
class ProbeOutcome:
    """`description`: a clause. `is_v1_served`: a request without a token gets the metadata; `is_connection_closed`: the
    connection of the token request was closed before an answer."""

    result: RequestResult
    description: str
    is_v1_served: bool = False
    is_connection_closed: bool = False


def classify_answers(answers: FamilyAnswer) -> ProbeOutcome:
    v1, token, v2 = (answers.step(ask) for ask in (ImdsRequest.V1, ImdsRequest.TOKEN, ImdsRequest.V2))
    if v1 is None or token is None:
        return ProbeOutcome(RequestResult.UNKNOWN, "the probe did not ask")
    is_v1_served = v1.code == OK
    if token.code == OK:
        if v2 is not None and v2.code == OK:
            return ProbeOutcome(RequestResult.REACHED, "a token is issued, and the request with it", is_v1_served)
        return ProbeOutcome(
            RequestResult.UNKNOWN, f"a token is issued, but the request with it {_answer_text(v2)}", is_v1_served
        )
    if token.answered:
        if token.code == v1.code == FORBIDDEN:
            return ProbeOutcome(RequestResult.FORBIDDEN, "every request is answered with 403")
        if token.code >= 500:
            return ProbeOutcome(
                RequestResult.UNKNOWN, f"the request for a token is answered with {token.code}", is_v1_served
            )
        return ProbeOutcome(
            RequestResult.REFUSED, f"the request for a token is answered with {token.code}", is_v1_served
        )
    if v1.code in (OK, UNAUTHORIZED):
        if not token.connected:
            description = "one request was answered, and for the next one no connection came about: ask again"
            return ProbeOutcome(RequestResult.UNKNOWN, description, is_v1_served)
        description = "no token comes, and a request without one is answered"
        return ProbeOutcome(
            RequestResult.TOKEN_LOST, description, is_v1_served, is_connection_closed=token.exit != _TIMEOUT
        )
    if v1.answered:
        return ProbeOutcome(
            RequestResult.UNKNOWN,
            f"a request without a token is answered with {v1.code}, and for one {_answer_text(token)}",
        )
    if v1.connected != token.connected:
        return ProbeOutcome(
            RequestResult.UNKNOWN,
            "one connection came about and the other did not, and nothing was answered: ask again",
        )
    if v1.connected:
        return ProbeOutcome(RequestResult.NO_ANSWER, "connections come about, and nothing is answered")
    if v1.exit == token.exit == _NO_CONNECTION:
        return ProbeOutcome(RequestResult.NO_ANSWER, "every connection is refused, or there is no route")
    return ProbeOutcome(RequestResult.NO_ANSWER, "no connection comes about")


_TIMEOUT = 28


def _answer_text(step: ProbeStep | None) -> str:
    if step is None:
        return "was not asked"
    return f"is answered with {step.code}" if step.answered else "is not answered"


class ImdsCause(str, Enum):
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

    reach: ImdsReach
    cause: ImdsCause
    why: str
    doubt: str = ""


ProbeAnswers = ProbeReport | Unknown

_HOP_LIMIT_TEXT = (
    "likely the hop limit is too low for pods: the answer that carries the token is lost on its way, other answers are "
    "not"
)
_EC2_CAVEATS = {
    ImdsCause.HOP_LIMIT: "if it says that the hop limit is 3 or more, something else loses that answer",
    ImdsCause.DISABLED: "if it says that the endpoint is enabled, something else answers with 403",
}
"""EC2 facts that would contradict the diagnosis: the probe asks only the metadata service."""
_POD_NETWORK_TEXT = "a policy, a rule or a route of the pod's network is in the way"
_NODE_NOT_PROBED = "the node itself was not asked"


def diagnose(
    pod_answers: ProbeAnswers, host_answers: ProbeAnswers, family: AddressFamily = AddressFamily.V4
) -> ProbeDiagnosis:
    """Diagnose the answers to a pod in the pod network, `pod_answers`, and to one in the host network,
    `host_answers`."""
    if isinstance(pod_answers, Unknown):
        return ProbeDiagnosis(ImdsReach.UNKNOWN, ImdsCause.UNKNOWN, pod_answers.why)
    pod_outcome = classify_answers(pod_answers.answer(family))
    host_outcome = (
        ProbeOutcome(RequestResult.UNKNOWN, host_answers.why)
        if isinstance(host_answers, Unknown)
        else classify_answers(host_answers.answer(family))
    )
    result = _DIAGNOSES[pod_outcome.result](pod_outcome, host_outcome)
    doubts = [result.doubt]
    if result.cause in _EC2_CAVEATS:
        doubts.append(f"EC2 was not asked, the command without --active does that: {_EC2_CAVEATS[result.cause]}")
    pod_instance, host_instance = (
        pod_answers.answer(family).instance,
        "" if isinstance(host_answers, Unknown) else host_answers.answer(family).instance,
    )
    if pod_instance and host_instance and pod_instance != host_instance:
        doubts.append(
            f"the pod reported {pod_instance} and the node {host_instance}: another server answers one of them"
        )
    return replace(result, doubt="; ".join(filter(None, doubts)))


def _diagnose_reached(pod_outcome: ProbeOutcome, host_outcome: ProbeOutcome) -> ProbeDiagnosis:
    return ProbeDiagnosis(ImdsReach.REACHABLE, ImdsCause.NONE, "a token is issued, and the request with it")


def _diagnose_token_lost(pod_outcome: ProbeOutcome, host_outcome: ProbeOutcome) -> ProbeDiagnosis:
    """The PUT got no answer, the GET without a token got one."""
    reach = ImdsReach.V1_ONLY if pod_outcome.is_v1_served else ImdsReach.UNREACHABLE
    if host_outcome.result is RequestResult.TOKEN_LOST:
        reason = "not even the node itself gets a token, which no hop limit does"
        return ProbeDiagnosis(reach, ImdsCause.UNKNOWN, reason)
    doubts = []
    if host_outcome.result is RequestResult.UNKNOWN:
        doubts.append(_node_answer_text(host_outcome))
    elif host_outcome.result is not RequestResult.REACHED:
        doubts.append(f"on the node itself {host_outcome.description}")
    if pod_outcome.is_connection_closed:
        doubts.append("the connection was broken off and not silent, as a proxy would do it, too")
    return ProbeDiagnosis(reach, ImdsCause.HOP_LIMIT, _HOP_LIMIT_TEXT, "; ".join(doubts))


def _diagnose_no_answer(pod_outcome: ProbeOutcome, host_outcome: ProbeOutcome) -> ProbeDiagnosis:
    """No request got an answer. The hop limit cannot cause that: it does not limit the response to a GET."""
    if host_outcome.result in (RequestResult.REACHED, RequestResult.TOKEN_LOST):
        reason = f"{pod_outcome.description}, and the node itself is answered: {_POD_NETWORK_TEXT}"
        return ProbeDiagnosis(ImdsReach.UNREACHABLE, ImdsCause.BLOCKED, reason)
    if host_outcome.result is RequestResult.NO_ANSWER:
        reason = f"{pod_outcome.description}, and on the node itself {host_outcome.description}"
        return ProbeDiagnosis(
            ImdsReach.UNREACHABLE, ImdsCause.NODE, reason, "a rule on the node, or no service there at all"
        )
    if host_outcome.result is RequestResult.FORBIDDEN:
        reason = "the endpoint is likely disabled: the node itself is answered with 403"
        return ProbeDiagnosis(
            ImdsReach.UNREACHABLE, ImdsCause.DISABLED, reason, f"and also, from the pod {pod_outcome.description}"
        )
    reason = f"{pod_outcome.description}, which no hop limit does"
    return ProbeDiagnosis(ImdsReach.UNREACHABLE, ImdsCause.UNKNOWN, reason, _node_answer_text(host_outcome))


def _diagnose_forbidden(pod_outcome: ProbeOutcome, host_outcome: ProbeOutcome) -> ProbeDiagnosis:
    if host_outcome.result is RequestResult.FORBIDDEN:
        return ProbeDiagnosis(
            ImdsReach.UNREACHABLE,
            ImdsCause.DISABLED,
            "the endpoint is likely disabled: everything is answered with 403",
        )
    if host_outcome.result is RequestResult.REACHED:
        reason = "every request is answered with 403, and not so on the node itself: something in between does that"
        return ProbeDiagnosis(ImdsReach.UNREACHABLE, ImdsCause.IN_BETWEEN, reason)
    reason = "every request is answered with 403: the endpoint is likely disabled"
    return ProbeDiagnosis(
        ImdsReach.UNREACHABLE, ImdsCause.DISABLED, reason, f"or a proxy does that: {_node_answer_text(host_outcome)}"
    )


def _diagnose_refused(pod_outcome: ProbeOutcome, host_outcome: ProbeOutcome) -> ProbeDiagnosis:
    """The PUT was answered without a token."""
    reach = ImdsReach.V1_ONLY if pod_outcome.is_v1_served else ImdsReach.UNREACHABLE
    if host_outcome.result is RequestResult.REACHED:
        return ProbeDiagnosis(
            reach, ImdsCause.IN_BETWEEN, f"{pod_outcome.description}, and on the node itself it is given"
        )
    return ProbeDiagnosis(
        ImdsReach.UNKNOWN, ImdsCause.UNKNOWN, pod_outcome.description, _node_answer_text(host_outcome)
    )


def _diagnose_unknown(pod_outcome: ProbeOutcome, host_outcome: ProbeOutcome) -> ProbeDiagnosis:
    return ProbeDiagnosis(ImdsReach.UNKNOWN, ImdsCause.UNKNOWN, pod_outcome.description)


_DIAGNOSES = {
    RequestResult.REACHED: _diagnose_reached,
    RequestResult.TOKEN_LOST: _diagnose_token_lost,
    RequestResult.NO_ANSWER: _diagnose_no_answer,
    RequestResult.FORBIDDEN: _diagnose_forbidden,
    RequestResult.REFUSED: _diagnose_refused,
    RequestResult.UNKNOWN: _diagnose_unknown,
}


def _node_answer_text(host_outcome: ProbeOutcome) -> str:
    return (
        f"{_NODE_NOT_PROBED} ({host_outcome.description})"
        if host_outcome.result is RequestResult.UNKNOWN
        else f"on the node itself {host_outcome.description}"
    )
