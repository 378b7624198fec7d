"""Who creates a role must have its rights already, in the same scope, or the verb escalate.

Bindings are let through: whoever binds a role here has created it. Source: pkg/registry/rbac/{clusterrole,role}/
policybased/storage.go and pkg/registry/rbac/validation (ConfirmNoEscalation, CompactString: the text).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.rules.api.statuses import Details, Refusal, Status
from kubectl_eksdoc.embedded.serving.access import Action, User

GROUP = "rbac.authorization.k8s.io"
ROLES = (f"roles.{GROUP}", f"clusterroles.{GROUP}")


def check(user: User, plural: str, namespace: str, role: Doc) -> None:
    """`plural`: of roles or of cluster roles.

    Raises:
        Refusal: 403, in the server's words, with the rules that the user does not have.
    """
    if _has(user, Action("escalate", GROUP, plural, namespace=namespace)):
        return
    lacking = [text for text, action in _granted(role, namespace) if not _has(user, action)]
    if not lacking:
        return
    name = str((role.get("metadata") or {}).get("name", ""))
    asks = f'user "{user.name}" (groups=["system:authenticated"])'
    text = f"{asks} is attempting to grant RBAC permissions not currently held:\n" + "\n".join(lacking)
    said = f'{plural}.{GROUP} "{name}" is forbidden: {text}'
    raise Refusal(Status(403, "Forbidden", said, Details(name, GROUP, plural)))


def _has(user: User, action: Action) -> bool:
    return any(rule.allows(action) for rule in user.rules)


def _granted(role: Doc, namespace: str) -> Iterator[tuple[str, Action]]:
    """Each right by itself, as the server writes it, and what it lets do."""
    for rule in role.get("rules") or ():
        for verb in rule.get("verbs") or ():
            for path in rule.get("nonResourceURLs") or ():
                yield f"{{NonResourceURLs:{_quoted([path])}, Verbs:{_quoted([verb])}}}", Action(verb, path=path)
            for group in rule.get("apiGroups") or ():
                for named in rule.get("resources") or ():
                    resource, _, subresource = named.partition("/")
                    text = f"{{APIGroups:{_quoted([group])}, Resources:{_quoted([named])}, Verbs:{_quoted([verb])}}}"
                    yield text, Action(verb, group, resource, subresource, namespace)


def _quoted(words: Sequence[str]) -> str:
    """As Go's %q writes a slice."""
    return "[" + " ".join(f'"{word}"' for word in words) + "]"
