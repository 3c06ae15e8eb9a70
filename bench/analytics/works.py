"""The works: SQL for DuckDB and for ours, and a lazy frame of Polars where one is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from analytics.view_sql import VIEWS

Frames = Mapping[str, Any]  # lazy frames by name of the table


@dataclass(frozen=True, slots=True)
class AnalyticsWork:
    """`polars` gives a lazy frame with the columns of the SQL, in their order, or is None."""

    name: str
    sql: str
    polars: Callable[[Frames], Any] | None


GROUPS = {
    "id1": "SELECT id1, sum(v1) AS v1 FROM g1 GROUP BY id1",
    "id1, id2": "SELECT id1, id2, sum(v1) AS v1 FROM g1 GROUP BY id1, id2",
    "id3": "SELECT id3, sum(v1) AS v1, avg(v3) AS v3 FROM g1 GROUP BY id3",
    "id4": "SELECT id4, avg(v1) AS v1, avg(v2) AS v2, avg(v3) AS v3 FROM g1 GROUP BY id4",
    "id6": "SELECT id6, sum(v1) AS v1, sum(v2) AS v2, sum(v3) AS v3 FROM g1 GROUP BY id6",
    "median": """SELECT id4, id5, median(v3) AS m, stddev(v3) AS d FROM g1 GROUP BY id4, id5""",
    "range": "SELECT id3, max(v1) - min(v2) AS r FROM g1 GROUP BY id3",
    "largest two": """SELECT id6, v3 FROM (SELECT id6, v3, row_number() OVER (PARTITION BY id6
        ORDER BY v3 DESC) AS place FROM g1 WHERE v3 IS NOT NULL) AS numbered WHERE place <= 2""",
    "corr": "SELECT id2, id4, pow(corr(v1, v2), 2) AS r2 FROM g1 GROUP BY id2, id4",
    "all keys": """SELECT id1, id2, id3, id4, id5, id6, sum(v3) AS v3, count(*) AS n FROM g1
        GROUP BY id1, id2, id3, id4, id5, id6""",
}


def group_frames() -> dict[str, Callable[[Frames], Any]]:
    import polars as pl

    c = pl.col
    ids = [f"id{number}" for number in range(1, 7)]

    def grouped(keys: list[str], *items: Any) -> Callable[[Frames], Any]:
        return lambda tables: tables["g1"].group_by(keys).agg(*items)

    return {
        "id1": grouped(["id1"], c("v1").sum()),
        "id1, id2": grouped(["id1", "id2"], c("v1").sum()),
        "id3": grouped(["id3"], c("v1").sum(), c("v3").mean()),
        "id4": grouped(["id4"], c("v1", "v2", "v3").mean()),
        "id6": grouped(["id6"], c("v1", "v2", "v3").sum()),
        "median": grouped(["id4", "id5"], c("v3").median().alias("m"), c("v3").std().alias("d")),
        "range": grouped(["id3"], (c("v1").max() - c("v2").min()).alias("r")),
        "largest two": lambda tables: (
            tables["g1"].drop_nulls("v3").group_by("id6").agg(c("v3").top_k(2)).explode("v3")
        ),
        "corr": grouped(["id2", "id4"], (pl.corr("v1", "v2") ** 2).alias("r2")),
        "all keys": grouped(ids, c("v3").sum(), pl.len().alias("n")),
    }


JOINS = {
    "small": "SELECT x.*, small.id4 AS small_id4, v2 FROM x JOIN small ON x.id1 = small.id1",
    "medium": """SELECT x.*, medium.id1 AS medium_id1, medium.id4 AS medium_id4,
        medium.id5 AS medium_id5, v2 FROM x JOIN medium ON x.id2 = medium.id2""",
    "medium, all rows": """SELECT x.*, medium.id1 AS medium_id1, medium.id4 AS medium_id4,
        medium.id5 AS medium_id5, v2 FROM x LEFT JOIN medium ON x.id2 = medium.id2""",
    "medium, strings": """SELECT x.*, medium.id1 AS medium_id1, medium.id2 AS medium_id2,
        medium.id4 AS medium_id4, v2 FROM x JOIN medium ON x.id5 = medium.id5""",
    "big": """SELECT x.*, big.id1 AS big_id1, big.id2 AS big_id2, big.id4 AS big_id4,
        big.id5 AS big_id5, big.id6 AS big_id6, v2 FROM x JOIN big ON x.id3 = big.id3""",
}


def join_frames() -> dict[str, Callable[[Frames], Any]]:
    def joined(other: str, key: str, how: str = "inner") -> Callable[[Frames], Any]:
        return lambda tables: tables["x"].join(tables[other], on=key, how=how)

    return {
        "small": joined("small", "id1"),
        "medium": joined("medium", "id2"),
        "medium, all rows": joined("medium", "id2", "left"),
        "medium, strings": joined("medium", "id5"),
        "big": joined("big", "id3"),
    }


# Polars' SQL has no regexp_replace with groups.
_NOT_IN_POLARS = frozenset(("referring hosts",))


def view_frame(text: str) -> Callable[[Frames], Any]:
    """Its SQL has another name for the length in characters."""

    def frame(tables: Frames) -> Any:
        import polars as pl

        return pl.SQLContext(tables).execute(text.replace("length(", "CHAR_LENGTH("))

    return frame


def works(family: str, user: int = 0) -> list[AnalyticsWork]:
    if family == "groups":
        frames = group_frames()
        return [AnalyticsWork(name, text, frames[name]) for name, text in GROUPS.items()]
    if family == "joins":
        frames = join_frames()
        return [AnalyticsWork(name, text, frames[name]) for name, text in JOINS.items()]
    strings = {name: text.replace("{user}", str(user)) for name, text in VIEWS.items()}
    return [
        AnalyticsWork(name, text, None if name in _NOT_IN_POLARS else view_frame(text))
        for name, text in strings.items()
    ]
