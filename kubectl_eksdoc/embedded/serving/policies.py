"""ValidatingAdmissionPolicies that are bound, and what they say of a request.

Source: apiserver pkg/admission/plugin/policy/validating/{dispatcher,validator}.go; texts as a 1.36 server
answered them. Not modelled: parameters, match conditions, selectors of namespaces and objects, audit and warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.rules.api.statuses import Cause, Details, Refusal, Status
from kubectl_eksdoc.core.sim.cluster.store import Item, Store
from kubectl_eksdoc.embedded.serving import expressions
from kubectl_eksdoc.embedded.serving.expressions import Fails
from kubectl_eksdoc.embedded.serving.targets import Target

_GROUP = "admissionregistration.k8s.io"
POLICIES = f"validatingadmissionpolicies.{_GROUP}"
BINDINGS = f"validatingadmissionpolicybindings.{_GROUP}"

_CODES = {"Unauthorized": 401, "Forbidden": 403, "Invalid": 422, "RequestEntityTooLarge": 413}

Holds = Callable[[str, Mapping[str, Doc | None]], bool]
"""Whether an expression (in CEL) holds for the variables of a request.

Raises:
    Fails: it cannot be evaluated.
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """`operation`: CREATE, UPDATE or DELETE; `doc` None: of a deletion."""

    operation: str
    target: Target
    name: str
    doc: Doc | None
    before: Doc | None = None


class Policies:
    """Those of one cluster. `holds` evaluates expressions; without another one, the few forms that are known here."""

    def __init__(self, store: Store, holds: Holds = expressions.holds) -> None:
        self._store = store
        self._holds = holds

    def check(self, asked: Asked) -> None:
        """
        Raises:
            Refusal: a bound policy denies it.
        """
        for binding in self._store.list(BINDINGS):
            if "Deny" not in (at(binding.doc, "spec", "validationActions") or ()):
                continue
            policy = self._store.get(POLICIES, ("", str(at(binding.doc, "spec", "policyName"))))
            if policy is not None and _matches(policy.doc, asked):
                self._apply(policy, binding, asked)

    def _apply(self, policy: Item, binding: Item, asked: Asked) -> None:
        for reason, why in self._denials(policy.doc, asked):
            text = f"ValidatingAdmissionPolicy '{policy.key[1]}' with binding '{binding.key[1]}' denied request: {why}"
            raise _denied(asked, reason, text)

    def _denials(self, policy: Doc, asked: Asked) -> Iterator[tuple[str, str]]:
        """Reason and text of each validation that does not hold."""
        variables = {"object": asked.doc, "oldObject": asked.before}
        for validation in at(policy, "spec", "validations") or ():
            expression = str(validation.get("expression") or "")
            try:
                if not self._holds(expression, variables):
                    text = validation.get("message") or f"failed expression: {expression.strip()}"
                    yield str(validation.get("reason") or "Invalid"), str(text)
            except Fails as fails:
                if at(policy, "spec", "failurePolicy") != "Ignore":
                    yield "Invalid", f"expression '{expression}' resulted in error: {fails}"


def _denied(asked: Asked, reason: str, text: str) -> Refusal:
    served = asked.target.served
    subject = f'{asked.target.resource} "{asked.name}"'
    details = Details(asked.name, served.group, served.plural, causes=(Cause("", text),))
    return Refusal(Status(_CODES.get(reason, 422), reason, f"{subject} is forbidden: {text}", details))


def _matches(policy: Doc, asked: Asked) -> bool:
    served = asked.target.served
    resource = served.plural + (f"/{asked.target.subresource}" if asked.target.subresource else "")
    return any(
        _one_of(asked.operation, rule.get("operations"))
        and _one_of(served.group, rule.get("apiGroups"))
        and _one_of(served.version, rule.get("apiVersions"))
        and _of_resources(resource, rule.get("resources"))
        for rule in at(policy, "spec", "matchConstraints", "resourceRules") or ()
    )


def _one_of(word: str, words: Iterable[str] | None) -> bool:
    return any(each in ("*", word) for each in words or ())


def _of_resources(resource: str, words: Iterable[str] | None) -> bool:
    """``pods`` is no subresource, ``pods/*`` every one of them and ``*/eviction`` that of every kind."""
    plural, _, subresource = resource.partition("/")
    matching = {resource, f"{plural}/*", f"*/{subresource}", "*/*"} if subresource else {plural, "*", "*/*"}
    return any(each in matching for each in words or ())
