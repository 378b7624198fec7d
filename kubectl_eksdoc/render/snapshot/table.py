"""A snapshot that was taken, as a page: how large it is, what is in it, what it lacks, and how it is read."""

from __future__ import annotations

from kubectl_eksdoc.core.model.commands import shell
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.sections import MARGIN, Title, drawn, told
from kubectl_eksdoc.render.snapshot.view import SnapshotView
from kubectl_eksdoc.render.tables import Column
from kubectl_eksdoc.render.text import shown, wrap
from kubectl_eksdoc.render.times import rfc3339

_NEVER = "No Secret is in it. Values by which nothing is judged are digests, which nothing leads back from."


def table(view: SnapshotView, look: Look, full: bool) -> str:
    scene = view.scene
    head = f"{view.path}: {_size(view.taken.size)}, of {rfc3339(scene.observed_at)}. {_NEVER}"
    lines = [*wrap(shown(head, look), look.columns), ""]
    counted = [read for read in scene.reads if read.known and (read.count or full)]
    rows = [[read.resource.full_name, f"{read.count:,}"] for read in counted]
    columns = [Column("LIST", floor=10), Column("OBJECTS", right=True)]
    lines += [*drawn(Title("In it"), (columns, [*rows, ["answers of AWS", f"{scene.calls:,}"]]), look, full), ""]
    if view.lacking:
        lines += [*told(Title("Not in it"), (f"{what}: {why}" for what, why in view.lacking), look), ""]
    left_out = ("--without", ",".join(view.without)) if view.without else ()
    lines += [shown(f"{MARGIN}{shell('kubectl', 'eksdoc', 'check', '--snapshot', view.path, *left_out)}", look)]
    return "\n".join(lines) + "\n"


def _size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size:,} bytes"
