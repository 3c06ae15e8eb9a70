"""crossdock demo: makes TPC-H data, joins its two largest tables, shows result and cost."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crossdock_cli import command as verbs
from crossdock_cli import output

if TYPE_CHECKING:
    from crossdock.reports.profile import Profile
    from crossdock.session import Dock

SQL = """select o_orderpriority, count(*) as lines, sum(l_extendedprice) as price
from lineitem join orders on l_orderkey = o_orderkey
where l_shipdate >= date '1995-01-01' group by o_orderpriority order by price desc"""
COLUMNS = ("l_orderkey", "l_extendedprice", "o_orderpriority")


@verbs.verb(
    "demo",
    examples=("crossdock demo", "crossdock demo --scale 10 --data /tmp/tpch"),
    short_help="Make TPC-H data, join it and show what that costs.",
)
@click.option("--scale", type=click.FloatRange(min=0.001), default=1.0, show_default="1",
              metavar="SF", help="TPC-H scale factor; 1 is 6 million order lines.")  # fmt: skip
@click.option("--data", "folder", metavar="DIR", envvar=None,
              help="Where the tables are kept; by default the user's cache folder.")  # fmt: skip
@verbs.THREADS
@verbs.MEMORY
@verbs.JSON
def command(
    scale: float, folder: str | None, threads: int | None, memory: str | None, as_json: bool
) -> None:
    """Joins TPC-H lineitem with orders on the order key, carrying the order's priority along, then
    asks for totals in SQL. Makes both tables as Parquet first, if they are not there."""
    import crossdock as xd

    from crossdock_cli.progress import progress_bar

    files = _tables(scale, Path(folder) if folder else _cache_folder())
    with xd.connect(threads=threads, memory=memory) as dock:
        lines = dock.read_parquet(files["lineitem"])
        orders = dock.read_parquet(files["orders"])
        joined = lines.join(orders, on={"l_orderkey": "o_orderkey"}).select(*COLUMNS)
        output.say(
            f"join   lineitem with orders on l_orderkey = o_orderkey, {dock.threads} threads"
        )
        with progress_bar(dock):
            profile = joined.profile()
        facts = _facts(profile.data)
        if not as_json:
            _show(profile, facts)
        query = _run_sql(dock, files)
    if as_json:
        sql = None if query is None else {"text": SQL, "profile": query.data}
        output.show_json({"scale": scale, **facts, "profile": profile.data, "sql": sql})
    elif query is not None:
        _show_sql(query)


def _run_sql(dock: Dock, files: dict[str, Path]) -> Any:
    """The query's profile; None without the extra, which is said."""
    from crossdock.errors import SqlError

    from crossdock_cli.progress import progress_bar

    for name, file in files.items():
        dock.register(name, dock.read_parquet(file))
    try:
        relation = dock.sql(SQL)
    except SqlError as error:
        if error.code != "CD-514":  # the extra is not installed
            raise
        output.say(str(error))
        return None
    with progress_bar(dock):
        return relation.profile()


def _show_sql(profile: Profile) -> None:
    from crossdock.reports.display import Preview

    output.show(f"\n{SQL}\n")
    output.show(Preview.of_table(profile.table).text())
    output.show("")
    output.show(profile.text)


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "crossdock"


def _tables(scale: float, root: Path) -> dict[str, Path]:
    from crossdock.sizes import format_bytes, format_seconds

    from crossdock_cli.tpch import find_tables, make_tables

    folder = root / f"tpch-sf{scale:g}"
    files = find_tables(folder)
    if files is None:
        output.say(f"data   make TPC-H lineitem and orders at scale {scale:g} in {folder}")
        start = time.perf_counter()
        files = make_tables(scale, folder)
        output.say(f"data   made in {format_seconds(time.perf_counter() - start)}")
    size_bytes = sum(file.stat().st_size for file in files.values())
    output.say(f"data   {folder}: {' and '.join(files)}, {format_bytes(size_bytes)} of Parquet")
    return files


def _facts(data: dict[str, Any]) -> dict[str, Any]:
    query = data["steps"][-1]["profile"]
    scans = [one for one in query["operators"] if one["operator"] == "scan"]
    return {
        "result_rows": data["result_rows"],
        "join_s": query["total_s"],
        "read_thread_s": sum(scan["thread_s"] for scan in scans),
        "tuples_per_s": sum(scan["rows"] for scan in scans) / query["total_s"],
        "memory_peak_bytes": data["memory_peak_bytes"],
        "process_peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def _show(profile: Profile, facts: dict[str, Any]) -> None:
    from crossdock.reports.display import Preview
    from crossdock.sizes import format_bytes, format_count, format_seconds

    output.show(Preview.of_table(profile.table).text())
    output.show("")
    output.show(profile.text)
    output.show("")
    rate = format_count(facts["tuples_per_s"])
    output.show(f"rows          {facts['result_rows']:,}")
    seconds = format_seconds(facts["join_s"])
    output.show(f"throughput    {rate} tuples/s read and joined in {seconds}")
    output.show(f"reading       {format_seconds(facts['read_thread_s'])} of the threads' time")
    budget = format_bytes(facts["memory_peak_bytes"])
    process = format_bytes(facts["process_peak_bytes"])
    output.show(f"peak memory   {budget} of the join's budget, {process} of the whole process")
