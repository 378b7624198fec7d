"""How objects are shown, or tried, confirmed and created."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import exits, rights
from kubectl_eksdoc.cli import look as looks
from kubectl_eksdoc.cli.in_cluster.options import DEFAULT_IMAGE, Inside
from kubectl_eksdoc.cli.options import GlobalOptions
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.errors import Forbidden

if TYPE_CHECKING:  # help must not pay for plans
    from kubectl_eksdoc.core.plan.in_cluster.errand import Errand
    from kubectl_eksdoc.render.in_cluster import Manifests

_OWN_IMAGE = (
    f"the image is called {DEFAULT_IMAGE}: build it from the Dockerfile, push it to where your nodes pull from, and "
    "name it with --image"
)


@dataclass(frozen=True, slots=True)
class Ready:
    """`command`: by whose rights it is created. `confirm` raises unless it is wanted. `dry`: ``client``, ``server`` or
    ""; `reached_by`: the words by which kubectl finds the cluster."""

    command: str
    inside: Inside
    errand: Errand
    manifests: Manifests
    confirm: Callable[[], object]
    reached_by: tuple[str, ...] = ()
    dry: str = ""


def shown_or_created(ready: Ready, options: GlobalOptions, around: Surroundings) -> Answer:
    """
    Raises:
        UsageError: something is there already, or what was typed is something else.
        Forbidden, ClusterError: the server does not take it.
    """
    from kubectl_eksdoc.core.plan.in_cluster.errand import is_ours
    from kubectl_eksdoc.flows.placing import placed, tried
    from kubectl_eksdoc.render.in_cluster import taken_away

    if ready.inside.image == DEFAULT_IMAGE:
        around.note(_OWN_IMAGE)
    docs = ready.manifests.docs
    if not ready.inside.apply or ready.dry == "client":
        return _shown(ready, options, around)
    away = taken_away(ready.errand, ready.reached_by)
    try:
        ground = around.edges.open_placing(options.connection)
        tried(docs, ground, partial(is_ours, errand=ready.errand), away)
        if ready.dry:
            around.note(f"the server would create all {len(docs)} objects; nothing shows that the image can be pulled")
            return _shown(ready, options, around)
        ready.confirm()
        as_lines = options.output in ("table", "wide")
        placed(docs, ground, (lambda line: around.say(f"{line}\n")) if as_lines else around.note, away)
    except Forbidden as error:
        raise rights.explained(error, ready.command) from error
    for line in ready.manifests.rows:
        around.note(line)
    return _shown(ready, options, around, quiet=as_lines)


def _shown(ready: Ready, options: GlobalOptions, around: Surroundings, quiet: bool = False) -> Answer:
    from kubectl_eksdoc.render.in_cluster import as_json, as_yaml

    if quiet:
        return Answer("", exits.CLEAN)
    look = looks.decide(options, around.stdout, around.environ)
    if options.output == "json":
        return Answer(as_json(ready.manifests, look.ascii), exits.CLEAN)
    return Answer(as_yaml(ready.manifests, look.ascii), exits.CLEAN)
