"""The tables: those of the db-benchmark of H2O.ai by its published definition, and page views.

Page views have the columns, types and skew of the log that ClickBench asks about, all of it drawn:
most phrases are empty, few users and addresses are frequent, times ascend. Made once per number of
rows, with fixed seeds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from harness.inputs import DATA
from harness.turns import turn_at

FAMILIES = {
    "groups": ("g1",),
    "joins": ("x", "small", "medium", "big"),
    "views": ("hits",),
}
GROUP_ROWS = 122_880  # of a row group
CHUNK_ROWS = 1_000_000
DAYS, DAY_S = 31, 86_400
FIRST_DAY = 15_887  # July 2013, in days
WORDS, HOSTS, STRINGS = 20_000, 3_000, 1_500_000
COMMON = ("weather", "maps", "buy", "house", "cars", "photo", "watch", "online", "download")

Numbers = npt.NDArray[Any]


def folder_of(family: str, rows: int) -> Path:
    """Where the Parquet files are; made, all of the family, where one is missing."""
    folder = DATA / f"analytics-{family}-{rows}"
    with turn_at(folder):
        if not all((folder / f"{name}.parquet").is_file() for name in FAMILIES[family]):
            make(family, rows, folder)
    return folder


def make(family: str, rows: int, folder: Path) -> None:
    """Into a neighbour folder that is renamed: a broken run leaves nothing half done."""
    unfinished = folder.with_name(folder.name + ".unfinished")
    unfinished.mkdir(parents=True, exist_ok=True)
    print(f"# making {rows} rows in {folder}", file=sys.stderr, flush=True)
    for name, batches in TABLES[family](rows).items():
        write(unfinished / f"{name}.parquet", batches)
    folder.mkdir(exist_ok=True)
    for name in FAMILIES[family]:
        (unfinished / f"{name}.parquet").replace(folder / f"{name}.parquet")
    unfinished.rmdir()


def write(path: Path, tables: Iterator[pa.Table]) -> None:
    first = next(tables)
    with pq.ParquetWriter(path, first.schema, compression="snappy") as writer:
        writer.write_table(first, row_group_size=GROUP_ROWS)
        for table in tables:
            writer.write_table(table, row_group_size=GROUP_ROWS)


def group_tables(rows: int) -> dict[str, Iterator[pa.Table]]:
    """G1: 100 groups of the narrow keys, and one for each hundred rows of the wide ones."""
    draw = np.random.default_rng(108)
    few, many = 100, max(1, rows // 100)
    narrow = pa.array([f"id{number:03d}" for number in range(1, few + 1)])
    wide = pa.array([f"id{number:010d}" for number in range(1, many + 1)])

    def strings(pool: pa.Array) -> pa.Array:
        return pool.take(pa.array(draw.integers(0, len(pool), rows)))

    def integers(most: int) -> pa.Array:
        return pa.array(draw.integers(1, most + 1, rows).astype(np.int32))

    columns = {
        "id1": strings(narrow), "id2": strings(narrow), "id3": strings(wide),
        "id4": integers(few), "id5": integers(few), "id6": integers(many),
        "v1": integers(5), "v2": integers(15), "v3": pa.array(np.round(draw.random(rows) * 100, 6)),
    }  # fmt: skip
    return {"g1": iter([pa.table(columns)])}


def join_tables(rows: int) -> dict[str, Iterator[pa.Table]]:
    """Nine of ten keys are on both sides; the right sides have a millionth, a thousandth and all of
    the rows of the left one."""
    draw = np.random.default_rng(109)
    counts = {1: max(10, rows // 10**6), 2: max(100, rows // 10**3), 3: rows}
    keys = {level: both_sides(draw, count) for level, count in counts.items()}

    def table(count: int, levels: tuple[int, ...], side: int, value: str) -> pa.Table:
        drawn = {level: spread(draw, keys[level][side], count) for level in levels}
        columns = {f"id{level}": pa.array(drawn[level]) for level in levels}
        for level in levels:
            digits = pc.cast(columns[f"id{level}"], pa.string())
            columns[f"id{level + 3}"] = pc.binary_join_element_wise("id", digits, "")
        columns[value] = pa.array(np.round(draw.random(count) * 100, 6))
        return pa.table(columns)

    return {
        "x": iter([table(rows, (1, 2, 3), 0, "v1")]),
        "small": iter([table(counts[1], (1,), 1, "v2")]),
        "medium": iter([table(counts[2], (1, 2), 1, "v2")]),
        "big": iter([table(rows, (1, 2, 3), 1, "v2")]),
    }


def both_sides(draw: np.random.Generator, count: int) -> tuple[Numbers, Numbers]:
    keys = (draw.permutation(count + count // 10) + 1).astype(np.int32)
    shared = count - count // 10
    return keys[:count], np.concatenate([keys[:shared], keys[count:]])


def spread(draw: np.random.Generator, keys: Numbers, count: int) -> Numbers:
    """Each key at least once, the others of the rows by chance."""
    more = keys[draw.integers(0, len(keys), max(0, count - len(keys)))]
    rows = np.concatenate([keys[:count], more])
    draw.shuffle(rows)
    return rows


def view_tables(rows: int) -> dict[str, Iterator[pa.Table]]:
    return {"hits": Views(rows).tables()}


class Views:
    """Draws page views in chunks."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.draw = np.random.default_rng(110)
        letters = self.draw.integers(97, 123, (WORDS, 9)).astype(np.uint8)
        lengths = self.draw.integers(3, 10, WORDS)
        self.words = [bytes(row[:n]).decode() for row, n in zip(letters, lengths, strict=True)]
        ends = np.array(["ru", "com", "net", "org", "google.com"])[self.draw.integers(0, 5, HOSTS)]
        self.hosts = [f"{self.words[i]}.{end}" for i, end in enumerate(ends)]
        strings = min(STRINGS, max(100, rows // 6))
        self.urls = self.addresses(strings)
        self.referrers = self.addresses(strings // 2)
        self.titles = self.phrases(strings // 2, 4, 12)
        self.searches = self.phrases(strings // 2, 2, 6)
        self.models = pa.array(["", *(f"{w.upper()[:6]} {i}" for i, w in enumerate(COMMON * 16))])
        self.users = self.draw.integers(1, 2**62, max(10, rows // 6))
        self.regions = self.draw.integers(1, 100_000, 9000)

    def tables(self) -> Iterator[pa.Table]:
        for begin in range(0, self.rows, CHUNK_ROWS):
            yield pa.table(self.columns(begin, min(CHUNK_ROWS, self.rows - begin)))

    def skewed(self, values: int, rows: int, exponent: float) -> Numbers:
        """Ranks by Zipf's law."""
        weights = np.cumsum(1 / np.arange(1, values + 1) ** exponent)
        return np.searchsorted(weights / weights[-1], self.draw.random(rows)).astype(np.int64)

    def addresses(self, count: int) -> pa.Array:
        hosts = self.skewed(HOSTS, count, 1.0)
        parts = self.draw.integers(0, WORDS, (count, 3))
        kinds = self.draw.integers(0, 4, count)
        numbers = self.draw.integers(0, 10**8, count)
        addresses = []
        for host, (a, b, c), kind, number in zip(hosts, parts, kinds, numbers, strict=True):
            begin = "http://www." if kind & 1 else "http://"
            path = f"{begin}{self.hosts[host]}/{self.words[a]}/{self.words[b]}"
            addresses.append(path if kind < 2 else f"{path}?{self.words[c]}={number}&lr=213")
        return pa.array(addresses)

    def phrases(self, count: int, least: int, most: int) -> pa.Array:
        phrases = []
        for number, words in enumerate(self.draw.integers(least, most, count)):
            parts = [self.words[word] for word in self.draw.integers(0, WORDS, words)]
            if number % 3 == 0:
                parts.insert(0, COMMON[number % len(COMMON)])
            if number % 97 == 0:
                parts.append("Google")
            phrases.append(" ".join(parts))
        return pa.array(phrases)

    def flags(self, rows: int, share: float) -> pa.Array:
        return small(self.draw.random(rows) < share)

    def columns(self, begin: int, rows: int) -> dict[str, pa.Array]:
        draw = self.draw
        users = self.skewed(len(self.users), rows, 0.6)
        urls = self.skewed(len(self.urls), rows, 0.8)
        referrers = np.where(
            draw.random(rows) < 0.2, -1, self.skewed(len(self.referrers), rows, 0.8)
        )
        searches = np.where(
            draw.random(rows) < 0.87, -1, self.skewed(len(self.searches), rows, 0.7)
        )
        models = np.where(draw.random(rows) < 0.94, 0, self.skewed(140, rows, 1.0) + 1)
        counters = np.where(draw.random(rows) < 0.08, 62, self.skewed(6000, rows, 1.1) + 100)
        widths = np.array([0, 1024, 1280, 1366, 1440, 1600, 1638, 1680, 1920, 1996])
        engines = np.where(searches < 0, 0, 1 + self.skewed(90, rows, 1.5))
        adverts = np.where(draw.random(rows) < 0.994, 0, 1 + self.skewed(40, rows, 1.2))
        seconds = DAYS * DAY_S / self.rows
        times = np.sort(draw.integers(begin * seconds, (begin + rows) * seconds + 1, rows))
        times += FIRST_DAY * DAY_S
        return {
            "WatchID": pa.array(draw.integers(1, 2**63 - 1, rows)),
            "Title": self.titles.take(pa.array(urls % len(self.titles))),
            "EventTime": pa.array(times, pa.timestamp("s")).cast(pa.timestamp("us")),
            "EventDate": pa.array((times // DAY_S).astype(np.int32), pa.date32()),
            "CounterID": pa.array(counters.astype(np.int32)),
            "ClientIP": pa.array((users * 2_654_435_761 % 2**31).astype(np.int32)),
            "RegionID": pa.array(self.regions[users % len(self.regions)].astype(np.int32)),
            "UserID": pa.array(self.users[users]),
            "URL": self.urls.take(pa.array(urls)),
            "Referer": some_of(self.referrers, referrers),
            "IsRefresh": self.flags(rows, 0.1),
            "ResolutionWidth": small(widths[self.skewed(len(widths), rows, 0.5)]),
            "WindowClientWidth": small(draw.integers(0, 2000, rows)),
            "WindowClientHeight": small(draw.integers(0, 1200, rows)),
            "MobilePhone": small(models % 40),
            "MobilePhoneModel": self.models.take(pa.array(models)),
            "SearchEngineID": small(engines),
            "SearchPhrase": some_of(self.searches, searches),
            "AdvEngineID": small(adverts),
            "TraficSourceID": small(self.skewed(10, rows, 1.0) - 1),
            "IsLink": self.flags(rows, 0.03),
            "IsDownload": self.flags(rows, 0.004),
            "DontCountHits": self.flags(rows, 0.1),
            "URLHash": pa.array(urls * 1_000_003),
            "RefererHash": pa.array(referrers * 1_000_003),
        }


def small(values: Numbers) -> pa.Array:
    return pa.array(values.astype(np.int16))


def some_of(pool: pa.Array, places: Numbers) -> pa.Array:
    """The strings at these places, empty ones at places below 0."""
    taken = pool.take(pa.array(np.maximum(places, 0)))
    return pc.if_else(pa.array(places < 0), "", taken)


TABLES = {"groups": group_tables, "joins": join_tables, "views": view_tables}
