"""Completion indexes of an Indexed Job: which are done, which are next, and how the status writes them.

Source: pkg/controller/job/indexed_job_utils.go, Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kubectl_eksdoc.core.model.api_objects import Doc, with_value
from kubectl_eksdoc.core.sim.cluster.workloads.pods import annotations_of, labels_of

INDEX = "batch.kubernetes.io/job-completion-index"


def index_of(pod: Doc) -> int | None:
    text = annotations_of(pod).get(INDEX, "")
    return int(text) if text.isdigit() else None


def parsed(text: str) -> set[int]:
    """``0,2-4`` as numbers."""
    found: set[int] = set()
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def written(indexes: Iterable[int]) -> str:
    """Numbers as ``0,2-4``: a pair is written with a comma, more with a dash."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][-1] == index - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return ",".join(_run(run) for run in runs)


def pending(completions: int, taken: Collection[int], count: int) -> list[int]:
    """The first so many that are neither done nor under way."""
    return [index for index in range(completions) if index not in taken][:count]


def indexed(pod: Doc, job: str, index: int) -> Doc:
    """`pod` as the one of that index."""
    meta = pod["metadata"]
    labels = {**labels_of(pod), INDEX: str(index)}
    annotations = {**annotations_of(pod), INDEX: str(index)}
    meta = {**meta, "generateName": f"{job}-{index}-", "labels": labels, "annotations": annotations}
    return with_value({**pod, "metadata": meta}, ("spec", "hostname"), f"{job}-{index}")


def _run(run: list[int]) -> str:
    if len(run) == 1:
        return str(run[0])
    return f"{run[0]},{run[1]}" if len(run) == 2 else f"{run[0]}-{run[-1]}"
