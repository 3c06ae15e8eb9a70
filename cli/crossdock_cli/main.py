"""Entry of the `crossdock` command: the verbs, and how errors end a run.

Data go to standard output, talk and errors to standard error.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
import warnings

import click

from crossdock_cli import command, output

_OVER_RANKS = ("sql", "join", "groupby", "sort", "partition")
_LAST_WORDS_S = 1.0

EXIT_CODES = """Exit codes: 0 done; 1 error in the data or the run; 2 wrong usage; 3 over the memory
budget; 130 interrupted. CROSSDOCK_DEBUG=1 shows the Python trace-back of an error."""


@click.group(
    cls=command.Verbs,
    context_settings=command.SETTINGS,
    epilog=EXIT_CODES,
    verbs={
        "sql": "crossdock_cli.verbs.sql",
        "head": "crossdock_cli.verbs.head",
        "schema": "crossdock_cli.verbs.schema",
        "count": "crossdock_cli.verbs.count",
        "describe": "crossdock_cli.verbs.describe",
        "convert": "crossdock_cli.verbs.convert",
        "join": "crossdock_cli.verbs.join",
        "groupby": "crossdock_cli.verbs.groupby",
        "sort": "crossdock_cli.verbs.sort",
        "partition": "crossdock_cli.verbs.partition",
        "topo": "crossdock_cli.verbs.topo",
        "plan": "crossdock_cli.verbs.plan",
        "simulate": "crossdock_cli.verbs.simulate",
        "perf": "crossdock_cli.verbs.perf",
        "controller": "crossdock_cli.verbs.controller",
        "agent": "crossdock_cli.verbs.agent",
        "status": "crossdock_cli.verbs.status",
        "demo": "crossdock_cli.verbs.demo",
        "generate": "crossdock_cli.verbs.generate",
        "calibrate": "crossdock_cli.verbs.calibrate",
        "info": "crossdock_cli.verbs.info",
        "doctor": "crossdock_cli.verbs.doctor",
        "config": "crossdock_cli.verbs.config",
    },
    examples=(
        "crossdock demo",
        "crossdock head lineitem.parquet",
        "crossdock sql \"select l_shipmode, count(*) from 'lineitem.parquet' group by l_shipmode\"",
        "crossdock join lineitem.parquet orders.parquet --on l_orderkey=o_orderkey",
        'crossdock groupby lineitem.parquet --by l_shipmode --agg "n=count(*), q=sum(l_quantity)"',
        'crossdock sort sales.csv --by "city, price desc" --out sorted.parquet',
    ),
)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False,
              callback=lambda ctx, _, asked: _show_version(ctx) if asked else None,
              help="Show the version and exit.")  # fmt: skip
def cli() -> None:
    """Joins, groups and sorts tables on every core of this machine: Arrow in, Arrow out."""


def main() -> None:
    """Runs the command line and ends the process with one of the documented exit codes."""
    warnings.showwarning = _show_warning
    code = run(sys.argv[1:])
    if code and output.is_hushed():
        # A launcher ends all ranks when one has ended with an error; the one that talks needs time.
        time.sleep(_LAST_WORDS_S)
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Runs one command line; gives its exit code. Errors are written to standard error; of ranks
    that were started together, by the first one."""
    output.hush(bool(arguments) and arguments[0] in _OVER_RANKS and _is_later_rank())
    try:
        ended = cli.main(arguments, prog_name="crossdock", standalone_mode=False)
        sys.stdout.flush()
        # A verb that ends its context with a code has said all there is to say.
        return ended if isinstance(ended, int) else 0
    except click.ClickException as error:
        if not output.is_hushed():
            error.show(sys.stderr)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        output.say("\ninterrupted")
        return 130
    except (BrokenPipeError, SystemExit):
        # The reader of our output has what it wanted (`| head`), which click tells by SystemExit.
        # Python must not flush to it again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except Exception as error:  # noqa: BLE001 - the last place that can explain it
        return _explain(error)


def _explain(error: Exception) -> int:
    from crossdock.errors import CapacityError, CrossdockError, part
    from crossdock.settings import setting

    if setting("debug") not in ("", "0"):
        traceback.print_exc()
        return 3 if isinstance(error, MemoryError) else 1
    if isinstance(error, CrossdockError):
        output.say(error.report())
        return 3 if isinstance(error, CapacityError) else 1
    text = f"{type(error).__name__}: {error}"
    hint = part("try", "CROSSDOCK_DEBUG=1 for the trace-back")
    click.echo(f"crossdock: {text}{hint}", err=True)
    return 3 if isinstance(error, MemoryError) else 1


def _is_later_rank() -> bool:
    """Whether a launcher started this process as one of several, and not as the first. What the
    environment says wrong is an error of the verb, in every rank."""
    from crossdock import _native

    try:
        return _native.launch_place()[0] > 0
    except _native.NativeError:
        return False


def _show_version(context: click.Context) -> None:
    from crossdock import __version__

    click.echo(f"crossdock {__version__}")
    context.exit()


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    click.echo(f"warn     {message}", err=True)


if __name__ == "__main__":
    main()
