"""What AWS does not answer: a refusal with the service's own code and words."""

from __future__ import annotations


class Refused(Exception):
    """AWS refused a question; `code` and `message` are those of the error response."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


def missing(message: str) -> Refused:
    """What EKS and EventBridge say of a name that nothing has."""
    return Refused("ResourceNotFoundException", message)


def invalid(message: str) -> Refused:
    """What EKS says of a parameter that it knows and of which it does not take the value."""
    return Refused("InvalidParameterException", message)
