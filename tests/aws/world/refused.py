"""Refusals by EKS: the exceptions of its model with their members, with the messages that AWS is known to use."""

from __future__ import annotations

from typing import Any

from moto.core.exceptions import ServiceException


class Refusal(ServiceException):
    """An exception of the service itself: moto looks up those of others in the model of the package of their class."""


def refused(code: str, message: str, **members: Any) -> ServiceException:
    """The exception `code` of EKS's model. `members`: its further members by name (clusterName, addonName …).

    moto's serialiser takes the HTTP status from the model and the members from attributes of the exception.
    """
    error = Refusal(code, message)
    for name, value in members.items():
        setattr(error, name, value)
    return error


def no_cluster(name: str) -> ServiceException:
    return refused("ResourceNotFoundException", f"No cluster found for name: {name}.", clusterName=name)


def no_nodegroup(cluster: str, name: str) -> ServiceException:
    message = f"No node group found for name: {name}."
    return refused("ResourceNotFoundException", message, clusterName=cluster, nodegroupName=name)


def no_addon(cluster: str, name: str) -> ServiceException:
    message = f"No addon: {name} found in cluster: {cluster}"
    return refused("ResourceNotFoundException", message, clusterName=cluster, addonName=name)


def invalid(message: str, **members: Any) -> ServiceException:
    return refused("InvalidParameterException", message, **members)
