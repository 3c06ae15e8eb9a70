"""Docks are opened here: by `connect`, or as the default one, on which `xd.sql(...)`,
`xd.read_parquet(...)` and the like run."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from crossdock import _native, sizes
from crossdock.errors import make_error, public_errors, unknown_choice
from crossdock.familiar_options import answering
from crossdock.machines.rates_file import use_rates_of_file
from crossdock.plan.nodes import Node
from crossdock.relation import Relation
from crossdock.session import Dock
from crossdock.settings import check_environment, setting

if TYPE_CHECKING:
    from crossdock.group import Group
    from crossdock.sql_frontend.queries import Parameters

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")

_lock = threading.Lock()
_opened: Dock | None = None
_RANKS = ("auto", "off")
_MOST_DIGITS = 9  # of a number that the engine can look at
_MOVES = ("auto", "bulk", "channels")


@answering
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
            try_="threads=0 for one per core; files are not opened by connect(), but read by FROM",
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


@answering
def sql(text: str, parameters: Parameters = None) -> Relation:
    """`Dock.sql` on the default dock."""
    return default_dock().sql_session().run(text, parameters, sys._getframe(2))


def _on_default(method: Callable[Concatenate[Dock, _Given], _Result]) -> Callable[_Given, _Result]:
    """A method of docks as a function, which calls that of the default dock."""

    @functools.wraps(method, assigned=("__name__", "__doc__"))
    def call(*args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
        return method(default_dock(), *args, **kwargs)

    call.__qualname__ = method.__name__  # by which it is pickled
    _, *parameters = inspect.signature(method).parameters.values()
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return call


register = _on_default(Dock.register)
unregister = _on_default(Dock.unregister)
from_arrow = _on_default(Dock.from_arrow)
read = _on_default(Dock.read)
read_parquet = _on_default(Dock.read_parquet)
read_csv = _on_default(Dock.read_csv)
read_csv_rejects = _on_default(Dock.read_csv_rejects)
read_json = _on_default(Dock.read_json)
read_json_rejects = _on_default(Dock.read_json_rejects)
read_ipc = _on_default(Dock.read_ipc)
read_delta = _on_default(Dock.read_delta)
read_iceberg = _on_default(Dock.read_iceberg)
from_substrait = _on_default(Dock.from_substrait)
