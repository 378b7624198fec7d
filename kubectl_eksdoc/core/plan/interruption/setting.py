"""Which queue Karpenter is told to read, by its version: the first link."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kubectl_eksdoc.core.model import interruption_codes as codes
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.commands import shell
from kubectl_eksdoc.core.model.findings import Remedy, Status, Subject
from kubectl_eksdoc.core.model.interruption import KarpenterInstall, Setting
from kubectl_eksdoc.core.model.versions import Version, parse
from kubectl_eksdoc.core.plan.interruption.links import Link, unknown
from kubectl_eksdoc.core.rules import karpenter_versions as versions

Said = Setting | Absent | Unknown


@dataclass(frozen=True, slots=True)
class Effective:
    """`used`: what this version goes by; `ignored`: what is written where this version does not look."""

    used: Said
    ignored: tuple[Setting, ...] = ()

    @property
    def queue(self) -> str:
        """Its name, "" where none is set or where it is not known; of an ARN or a URL that which it names."""
        return name_in(self.used.queue) if isinstance(self.used, Setting) else ""


_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}|[A-Za-z0-9_-]{1,75}\.fifo")
"""As SQS takes them (CreateQueue, QueueName)."""


def name_in(written: str) -> str:
    """``prod`` of ``arn:aws:sqs:eu-west-1:111122223333:prod`` and of the URL of that queue; "" where there is none."""
    last = re.split(r"[:/]", written.strip())[-1]
    return last if _NAME.fullmatch(last) else ""


def effective(install: KarpenterInstall) -> Effective:
    """The argument wins over the variable, and both over the ConfigMap."""
    new, old = (install.argument, install.variable), install.config_map
    by_map, by_variable = versions.reads_config_map(install.version), versions.reads_variable(install.version)
    looked_at = (*(new if by_variable else ()), *((old,) if by_map is not False else ()))
    passed_over = (*(() if by_variable else new), *((old,) if by_map is False else ()))
    ignored = tuple(each for each in passed_over if isinstance(each, Setting) and each.queue)
    used: Said = next((each for each in looked_at if not _nothing(each)), Absent("no queue is set"))
    if by_map is False and isinstance(install.argument, Setting):  # also an empty one: it is given all the same
        used = install.argument if install.argument.queue else Absent("its argument sets no queue")
    if used is old and by_map is None and isinstance(used, Setting):
        used = Unknown(
            f"{used.where} names queue {used.queue}, which counts up to v0.32 only, and the version is not known"
        )
    return Effective(used, ignored)


def _nothing(said: Said) -> bool:
    return isinstance(said, Absent) or (isinstance(said, Setting) and not said.queue)


def setting_link(install: KarpenterInstall, wanted: str, print_values: str) -> Link:
    """`wanted`: the name the queue is to have, "" for whatever is set; `print_values`: the command that prints the
    values."""
    said = effective(install)
    link = Link(codes.SETTING, "setting", Subject("Deployment", install.name, install.namespace), Status.PASS, "")
    if isinstance(said.used, Unknown):
        return unknown(link, said.used, "the value of the setting")
    key = ".".join(versions.helm_key(install.version))
    file = "interruption-values.yaml"
    remedy = (
        Remedy(
            f"Merge {key} into the values of the chart, with every other value as it is.",
            f"{print_values} > {file} && {upgrade(install, file)}",
        ),
    )
    if isinstance(said.used, Setting):
        where = f"{said.used.queue}, by {said.used.where} of container {install.container or 'controller'}"
        where = where if "ConfigMap" not in said.used.where else f"{said.used.queue}, by {said.used.where}"
        if said.queue != said.used.queue:
            what = f"Karpenter is told {said.used.queue!r}, which is no name of a queue: there is none called so"
            return _failed(link, what, (f"by {said.used.where}",), remedy)
        if wanted and wanted != said.used.queue:
            what = f"Karpenter reads queue {said.used.queue}, and not {wanted}"
            return _failed(link, what, (where, _DELETES.format(wanted)), remedy)
        return Link(link.code, link.name, link.subject, Status.PASS, where, evidence=tuple(_passed_over(said)))
    what = f"no queue is set, so Karpenter hears of no interruption, and says nothing about that ({key})"
    if said.ignored:
        what = (
            f"no queue is set where Karpenter looks: {said.ignored[0].where} names {said.ignored[0].queue}, and "
            f"{_version(install)} ignores that silently"
        )
    return _failed(link, what, tuple(_passed_over(said)), remedy)


_DELETES = "Karpenter deletes every message that it reads: nobody else may read or need {}"
"""Those of other kinds as well, and what it cannot parse (karpenter-provider-aws, pkg/controllers/interruption)."""


def _failed(link: Link, what: str, evidence: tuple[str, ...], remedy: tuple[Remedy, ...]) -> Link:
    return Link(link.code, link.name, link.subject, Status.FAIL, what, evidence=evidence, remedy=remedy)


def _passed_over(said: Effective) -> Iterator[str]:
    for each in said.ignored:
        yield f"{each.where} names {each.queue}: not read by this version"


def _version(install: KarpenterInstall) -> str:
    return f"Karpenter {install.version}" if install.version else "this version"


def upgrade(install: KarpenterInstall, file: str) -> str:
    """The chart of the version that runs, with all the values it was given and those of the file."""
    chart = "oci://public.ecr.aws/karpenter/karpenter"
    words = ("helm", "upgrade", install.release or "karpenter", chart, "--version", _chart(install))
    return shell(*words, "-n", install.namespace, "--reuse-values", "-f", file)


def _chart(install: KarpenterInstall) -> str:
    """Of the image's tag where that is a version, else of what the labels say. Without any, helm would take the newest
    chart, and upgrade Karpenter with it: so there is always one, for which somebody has to put in what it is."""
    if parse(install.tag) is not None:
        return install.tag
    if install.version is None:
        return "CHART-VERSION"
    written = str(install.version)
    return written if install.version.older_than(_PLAIN_SINCE) else written.removeprefix("v")


_PLAIN_SINCE = Version(0, 35, 0)
"""From here on charts and images are called ``0.35.0``, before ``v0.34.0``."""
