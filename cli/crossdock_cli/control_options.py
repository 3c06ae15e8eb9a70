"""Options that the verbs of the control plane share, and how their processes wait and end."""

from __future__ import annotations

import os
import resource
import signal
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crossdock_cli import output

if TYPE_CHECKING:
    from crossdock import _control

ADDRESS = "127.0.0.1:7613"
MESSAGE_LIMIT = "64MiB"
MESSAGE_BYTES_LEAST = 2**10  # as the engine has it
MESSAGE_BYTES_MOST = 2**30
_WARN_EVERY_S = 10.0

Decorated = Callable[..., Any]


def at_option(function: Decorated) -> Decorated:
    """Where the controller is."""
    return click.option(
        "--at", "address", metavar="HOST:PORT", default=ADDRESS, show_default=True,
        help="Where the controller listens.",
    )(function)  # fmt: skip


def caller_options(function: Decorated) -> Decorated:
    """What a call to the controller needs."""
    for option in (
        click.option("--insecure", is_flag=True, help="Let the token travel in the clear."),
        click.option("--key", metavar="FILE", help="The key of --cert, as PEM."),
        click.option("--cert", metavar="FILE", help="Our own certificate, where one is wanted."),
        click.option("--ca", metavar="FILE",
                     help="Authority of the controller's certificate, as PEM; means --tls."),
        click.option("--tls", is_flag=True, help="Speak TLS."),
        token_file_option,
    ):  # fmt: skip
        function = option(function)
    return function


def token_file_option(function: Decorated) -> Decorated:
    return click.option(
        "--token-file", metavar="FILE",
        help="File that holds the token of all calls, else CROSSDOCK_CONTROL_TOKEN.",
    )(function)  # fmt: skip


def message_limit_option(function: Decorated) -> Decorated:
    return click.option(
        "--message-limit", metavar="SIZE", default=MESSAGE_LIMIT, show_default=True,
        help="Largest message that is taken.",
    )(function)  # fmt: skip


def token_of(path: str | None) -> str | None:
    """The token in a file; None without a file, so that the environment decides. Errors: PathError,
    OptionError (a file that holds none: calls would else go unchecked)."""
    from crossdock.errors import make_error

    if path is None:
        return None
    try:
        with Path(path).open(encoding="utf-8") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            token = file.read().strip()
    except (OSError, ValueError) as error:
        raise make_error("CD-502", f"{path!r} cannot be read: {error}") from None
    if not token:
        raise make_error(
            "CD-105",
            f"--token-file {path!r} holds no token",
            limits="16 to 4096 bytes",
            try_=f"openssl rand -hex 32 > {path}",
        )
    if mode & 0o077:
        output.say(f"warn     {path} has mode {mode:04o}: other users may read the token")
        output.say(f"         try  chmod 600 {path}")
    return token


def message_bytes_of(size: str) -> int:
    """What --message-limit says. Errors: OptionError (no size; one that gRPC does not take)."""
    from crossdock.errors import make_error
    from crossdock.sizes import parse_bytes

    size_bytes = parse_bytes(size, "--message-limit", MESSAGE_LIMIT)
    if MESSAGE_BYTES_LEAST <= size_bytes <= MESSAGE_BYTES_MOST:
        return size_bytes
    raise make_error(
        "CD-105",
        f"--message-limit is {size}, or {size_bytes} bytes",
        limits="1KiB to 1GiB",
        try_=f"--message-limit {MESSAGE_LIMIT}",
    )


def caller_settings(address: str, options: dict[str, Any]) -> _control.ClientSettings:
    """Of a call, made of what `caller_options` took."""
    from crossdock import control

    files = control.Tls(options["ca"], options["cert"], options["key"])
    wants_tls = options["tls"] or options["ca"] is not None or options["cert"] is not None
    return control.client_settings(
        address,
        token=token_of(options["token_file"]),
        tls=files if wants_tls else False,
        insecure=options["insecure"],
    )


@contextmanager
def until_stopped() -> Iterator[threading.Event]:
    """An event that SIGTERM sets. Ctrl-C raises KeyboardInterrupt as ever."""
    stopped = threading.Event()
    before = signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGTERM, before)


class RefusalWatch:
    """Lets this process open as many files as the system allows it, and says when callers are
    refused all the same."""

    def __init__(self, server: _control.Controller | _control.Agent) -> None:
        _, self._files = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (self._files, self._files))
        self._server = server
        self._reported = 0
        self._quiet_until_s = 0.0

    def look(self) -> None:
        refused = self._server.refused_connections
        if refused == self._reported or time.monotonic() < self._quiet_until_s:
            return
        output.say(
            f"warn     {refused - self._reported} connections refused: this process may open "
            f"{self._files} files, and few are left"
        )
        output.say("         try  ulimit -Hn, or LimitNOFILE= of its unit")
        self._reported, self._quiet_until_s = refused, time.monotonic() + _WARN_EVERY_S
