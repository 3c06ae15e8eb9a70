"""Every error Crossdock raises: a class to catch, a stable code, and a text in five parts.

The text says what happened, then on lines of their own where, which values, whose limit, and the
next step to try. The engine's codes are declared in the engine; the codes of this front end
(CD-5xx) are declared here. `error_table()` shows both.
"""

from __future__ import annotations

import builtins
import contextlib
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping

from crossdock import _native

_FRONT_END: tuple[tuple[str, str, str], ...] = (
    ("CD-501", "ClosedError", "a dock was used after it was closed"),
    ("CD-502", "PathError", "a path has nothing to read, or cannot be written"),
    ("CD-503", "PathError", "a file has a format Crossdock does not read or write"),
    ("CD-504", "ExpressionError", "an expression does not fit the columns it names"),
    ("CD-505", "OptionError", "a setting or option has an unknown name"),
    ("CD-506", "TypeError", "an object does not export Arrow data"),
    ("CD-507", "TypeError", "relations to be united have columns of different types"),
    ("CD-508", "ControlError", "this installation lacks gRPC, which the control plane needs"),
    ("CD-509", "ControlError", "another rank of the dock failed with an error of its own program"),
    ("CD-510", "DeviceError", "a device cannot be opened: no driver, no such GPU, no CUDA built"),
    ("CD-511", "DeviceError", "data lie on a device out of reach, or cannot be shared as asked"),
    ("CD-512", "SqlError", "a text is no SQL, or names what is not there"),
    ("CD-513", "SqlError", "a text has SQL that Crossdock does not run"),
    ("CD-514", "SqlError", "this installation lacks the packages that SQL needs"),
)


_CODE = re.compile(r"\[?(CD-\d{3})\]?")


def printable(text: str, kept: str = "") -> str:
    """`text` with control characters but those `kept` as escapes: names of columns and files are
    chosen by others, and must not command the terminal they are shown on."""
    return "".join(c if c.isprintable() or c in kept else repr(c)[1:-1] for c in text)


class CrossdockError(Exception):
    """Base of all errors; `code` is stable across versions, `text` is the message without it."""

    code: str
    text: str

    def __init__(self, code: str, text: str) -> None:
        super().__init__(code, text)
        self.code = code
        self.text = text

    def __str__(self) -> str:
        return f"[{self.code}] {self._shown()}"

    def report(self) -> str:
        """The error as the command line prints it: `crossdock.Class [code]: text`."""
        return f"crossdock.{type(self).__name__} [{self.code}]: {self._shown()}"

    def _shown(self) -> str:
        return printable(self.text, kept="\n")


class ColumnError(CrossdockError, LookupError):
    """A column name is unknown, or stands for two columns."""


class TypeError(CrossdockError, builtins.TypeError):
    """A column has a type that is not taken where it stands, or two keys cannot be compared."""


class OptionError(CrossdockError, ValueError):
    """An option or setting has an unknown name or a value outside its limits."""


class CapacityError(CrossdockError, MemoryError):
    """An operator needs more than the memory budget, or there are more rows than it can number."""


class DataError(CrossdockError, ValueError):
    """The data break the rules of their format, or their source stopped with an error."""


class CancelledError(CrossdockError):
    """The run was cancelled from another thread."""


class ExpressionError(CrossdockError, ValueError):
    """An expression does not fit its columns, or raised while it was evaluated."""


class TopologyError(CrossdockError, ValueError):
    """A description of machines breaks its rules, or names a machine that is not known."""


class ControlError(CrossdockError, RuntimeError):
    """The controller, an agent or a channel of theirs cannot do what was asked of it."""


class DeviceError(CrossdockError, RuntimeError, BufferError):
    """A device cannot be opened, or does not reach or share the memory it was asked for."""


class SqlError(CrossdockError, ValueError):
    """An SQL text has an error, names what is not there, or has what Crossdock does not run."""

    parts: tuple[str, str, str] | None = None  # of one whose place is to be found yet


class InternalError(CrossdockError, RuntimeError):
    """A broken promise inside Crossdock: please report it with `crossdock info`."""


class ClosedError(CrossdockError, RuntimeError):
    """A dock, or a relation of it, was used after the dock was closed."""


class PathError(CrossdockError, FileNotFoundError):
    """A path has nothing to read, cannot be written, or has a format that is not known."""

    def __str__(self) -> str:
        return CrossdockError.__str__(self)


_CLASSES: dict[str, type[CrossdockError]] = {
    cls.__name__: cls for cls in CrossdockError.__subclasses__()
}
for _cls in (CrossdockError, *_CLASSES.values()):
    _cls.__module__ = "crossdock"  # users read and catch crossdock.ColumnError


def error_table() -> list[tuple[str, str, str]]:
    """(code, class name, one line) of every error, in ascending order of code. Thread-safe."""
    return sorted([*_native.error_table(), *_FRONT_END])


def make_error(code: str, what: str, **parts: str) -> CrossdockError:
    """The error `code` with its text: `what`, then one line for each part that is not empty.

    Parts are named by their keyword (where, values, limits, try_ ...), in the order given.
    """
    kind = next(kind for known, kind, _ in error_table() if known == code)
    shown = [part(name.rstrip("_"), text) for name, text in parts.items() if text]
    return _CLASSES[kind](code, what + "".join(shown))


def part(name: str, text: str) -> str:
    """A line below the first of an error's text. tools/tidy.py checks that the engine's errors have
    the same columns."""
    return f"\n  {name:<8} {text}"


def error_of(code: str, text: str) -> CrossdockError:
    """The error of this code with a whole text, as another process raised it."""
    kind = next((kind for known, kind, _ in error_table() if known == code), "InternalError")
    return _CLASSES[kind](code, text)


def wire_text(error: BaseException) -> str:
    """An error as ranks tell each other: the number of its code, and its text."""
    if isinstance(error, CrossdockError) and error.code:
        return f"{error.code.removeprefix('CD-')} {error.text}"
    return f"617 {type(error).__name__}: {error}"


def from_native(error: Exception) -> CrossdockError:
    """The public error that stands for one of the engine."""
    code, kind, message = error.args
    plain = message.replace("\x01", "")  # which names of columns begin with that no user has given
    return _CLASSES.get(kind, InternalError)(code, plain)


def reason_of(error: _native.NativeError) -> str:
    """What an error of the engine says, without its code and class."""
    return str(error.args[2])


@contextlib.contextmanager
def public_errors() -> Iterator[None]:
    """Turns the engine's errors raised inside into public ones. Thread-safe."""
    try:
        yield
    except _native.NativeError as error:
        raise from_native(error) from None


@contextlib.contextmanager
def system_limits(doing: object) -> Iterator[None]:
    """Turns what is raised inside when the system has no more memory or threads to give into a
    CapacityError. Thread-safe."""
    try:
        yield
    except CrossdockError:
        raise
    except MemoryError as error:
        raise _at_limit(doing, "the system has no more memory to give") from error
    except RuntimeError as error:
        if "start new thread" not in str(error):
            raise
        raise _at_limit(doing, "the system refused to start a thread") from error


def _at_limit(doing: object, reason: str) -> CrossdockError:
    return make_error(
        "CD-201", f"{doing}: {reason}", try_="a higher limit of memory or processes (ulimit -a)"
    )


@contextlib.contextmanager
def stream_errors() -> Iterator[None]:
    """Turns what pyarrow raises for a failed Arrow stream into the public error whose code the
    stream's text carries, or into a DataError where it carries none. Thread-safe."""
    import pyarrow as pa

    with system_limits("a stream"):
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, CrossdockError):
                raise
            text = str(error)
            code = _CODE.search(text)
            kinds = {known: kind for known, kind, _ in error_table()}
            if code is not None and code[1] in kinds:
                message = text[code.end() :].lstrip(" :")
                raise _CLASSES[kinds[code[1]]](code[1], message) from None
            if isinstance(error, MemoryError):  # of pyarrow itself
                raise
            raise make_error("CD-302", f"a stream stopped: {text}") from error


def nearest(word: str, candidates: Iterable[str]) -> str:
    """The candidate spelled most like `word`, ignoring case; "" when none is near."""
    by_lower = {candidate.lower(): candidate for candidate in candidates}
    matches = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[matches[0]] if matches else ""


_COMPUTING = ("select()", "with_columns()", "group_by()", "distinct()", "agg()")
_SIGNS = frozenset("+*/%()<>=|")  # of expressions, in place of a column's name


def unknown_column(name: str, columns: Iterable[str], where: str) -> CrossdockError:
    """ColumnError for `name`, which is none of `columns`; proposes the nearest name."""
    known = [printable(column) for column in columns]
    close = nearest(name, known)
    shown = ", ".join(known[:12]) + (f", … {len(known) - 12} more" if len(known) > 12 else "")
    try_ = f"{close!r}" if close else "one of the columns above"
    if where in _COMPUTING and not _SIGNS.isdisjoint(name):
        all_columns = "with_columns(...) keeps all columns"
        try_ = all_columns if name == "*" else f"xd.sql_expr({name!r}), which is computed"
    return make_error(
        "CD-101", f"no column {name!r} in {where}", columns=shown or "(none)", try_=try_
    )


def unknown_choice(
    option: str, value: object, choices: Iterable[str], synonyms: Mapping[str, str] | None = None
) -> CrossdockError:
    """OptionError for an option that takes one of a few words; proposes the nearest, or the one
    that `synonyms` gives for a word of other tools."""
    known = list(choices)
    close = (synonyms or {}).get(str(value), nearest(str(value), known))
    return make_error(
        "CD-105",
        f"{option}={value!r} is not a choice",
        choices=", ".join(known),
        try_=f"{option}={close!r}" if close else f"{option}={known[0]!r}",
    )


def first_line(error: BaseException) -> str:
    """What an error says, without the stack of the library that raised it."""
    return (str(error).splitlines() or [type(error).__name__])[0]
