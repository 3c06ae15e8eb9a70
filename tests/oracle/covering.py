"""Covering arrays: few combinations of many parameters in which every pair of values meets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

CANDIDATES = 20


def covering_rows(
    parameters: Mapping[str, Sequence[Any]], seed: int, limit: int
) -> list[dict[str, Any]]:
    """At most `limit` rows, one value for each parameter, the same for the same seed.

    Greedy: each row starts from a pair that no row has yet, and is the best of some random
    completions. When every pair is covered, or the limit is reached, it ends.
    """
    random = np.random.default_rng(seed)
    names = list(parameters)
    sizes = [len(parameters[name]) for name in names]
    open_pairs = {
        (a, i, b, j)
        for a, b in combinations(range(len(names)), 2)
        for i in range(sizes[a])
        for j in range(sizes[b])
    }

    def pairs(row: Sequence[int]) -> set[tuple[int, int, int, int]]:
        return {(a, row[a], b, row[b]) for a, b in combinations(range(len(row)), 2)}

    rows = []
    while open_pairs and len(rows) < limit:
        a, i, b, j = min(open_pairs) if len(rows) % 2 else max(open_pairs)
        best: list[int] = []
        for _ in range(CANDIDATES):
            row = [int(random.integers(size)) for size in sizes]
            row[a], row[b] = i, j
            if not best or len(pairs(row) & open_pairs) > len(pairs(best) & open_pairs):
                best = row
        open_pairs -= pairs(best)
        rows.append({name: parameters[name][k] for name, k in zip(names, best, strict=True)})
    return rows
