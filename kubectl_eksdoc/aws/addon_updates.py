"""Updates of one add-on: begun, and followed."""

from __future__ import annotations

from kubectl_eksdoc.aws import eks
from kubectl_eksdoc.aws.believing import VerifiedCluster
from kubectl_eksdoc.errors import AwsDenied, AwsError, AwsRefused
from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.model.aws.addons import Addon, EksAddonUpdate, UpdateCall


class AddonUpdates:
    """A `flows.ports.AddonEks` of the add-on `name`."""

    def __init__(self, of: VerifiedCluster, name: str) -> None:
        self._of = of
        self._name = name

    def begin(self, call: UpdateCall) -> EksAddonUpdate:
        """As `flows.ports.AddonEks.begin`."""
        try:
            return eks.begin_update(self._of, call)
        except AwsDenied as error:
            raise AwsDenied(error.message, f"Nothing was changed. {error.hint}", error.missing) from error
        except AwsRefused as error:
            if error.code not in _REFUSING:
                raise AwsError(error.message, error.hint) from error
            raise _in_words(error, call) from error

    def update(self, ident: str) -> EksAddonUpdate | Unknown | Absent:
        """As `flows.ports.AddonEks.update`."""
        return eks.update_of_addon(self._of, self._name, ident)

    def addon(self) -> Addon | Unknown | Absent:
        """As `flows.ports.AddonEks.addon`."""
        return eks.addon(self._of, self._name)


_WORDS = {
    "ResourceInUseException": (
        "EKS takes no update of {addon} now: another one is in progress",
        "Wait until that has ended, and check the difference again.",
    ),
    "InvalidParameterException": (
        "EKS refuses this update of {addon} to {version}",
        "Check what it says about the version and the configuration values.",
    ),
    "InvalidRequestException": (
        "EKS refuses this update of {addon} to {version} as the cluster or the add-on is now",
        "Check the add-on: aws eks describe-addon.",
    ),
}

_REFUSING = frozenset(
    (
        *_WORDS,
        "BadRequestException",
        "ClientException",
        "InvalidStateException",
        "NotFoundException",
        "SerializationException",
        "UnsupportedOperationException",
        "ValidationException",
    )
)
"""Of requests that EKS has not taken. After a fault of its own (ServerException, ServiceUnavailableException, one
that is not known), or an answer that nobody can read, the update may have begun."""


def _in_words(error: AwsRefused, call: UpdateCall) -> AwsRefused:
    if error.code not in _WORDS:
        return error
    what, hint = _WORDS[error.code]
    said = error.message.partition(f"{error.code}: ")[2]
    message = f"{what.format(addon=call.addon, version=call.version)}: {said}"
    return AwsRefused(message, f"Nothing was changed. {hint}", error.code)
