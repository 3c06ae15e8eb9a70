"""Docks are opened here: by `connect`, or as the default one, on which `xd.sql(...)`,
`xd.read_parquet(...)` and the like run."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from crossdock import _native, sizes
from crossdock.errors import make_error, public_errors, unknown_choice
from crossdock.files.paths import Paths
from crossdock.machines.rates_file import use_rates_of_file
from crossdock.plan.nodes import Node
from crossdock.relation import Relation
from crossdock.session import Dock
from crossdock.settings import check_environment, setting

if TYPE_CHECKING:
    from crossdock.group import Group
    from crossdock.sql_frontend.queries import Parameters

_lock = threading.Lock()
_opened: Dock | None = None
_RANKS = ("auto", "off")
_MOST_DIGITS = 9  # of a number that the engine can look at
_MOVES = ("auto", "bulk", "channels")


def connect(
    threads: int | None = None,
    memory: str | int | None = None,
    *,
    group: Group | None = None,
    ranks: str = "auto",
    moves: str | None = None,
    open_within_s: float | None = None,
    step_within_s: float | None = None,
) -> Dock:
    """Opens a dock on this machine; or, in a process that mpirun or srun started among others, over
    all of them, which call it together.

    group: the ranks of the dock, such as join_group gives them; those that were started with this
        process are found by themselves.
    ranks: "off" for a dock of this process alone, whatever started it.
    moves: how rows go between ranks. "auto" (or CROSSDOCK_MOVES): in bulk, by puts of MPI, where it
        started the ranks and can put to all hosts, else by channel, which is logged then; "bulk":
        in bulk, or an error that says why not; "channels": by channel.
    threads: worker threads; None or 0 means one per core (or CROSSDOCK_THREADS).
    memory: budget of the operators in bytes, or a size such as "8GiB"; None or 0 means 80 % of
        the memory this process may use (or CROSSDOCK_MEMORY). Data of sources do not count.
        Ranks that share a machine share its cores and its memory where nothing is said.
    open_within_s, step_within_s: how long ranks that are joined here wait for each other; as
        for join_group.
    Errors: OptionError for a bad value or a misspelled CROSSDOCK_* variable; over ranks those of
    join_group.
    Cost: well below a millisecond; the first call in a process also imports pyarrow. Thread-safe.
    """
    check_environment()
    wanted_threads = setting("threads", None if threads is None else str(threads))
    wanted_memory = setting("memory", None if memory is None else str(memory))
    if not wanted_threads.isdecimal() or len(wanted_threads) > _MOST_DIGITS:
        raise make_error(
            "CD-105",
            f"threads={wanted_threads!r} is not a number of threads",
            limits="0 to 1024",
            try_="threads=0 for one per core",
        )
    if ranks not in _RANKS:
        raise unknown_choice("ranks", ranks, _RANKS)
    wanted_moves = setting("moves", moves)
    if wanted_moves not in _MOVES:
        raise unknown_choice("moves", wanted_moves, _MOVES)
    asked = (int(wanted_threads), sizes.parse_bytes(wanted_memory))
    use_rates_of_file()
    if group is None and (ranks == "off" or not _native.launch_variable()):
        with public_errors():
            return Dock(_native.Engine(*asked), restored)
    from crossdock.ranks import session

    opened = session.open_ranks(group, asked, wanted_moves, open_within_s, step_within_s)
    engine, members, owned = opened
    return Dock(engine, restored, members, owned)


def default_dock() -> Dock:
    """The dock that the functions of this module use: opened by the first of them, on all cores of
    this machine, and again where it was closed. Thread-safe. Errors as for `connect`."""
    global _opened
    with _lock:
        if _opened is None or not _opened.is_open:
            _opened = connect()
        return _opened


def restored(node: Node) -> Relation:
    """The relation of a pickle, on the default dock."""
    return Relation(default_dock(), node)


def sql(text: str, parameters: Parameters = None) -> Relation:
    """`Dock.sql` on the default dock."""
    return default_dock().sql_session().run(text, parameters, sys._getframe(1))


def register(name: str, data: object) -> None:
    """`Dock.register` on the default dock."""
    default_dock().register(name, data)


def from_arrow(data: object) -> Relation:
    """`Dock.from_arrow` on the default dock."""
    return default_dock().from_arrow(data)


def read(paths: Paths, **options: Any) -> Relation:
    """`Dock.read` on the default dock."""
    return default_dock().read(paths, **options)


def read_parquet(paths: Paths, **options: Any) -> Relation:
    """`Dock.read_parquet` on the default dock, with its options."""
    return default_dock().read_parquet(paths, **options)


def read_csv(paths: Paths, **options: Any) -> Relation:
    """`Dock.read_csv` on the default dock, with its options."""
    return default_dock().read_csv(paths, **options)


def read_csv_rejects(paths: Paths, **options: Any) -> Relation:
    """`Dock.read_csv_rejects` on the default dock, with its options."""
    return default_dock().read_csv_rejects(paths, **options)


def read_json(paths: Paths, **options: Any) -> Relation:
    """`Dock.read_json` on the default dock, with its options."""
    return default_dock().read_json(paths, **options)


def read_json_rejects(paths: Paths, **options: Any) -> Relation:
    """`Dock.read_json_rejects` on the default dock, with its options."""
    return default_dock().read_json_rejects(paths, **options)


def read_ipc(paths: Paths, **options: Any) -> Relation:
    """`Dock.read_ipc` on the default dock, with its options."""
    return default_dock().read_ipc(paths, **options)


def read_delta(table: Any, **options: Any) -> Relation:
    """`Dock.read_delta` on the default dock, with its options."""
    return default_dock().read_delta(table, **options)


def read_iceberg(table: Any, **options: Any) -> Relation:
    """`Dock.read_iceberg` on the default dock, with its options."""
    return default_dock().read_iceberg(table, **options)


def from_substrait(plan: bytes, tables: Mapping[str, Relation] | None = None) -> Relation:
    """`Dock.from_substrait` on the default dock."""
    return default_dock().from_substrait(plan, tables)
