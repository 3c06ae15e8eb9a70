"""crossdock join: joins two files, folders or globs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import click

from crossdock_cli import command as verbs
from crossdock_cli import output

KINDS = ("inner", "left", "right", "full", "semi", "anti", "anti_null_aware")


@dataclass(frozen=True)
class Wanted:
    """What the command line asks for, besides the relation itself."""

    out: str | None
    limit: int
    count: bool
    explain: bool
    profile: bool
    json: bool


@click.command(
    "join",
    cls=verbs.Verb,
    context_settings=verbs.SETTINGS,
    examples=(
        "crossdock join lineitem.parquet orders.parquet --on l_orderkey=o_orderkey",
        "crossdock join 'sales/*.parquet' shops.csv --on shop --select day,city --out sold.parquet",
        "crossdock join a.arrow b.arrow --on id,day=date --how anti --count",
    ),
    short_help="Join two files, folders or globs.",
    epilog="Exit codes: 0 done, 1 error, 2 wrong usage, 3 over the memory budget, 130 interrupted.",
)
@click.argument("left")
@click.argument("right")
@click.option(
    "--on", "keys", required=True, multiple=True, metavar="L=R[,..]",
    help="Key columns: left=right, or one name that both sides have.",
)  # fmt: skip
@click.option("--how", type=verbs.Word(KINDS), default="inner", show_default=True, metavar="KIND",
              help=f"Kind of join: {', '.join(KINDS)}.")  # fmt: skip
@click.option("--select", metavar="A,B", help="Columns of the result, in this order.")
@click.option("--where", metavar="EXPR", help="Rows of the result: \"qty > 10 and mode == 'AIR'\".")
@click.option("--suffix", default="_right", show_default=True, metavar="TEXT",
              help="Put after a right column's name that the left side also has.")  # fmt: skip
@click.option("--out", metavar="FILE", help="Write the result to .parquet, .arrow or .csv.")
@click.option("--limit", type=click.IntRange(0), default=10, show_default=True, metavar="N",
              help="Rows to show.")  # fmt: skip
@click.option("--count", is_flag=True, help="Print only the number of rows.")
@click.option("--explain", is_flag=True, help="Print the plan with predicted times; join nothing.")
@click.option("--profile", is_flag=True, help="Print predicted beside measured times as well.")
@click.option("--threads", type=click.IntRange(0), metavar="N",
              help="Worker threads; 0 means one per core.")  # fmt: skip
@click.option("--memory", metavar="SIZE", help="Memory budget, such as 8GiB.")
@click.option("--json", is_flag=True, help="Print JSON with a schema_version.")
def command(
    left: str, right: str, keys: tuple[str, ...], threads: int | None, memory: str | None,
    **options: Any,
) -> None:  # fmt: skip
    """Joins LEFT with RIGHT: each a Parquet file, a folder or 'glob' of them, Arrow IPC (.arrow,
    .feather, .ipc) or CSV. Prints the first and last rows of the result and their number.

    Only the columns that the result needs are read; simple conditions of --where reach the reader.
    """
    import crossdock as xd

    wanted = Wanted(*(options[name] for name in Wanted.__dataclass_fields__))
    _refuse_two_faces(wanted)
    with xd.connect(threads=threads, memory=memory) as dock:
        relation = dock.read(left).join(
            dock.read(right), on=parse_keys(keys), how=options["how"], suffix=options["suffix"]
        )
        if options["where"]:
            from crossdock_cli.predicates import parse_predicate

            relation = relation.filter(parse_predicate(options["where"]))
        if options["select"]:
            relation = relation.select(*_names(options["select"]))
        _run(dock, relation, wanted)


def parse_keys(texts: tuple[str, ...]) -> list[tuple[str, str]]:
    """(left, right) names from texts like "a=b,c"; click.UsageError for an empty name."""
    pairs = []
    for part in ",".join(texts).split(","):
        left, _, right = (text.strip() for text in part.partition("="))
        if not left or ("=" in part and not right):
            raise click.UsageError(f"--on {','.join(texts)!r}: {part!r} is not NAME or LEFT=RIGHT.")
        pairs.append((left, right or left))
    return pairs


def _refuse_two_faces(wanted: Wanted) -> None:
    asked = [name for name in ("explain", "count", "out") if getattr(wanted, name)]
    if len(asked) > 1:
        raise click.UsageError(f"--{asked[0]} and --{asked[1]} cannot go together.")
    if wanted.profile and asked and asked[0] != "out":
        raise click.UsageError(f"--profile and --{asked[0]} cannot go together.")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _run(dock: Any, relation: Any, wanted: Wanted) -> None:
    from crossdock_cli.progress import progress_bar

    if wanted.explain:
        plan = relation.explain(read=True)
        output.show_json(plan.data) if wanted.json else output.show(plan)
        return
    start = time.perf_counter()
    with progress_bar(dock):
        found = _produce(relation, wanted)
    found["seconds"] = time.perf_counter() - start
    if wanted.json:
        preview, profile = found.pop("preview", None), found.pop("profile", None)
        if preview is not None:
            found["columns"] = [{"name": f.name, "type": str(f.type)} for f in relation.schema]
            found["preview"] = preview.records()
        if profile is not None:
            found["profile"] = profile.data
        output.show_json(found)
    else:
        _show(found, wanted)


def _produce(relation: Any, wanted: Wanted) -> dict[str, Any]:
    """Runs the relation: rows, and what else was asked for."""
    from crossdock.display import Preview
    from crossdock.writers import write_file

    if wanted.count:
        return {"rows": relation.count()}
    if wanted.profile:
        profile = relation.profile()
        table = profile.table
        found = {"rows": table.num_rows, "profile": profile}
        if wanted.out:
            write_file(table.to_batches(), table.schema, wanted.out)
            return {**found, "out": wanted.out}
        return {**found, "preview": Preview.of_table(table, wanted.limit)}
    if wanted.out:
        return {"rows": relation.write(wanted.out), "out": wanted.out}
    preview = Preview.of_batches(relation.to_batches(), relation.schema, wanted.limit)
    return {"rows": preview.rows, "preview": preview}


def _show(found: dict[str, Any], wanted: Wanted) -> None:
    from crossdock.sizes import format_seconds

    seconds = format_seconds(found["seconds"])
    if wanted.count:
        output.show(str(found["rows"]))
        return
    if "preview" in found:
        output.show(found["preview"].text())
    if "profile" in found:
        output.show(("\n" if "preview" in found else "") + found["profile"].text)
    if wanted.out:
        output.say(f"wrote {found['rows']:,} rows to {wanted.out} in {seconds}")
    else:
        output.say(f"read, joined and shown in {seconds}")
