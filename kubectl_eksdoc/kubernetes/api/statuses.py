"""The API server's answers that are no object: Status documents, and the refusals that make them.

Source: apimachinery pkg/api/errors/errors.go; the texts and details as a 1.36 server answered them
(tests/data/recordings, tests/embedded/contract).
"""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.kinds import Resource


@frozen
class StatusCause:
    """`where` is the field, "" without one."""

    reason: str
    message: str
    where: str = ""

    def doc(self) -> Doc:
        made = {"reason": self.reason, "message": self.message, "field": self.where}
        return {key: value for key, value in made.items() if value}


@frozen
class Details:
    """`kind` is mostly the resource's plural, as the server has it. `retry_after_s` 0: none."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after_s: int = 0

    def doc(self) -> Doc:
        causes = [cause.doc() for cause in self.causes]
        made = {"name": self.name, "group": self.group, "kind": self.kind, "uid": self.uid}
        made |= {"causes": causes, "retryAfterSeconds": self.retry_after_s}  # type: ignore[dict-item]
        return {key: value for key, value in made.items() if value}


@frozen
class ApiStatus:
    """`details` None: the document has none; empty ones are printed as ``{}``."""

    code: int
    reason: str = ""
    message: str = ""
    details: Details | None = None

    @property
    def ok(self) -> bool:
        return self.code < 400

    def doc(self) -> Doc:
        made: Doc = {"kind": "Status", "apiVersion": "v1", "metadata": {}}
        made["status"] = "Success" if self.ok else "Failure"
        if self.message:
            made["message"] = self.message
        if self.reason:
            made["reason"] = self.reason
        if self.details is not None:
            made["details"] = self.details.doc()
        return {**made, "code": self.code}


@frozen
class LostAnswer:
    """No answer, or no whole one: what was asked for may have been done or not."""

    said: str


class ApiRefusal(Exception):
    """A request that is answered with a failure; nothing was changed."""

    def __init__(self, status: ApiStatus) -> None:
        super().__init__(f"{status.code} {status.reason}: {status.message}")
        self.status = status


def not_found(of: Resource, name: str) -> ApiRefusal:
    return _of(404, "NotFound", f'{of.full_name} "{name}" not found', of, name)


def already_exists(of: Resource, name: str) -> ApiRefusal:
    return _of(409, "AlreadyExists", f'{of.full_name} "{name}" already exists', of, name)


def modified(of: Resource, name: str) -> ApiRefusal:
    """Somebody else wrote in between (an optimistic lock that did not hold)."""
    text = "the object has been modified; please apply your changes to the latest version and try again"
    return _of(409, "Conflict", f'Operation cannot be fulfilled on {of.full_name} "{name}": {text}', of, name)


def precondition_failed(of: Resource, name: str, what: str, asked: str, there: str) -> ApiRefusal:
    """`what`: ``UID`` or ``ResourceVersion``. Named by kind, not by resource: the storage layer knows no more."""
    happened = "deleted and then recreated" if what == "UID" else "modified"
    said = f"the {what} in the precondition ({asked}) does not match the {what} in record ({there})"
    text = f'Operation cannot be fulfilled on {of.kind} "{name}": {said}. The object might have been {happened}'
    return ApiRefusal(ApiStatus(409, "Conflict", text, Details(name, "", of.kind)))


def terminating(of: Resource, name: str, namespace: str) -> ApiRefusal:
    """Nothing new in a namespace that is being deleted; evictions are something new."""
    text = f"unable to create new content in namespace {namespace} because it is being terminated"
    cause = StatusCause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
    return forbidden(of, name, text, (cause,))


def forbidden(of: Resource, name: str, why: str, causes: Sequence[StatusCause] = ()) -> ApiRefusal:
    subject = f'{of.full_name} "{name}"' if name else of.full_name
    details = Details(name, of.group, of.plural, causes=tuple(causes))
    return ApiRefusal(ApiStatus(403, "Forbidden", f"{subject} is forbidden: {why}", details))


def invalid(of: Resource, name: str, causes: Sequence[StatusCause]) -> ApiRefusal:
    """What validation says of an object: one cause for each field."""
    said = [f"{cause.where}: {cause.message}" for cause in causes]
    text = said[0] if len(said) == 1 else f"[{', '.join(said)}]"
    kind = f"{of.kind}.{of.group}" if of.group else of.kind
    details = Details(name, of.group, of.kind, causes=tuple(causes))
    return ApiRefusal(ApiStatus(422, "Invalid", f'{kind} "{name}" is invalid: {text}', details))


def bad_request(message: str) -> ApiRefusal:
    return ApiRefusal(ApiStatus(400, "BadRequest", message))


def expired(message: str) -> ApiRefusal:
    return ApiRefusal(ApiStatus(410, "Expired", message))


def _of(code: int, reason: str, message: str, of: Resource, name: str) -> ApiRefusal:
    return ApiRefusal(ApiStatus(code, reason, message, Details(name, of.group, of.plural)))
