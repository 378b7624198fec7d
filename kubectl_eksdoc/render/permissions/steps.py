"""What an administrator does with it, as commands that can be pasted."""

from __future__ import annotations

from kubectl_eksdoc.core.model.commands import shell
from kubectl_eksdoc.core.rules.iam_resources import Place
from kubectl_eksdoc.render.in_cluster import Step
from kubectl_eksdoc.render.permissions.view import PermissionsView

_OURS = ("kubectl", "eksdoc", "permissions")


def steps(view: PermissionsView) -> tuple[Step, ...]:
    """First the cluster, then AWS, then whether it has come about."""
    group = next((each.name for each in view.subjects if each.kind == "Group"), view.name)
    bind = tuple(word for each in view.subjects for word in ("--bind", _said(each.kind, each.name, each.namespace)))
    printed = f"{again(view)} {shell('-o', 'yaml', *(bind or ('--bind', f'Group:{group}')))}"
    found = [
        Step("grant it in the cluster:", f"{printed} | kubectl apply -f -"),
        Step(
            "put an IAM role into that group:",
            f"aws eks create-access-entry --cluster-name {view.place.cluster or 'CLUSTER'} --principal-arn ARN "
            f"--kubernetes-groups {group}",
        ),
    ]
    if view.wanted.asked:
        policy = f"{again(view)} {shell('--iam', *_where(view.place))}"
        created = f"aws iam create-policy --policy-name {view.name}"
        found += [
            Step("write its policy of IAM:", f"{policy} > policy.json"),
            Step("create that, then attach it:", f"{created} --policy-document file://policy.json"),
        ]
    return (*found, Step("look whether you have it:", f"{again(view)} --check"))


def again(view: PermissionsView) -> str:
    """The command that prints the same rights."""
    return " ".join((shell(*_OURS), *view.given, *((shell(*view.more),) if view.more else ())))


def _said(kind: str, name: str, namespace: str) -> str:
    return f"{kind}:{namespace}/{name}" if namespace else f"{kind}:{name}"


def _where(place: Place) -> tuple[str, ...]:
    named = {"--cluster-name": place.cluster, "--region": place.region, "--account": place.account}
    shown = {"--cluster-name": "CLUSTER", "--region": "REGION", "--account": "ACCOUNT"}
    return tuple(word for flag, value in named.items() for word in (flag, value or shown[flag]))
