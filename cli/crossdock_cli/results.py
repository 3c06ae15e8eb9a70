"""What all verbs that make a table have in common: the options that say what to do with it, and
doing that."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crossdock_cli import command as verbs
from crossdock_cli import file_options, output, rows
from crossdock_cli.termination import removing_unfinished

if TYPE_CHECKING:
    from crossdock.relation import Relation
    from crossdock.session import Dock

_MOST_ROWS = (1 << 63) - 1
MOVES = ("auto", "bulk", "channels")


@dataclass(frozen=True)
class Request:
    """What the command line asks for, besides the relation itself."""

    out: str | None
    kind: str | None  # of rows.KINDS
    overwrite: bool
    limit: int
    count: bool
    explain: bool
    profile: bool
    json: bool

    @staticmethod
    def from_options(options: dict[str, Any]) -> Request:
        """The part of a verb's options that is named here; click.UsageError for two that cannot go
        together."""
        request = Request(*(options[name] for name in Request.__dataclass_fields__))
        asked = [name for name in ("explain", "count", "out") if getattr(request, name)]
        if len(asked) > 1:
            raise click.UsageError(f"--{asked[0]} and --{asked[1]} cannot go together.")
        if request.kind and (other := [n for n in ("count", "explain", "json") if options[n]]):
            raise click.UsageError(f"--format and --{other[0]} cannot go together.")
        if request.overwrite and not request.out:
            raise click.UsageError("--overwrite goes with --out FILE.")
        if request.profile and asked and asked[0] != "out":
            raise click.UsageError(f"--profile and --{asked[0]} cannot go together.")
        if request.kind not in (None, "table"):
            refuse_limit("format", "shows all rows")
        if asked:
            refuse_limit(asked[0])
        return request


MOVES_OPTION = click.option(
    "--moves", type=verbs.Word(MOVES), metavar="HOW",
    help=f"How rows go between ranks: {', '.join(MOVES)}.  [default: auto]",
)  # fmt: skip


OPEN_WITHIN = click.option(
    "--open-within", type=float, metavar="SECONDS",
    help="Of ranks: wait so long for each other.",
)  # fmt: skip


STEP_WITHIN = click.option(
    "--step-within", type=float, metavar="SECONDS",
    help="Of ranks: wait so long in each step they all take.",
)  # fmt: skip


def refuse_limit(other: str, does: str = "shows nothing") -> None:
    """click.UsageError for a --limit that was given beside an option that does without."""
    context = click.get_current_context()
    if context.get_parameter_source("limit") == click.core.ParameterSource.COMMANDLINE:
        by_sort = "; --top cuts the result" if "top" in context.params else ""
        raise click.UsageError(f"--limit says how much is shown, and --{other} {does}{by_sort}.")


def result_options(instead: str) -> Callable[[verbs.Decorated], verbs.Decorated]:
    """The options of `Request` and of the dock; `instead` says what --explain does not do."""
    return verbs.all_of(
        click.option("-o", "--out", metavar="FILE",
                     help="Write the result to .parquet, .arrow, .csv, .json or .ndjson, in place "
                     "of a file that is there; not of an input. Under mpirun a name without ending "
                     "is a new folder, with a file of each rank."),
        file_options.FORMAT,
        file_options.OVERWRITE,
        click.option("--limit", type=click.IntRange(0), default=10, show_default=True,
                     metavar="N", help="Rows to show."),
        click.option("--count", is_flag=True, help="Print only the number of rows."),
        plan_options(instead),
    )  # fmt: skip


def plan_options(instead: str) -> Callable[[verbs.Decorated], verbs.Decorated]:
    """--explain, --profile, and the options of the dock."""
    return verbs.all_of(
        click.option("--explain", is_flag=True,
                     help=f"Print the plan with predicted times; {instead}."),
        click.option("--profile", is_flag=True,
                     help="Print predicted beside measured times as well."),
        verbs.THREADS,
        verbs.MEMORY,
        MOVES_OPTION,
        OPEN_WITHIN,
        STEP_WITHIN,
        click.option("--json", is_flag=True, help="Print JSON with a schema_version."),
    )  # fmt: skip


def open_dock(options: dict[str, Any]) -> Dock:
    """The dock of a verb; under mpirun or srun it is over all ranks, of which the first talks."""
    import crossdock as xd

    settings = {name: options[name] for name in ("threads", "memory", "moves")}
    dock = xd.connect(
        **settings,
        open_within_s=options["open_within"],
        step_within_s=options["step_within"],
    )
    output.hush(dock.rank != 0)
    return dock


def run(dock: Dock, relation: Relation, request: Request, done: str) -> None:
    """Runs the relation and prints or writes what is wanted; `done` says so at the end."""
    from crossdock_cli.progress import progress_bar

    if request.explain:
        show_plan(dock, lambda: relation.explain(read=True), request.json)
        return
    start = time.perf_counter()
    if request.kind not in (None, "table") and not request.out:
        _print_all(dock, relation, request)
        output.say(f"{done} in {rows.seconds_since(start)}")
        return
    with progress_bar(dock), removing_unfinished() if request.out else contextlib.nullcontext():
        produced = _produce(dock, relation, request)
    produced["seconds"] = time.perf_counter() - start
    if request.json:
        preview, profile = produced.pop("preview", None), produced.pop("profile", None)
        if preview is not None:
            produced["columns"] = [{"name": f.name, "type": str(f.type)} for f in relation.schema]
            produced["preview"] = preview.records()
        if profile is not None:
            produced["profile"] = profile.data
        output.show_json(produced)
    else:
        _show(produced, request, done)


def _print_all(dock: Dock, relation: Relation, request: Request) -> None:
    """All rows on standard output; what was measured beside them, among the talk."""
    if request.profile:
        profile = relation.profile()
        output.say(profile.text)
        is_replicated = profile.data.get("is_replicated", False)
        relation = dock.from_arrow(profile.table, replicated=is_replicated)
    rows.show_rows(dock, relation, rows.Shown(str(request.kind), request.limit))


def show_plan(dock: Dock, make: Callable[[], Any], as_json: bool) -> None:
    """A plan as text or JSON. Of ranks each makes its own, and the error of one is that of all."""
    ranks = dock.over_ranks()
    with contextlib.nullcontext() if ranks is None else ranks.call("explain"):
        plan = make()
    output.show_json(plan.data) if as_json else output.show(plan)


def _produce(dock: Dock, relation: Relation, request: Request) -> dict[str, Any]:
    """Runs the relation: rows, and what else was asked for."""
    if request.out:
        has_kind = request.kind is not None
        relation.require_target(request.out, overwrite=request.overwrite, any_name=has_kind)
    if request.count:
        return {"rows": relation.count()}
    report: dict[str, Any] = {}
    if request.profile:
        report["profile"] = profile = relation.profile()
        is_replicated = profile.data.get("is_replicated", False)
        relation = dock.from_arrow(profile.table, replicated=is_replicated)
    if request.out:
        target = rows.Target(Path(request.out), request.kind, overwrite=True)
        return {**report, "rows": rows.write_rows(relation, target), "out": request.out}
    preview = relation.preview(min(request.limit, _MOST_ROWS), whole=True)
    return {**report, "rows": preview.rows, "preview": preview}


def _show(produced: dict[str, Any], request: Request, done: str) -> None:
    from crossdock.sizes import format_seconds

    seconds = format_seconds(produced["seconds"])
    if request.count:
        output.show(str(produced["rows"]))
        return
    if "preview" in produced:
        output.show(produced["preview"].text())
    if "profile" in produced:
        output.show(("\n" if "preview" in produced else "") + produced["profile"].text)
    if request.out:
        output.say(f"wrote {produced['rows']:,} rows to {request.out} in {seconds}")
    else:
        output.say(f"{done} in {seconds}")
