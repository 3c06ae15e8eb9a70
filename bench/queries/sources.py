"""The tables of a suite: Parquet files under build/data that are made once, or Arrow tables.

In memory only the columns are loaded that a query of the run names, in one chunk each, which Polars
is fastest on and takes over without a copy. That bounds what SF5 needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from harness.inputs import Source, tpch_folder

from queries.query import Query, Tables
from queries.ssb_tables import SSB_TABLES, ssb_folder

Mode = Literal["memory", "parquet"]
Strings = Literal["string_view", "string"]
TPCH_TABLES = (
    "lineitem", "orders", "customer", "part", "partsupp", "supplier", "nation", "region",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sources:
    """Every table of a suite at a scale factor; all of them files, or all of them in memory."""

    suite: str
    scale: float
    by_name: dict[str, Source]

    @property
    def in_memory(self) -> bool:
        return all(isinstance(source, pa.Table) for source in self.by_name.values())


def tables_of(by_name: dict[str, Any], scale: float) -> Tables:
    """What an engine made of the sources, as queries name them."""
    return Tables(SimpleNamespace(**by_name), scale)


def files_of(suite: str, scale: float) -> Sources:
    is_ssb = suite == "ssb"
    folder = ssb_folder(scale) if is_ssb else tpch_folder(scale, TPCH_TABLES)
    names = SSB_TABLES if is_ssb else TPCH_TABLES
    return Sources(suite, scale, {name: folder / f"{name}.parquet" for name in names})


def loaded(files: Sources, queries: Iterable[Query], strings: Strings) -> Sources:
    """The columns that the queries name: a column's name is that of one table only, so a word of
    the SQL text says which."""
    words = {word for query in queries for word in re.findall(r"\w+", query.sql(files.scale))}
    tables = {}
    for name, file in files.by_name.items():
        assert isinstance(file, Path)
        columns = [column for column in pq.read_schema(file).names if column in words]
        if columns:
            table = pq.read_table(file, columns=columns)
            tables[name] = with_strings(table, strings).combine_chunks()
            del table
            pa.default_memory_pool().release_unused()
    return Sources(files.suite, files.scale, tables)


def with_strings(table: pa.Table, strings: Strings) -> pa.Table:
    """The same rows with all strings in one layout; files may declare either."""
    layouts = (pa.string(), pa.string_view())
    layout = pa.string_view() if strings == "string_view" else pa.string()
    fields = [field.with_type(layout) if field.type in layouts else field for field in table.schema]
    return table.cast(pa.schema(fields))
