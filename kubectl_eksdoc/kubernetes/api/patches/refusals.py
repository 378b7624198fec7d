"""Why a patch is not applied, as the API server answers it.

Source: applyJSPatch, applyPatchToObject and interpretStrategicMergePatchError in
staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go; NewGenericServerResponse in
staging/src/k8s.io/apimachinery/pkg/api/errors/errors.go; ErrorToAPIStatus in
staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/status.go. Kubernetes v1.36.
"""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.model.api_objects import Doc


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer: HTTP status, reason (empty where the server gives none) and message.

    `because` is what the server knows and does not say: it answers every patch that does not fit its object alike.
    """

    code: int
    reason: str
    message: str
    because: str = ""

    def status(self) -> Doc:
        """The answer's body, of kind Status."""
        reason = {"reason": self.reason} if self.reason else {}
        details: Doc = {"details": {}} if self.code == 422 else {}
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            **reason,
            **details,
            "code": self.code,
        }


class PatchRefused(Exception):
    """The patch cannot be applied, and nothing has changed; `refusal` is the answer."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(f"{refusal.message}: {refusal.because}" if refusal.because else refusal.message)
        self.refusal = refusal


def undecodable(error: str) -> PatchRefused:
    """A merge patch or a JSON patch is no JSON, or JSON of the wrong shape; `error` is what the decoder says."""
    return malformed(f"error decoding patch: {error}")


def malformed(message: str) -> PatchRefused:
    """The patch is no patch of its type. Of a strategic merge patch, `message` may be all the decoder says."""
    return PatchRefused(Refusal(400, "BadRequest", message))


def does_not_fit(because: str) -> PatchRefused:
    """The patch is one, but not for this object; also a JSON patch whose test fails."""
    return PatchRefused(
        Refusal(422, "Invalid", "the server rejected our request due to an error in our request", because)
    )


def too_large(because: str) -> PatchRefused:
    return PatchRefused(Refusal(413, "RequestEntityTooLarge", f"Request entity too large: {because}"))


def unexpected(message: str) -> PatchRefused:
    """An error that the server has no answer for, so that it names itself as the one to blame."""
    return PatchRefused(Refusal(500, "", message))


def crash(because: str) -> PatchRefused:
    """The patch is one at which the server panics. Its answer is this message alone, as text, not a Status."""
    message = "This request caused apiserver to panic. Look in the logs for details."
    return PatchRefused(Refusal(500, "", message, because))
