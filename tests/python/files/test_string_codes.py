"""Strings of Parquet files as codes where groups ask for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import crossdock as xd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from crossdock.engine import native_plans
from crossdock.engine.file_plans import scanned_files


def test_groups_of_all_rows_by_many_strings_go_by_codes(
    dock: xd.Dock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of dictionaries of more than 32 KiB, which a filter would have to read for few rows."""
    count, different = 200_000, 20_000
    words = [f"word {i * 2654435761 % 2**32}" for i in range(different)]
    rows = pa.table({
        "w": [words[i * 7919 % different] if i % 97 else None for i in range(count)],
        "v": [i % 1000 for i in range(count)],
    })  # fmt: skip
    path = tmp_path / "x.parquet"
    pq.write_table(rows, path, row_group_size=count // 2)
    stored = pq.read_metadata(path).row_group(0).column(0)
    assert stored.data_page_offset - stored.dictionary_page_offset > 32 << 10
    scanned = dock.read(path)
    keys: list[frozenset[str]] = []

    def noted(*arguments: Any) -> Any:
        keys.append(arguments[3])
        return scanned_files(*arguments)

    def keys_of(relation: xd.Relation) -> frozenset[str]:
        keys.clear()
        relation.collect()
        return frozenset().union(*keys)

    monkeypatch.setattr(native_plans, "scanned_files", noted)
    all_words = set(rows["w"].to_pylist())
    grouped = scanned.group_by("w").agg(s=xd.sum("v"), n=xd.count())
    assert keys_of(grouped) == {"w"}
    assert "dense keys" in str(grouped.profile())
    expected = rows.group_by("w").aggregate([("v", "sum"), ([], "count_all")]).sort_by("w")
    assert grouped.sort("w").collect().to_pydict() == dict(
        zip(("w", "s", "n"), expected.to_pydict().values(), strict=True)
    )
    renamed = scanned.select(word="w").group_by("word").agg(n=xd.count())
    assert keys_of(renamed) == {"w"}
    assert renamed.count() == len(all_words)
    assert keys_of(scanned.select("w").distinct()) == {"w"}
    counted = scanned.agg(n=xd.count_distinct("w"))
    assert keys_of(counted) == {"w"}
    assert counted.collect()["n"].to_pylist() == [len(all_words - {None})]
    filtered = scanned.filter(xd.col("v") == 7).group_by("w").agg(n=xd.count())
    assert keys_of(filtered) == set()
    assert keys_of(scanned.sort("w", limit=3)) == set()
    few = {word for word, v in zip(*rows.to_pydict().values(), strict=True) if v == 7}
    assert set(filtered.collect()["w"].to_pylist()) == few
