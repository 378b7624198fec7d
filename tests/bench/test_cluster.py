"""The pods of the benchmark are always the same, have the documented size, and share labels as replicas do."""

from __future__ import annotations

import json
from collections import Counter

from bench import cluster


def test_the_same_seed_gives_the_same_bytes() -> None:
    assert list(cluster.pods(50)) == list(cluster.pods(50))
    assert list(cluster.pods(50)) != list(cluster.pods(50, seed=8))


def test_pods_are_as_large_as_real_ones() -> None:
    sizes = [len(pod) for pod in cluster.pods(500)]
    assert 6.2 * 1024 < sum(sizes) / len(sizes) < 7.2 * 1024


def test_replicas_share_labels_and_owner() -> None:
    made = [json.loads(pod)["metadata"] for pod in cluster.pods(500)]
    owners = {m["ownerReferences"][0]["uid"] for m in made}
    label_sets = Counter(json.dumps(m["labels"]) for m in made)
    assert len(label_sets) == len(owners)
    assert 3 < len(made) / len(label_sets) < 10
    assert max(label_sets.values()) <= 20
