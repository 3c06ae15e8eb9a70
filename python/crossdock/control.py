"""The control plane: endpoints and channels among the servers that agents look after.

    from crossdock import control
    with control.connect("127.0.0.1:7613") as plane:
        ends = [plane.create_endpoint("node0", "gpu0"), plane.create_endpoint("node1", "gpu0")]
        channel = plane.create_channel(ends, ends)
        print(plane.status().open_channels)
        plane.delete_channel(channel)

A call that the network lost is repeated with the same request id until its time is over, so nothing
is made twice. Ids are strings. A connection may be shared between threads.
"""

from __future__ import annotations

import importlib
import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from crossdock.control_diagnosis import diagnose, why_not_listening
from crossdock.errors import ControlError, CrossdockError, from_native, make_error
from crossdock.settings import setting

if TYPE_CHECKING:
    from types import ModuleType, TracebackType

    import pyarrow as pa

    from crossdock import _control

Value = TypeVar("Value")

# Longer than a connection takes; then it is found out why there is none.
_FIRST_TRY_S = 1.5
_WAITED = re.compile(r"waited [0-9.]+ s")


@dataclass(frozen=True)
class Tls:
    """Files in PEM. `ca` signed the certificate of the other side; None: the system's authorities.
    `certificate` and `key` are our own, where the other side asks for them."""

    ca: str | Path | None = None
    certificate: str | Path | None = None
    key: str | Path | None = None


@dataclass(frozen=True)
class AgentStatus:
    """An agent. `state` is "joined" or "away": its connection broke a moment ago."""

    name: str
    state: str
    gpus: int
    nics: int
    endpoints: int
    channels: int
    silent_s: float  # since its last message


@dataclass(frozen=True)
class ChannelStatus:
    """A channel. `state` is "opening", "open", "recovering" or "closing"."""

    id: str
    state: str
    sources: int
    destinations: int
    agents: int


@dataclass(frozen=True)
class ControlStatus:
    """What a controller knows; `channels` are the newest 1,000."""

    epoch: str
    up_s: float
    endpoints: int
    open_channels: int
    channels_created: int  # in this epoch
    channels_closed: int
    agents: tuple[AgentStatus, ...]
    channels: tuple[ChannelStatus, ...]


def connect(
    address: str | None = None,
    *,
    token: str | None = None,
    tls: Tls | bool = False,
    insecure: bool = False,
    timeout_s: float = 10.0,
    message_limit_bytes: int | None = None,
) -> Connection:
    """A connection to the controller, or to an agent that listens, at `address`.

    `token` is CROSSDOCK_CONTROL_TOKEN where it is None. `insecure` lets it travel in the clear. A
    call waits up to `timeout_s`. Errors: ControlError (no gRPC; a token that would travel in the
    clear), OptionError (an address, token or time that is none), PathError (a file of `tls`). Does
    not connect before the first call.
    """
    settings = client_settings(address, token=token, tls=tls, insecure=insecure)
    if message_limit_bytes is not None:
        settings.message_bytes_max = message_limit_bytes
    return Connection(settings, timeout_s)


def client_settings(
    address: str | None, *, token: str | None, tls: Tls | bool, insecure: bool
) -> _control.ClientSettings:
    """What the module with gRPC wants to know."""
    settings: _control.ClientSettings = module().ClientSettings()
    if address is not None:
        settings.address = address
    security = settings.security
    security.token = setting("control_token", token)
    security.is_insecure = insecure
    security.uses_tls = bool(tls)
    files = tls if isinstance(tls, Tls) else Tls()
    security.ca_pem = read_pem(files.ca)
    security.certificate_pem = read_pem(files.certificate)
    security.key_pem = read_pem(files.key)
    return settings


class Connection:
    """Calls to the control plane. Thread-safe. Errors of all calls: ControlError."""

    def __init__(self, settings: _control.ClientSettings, timeout_s: float) -> None:
        """Use `connect`."""
        # Written so that NaN, which is above nothing, is refused too.
        if not 0 < timeout_s < math.inf:
            raise make_error(
                "CD-105",
                f"timeout_s={timeout_s!r} is no time to wait",
                limits="above 0 s, and finite",
                try_="timeout_s=10",
            )
        self._settings = settings
        self._timeout_s = timeout_s
        self._native: _control.Client = native(lambda: module().Client(settings))

    def create_endpoint(self, agent: str, vertex: str, *, request: str | None = None) -> str:
        """Registers the device `vertex` ("gpu0") of the server `agent`; its id.

        `request` is 32 hexadecimal digits: the same ones give the same endpoint."""
        asked = request or module().make_request_id()
        return self._call(lambda s: self._native.create_endpoint(agent, vertex, asked, s))

    def delete_endpoint(self, endpoint: str) -> None:
        """Takes an endpoint back that no channel uses. One that is gone already is no error."""
        self._call(lambda s: self._native.delete_endpoint(endpoint, s))

    def create_channel(
        self,
        sources: Sequence[str],
        destinations: Sequence[str],
        *,
        schema: pa.Schema | None = None,
        partition_key: Sequence[str] = (),
        request: str | None = None,
    ) -> str:
        """Opens a channel from each source to each destination; its id, once every agent is ready.

        `partition_key` names columns of `schema`, whose values pick the destination of a row.
        Errors also: ColumnError (a key that is not in the schema)."""
        written = b"" if schema is None else schema.serialize().to_pybytes()
        rows = (written, _places(schema, partition_key))
        ends = (list(sources), list(destinations))
        asked = request or module().make_request_id()
        return self._call(lambda s: self._native.create_channel(ends, rows, asked, s))

    def delete_channel(self, channel: str) -> None:
        """Closes a channel everywhere. One that is gone already is no error."""
        self._call(lambda s: self._native.delete_channel(channel, s))

    def status(self) -> ControlStatus:
        """What the controller knows now."""
        answer: dict[str, Any] = self._call(self._native.status)
        agents = tuple(AgentStatus(**row) for row in answer.pop("agents"))
        channels = tuple(ChannelStatus(**row) for row in answer.pop("channels"))
        return ControlStatus(agents=agents, channels=channels, **answer)

    def close(self) -> None:
        """Nothing has to be closed on the other side: endpoints and channels stay."""

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    def _call(self, act: Callable[[float], Value]) -> Value:
        """Acts within the time there is; if no agent answers at first, finds out why."""
        deadline_s = time.monotonic() + self._timeout_s
        first_s = min(_FIRST_TRY_S, self._timeout_s / 2)
        try:
            return native(lambda: act(first_s))
        except ControlError as error:
            if error.code != "CD-611":
                raise
            # Of what is left at most half: the controller may only be slow, and answer yet.
            left_s = (deadline_s - time.monotonic()) / 2
            explanation = explained(error, self._settings, within_s=left_s)
            if explanation is not error:
                raise explanation from None
        try:
            return native(lambda: act(deadline_s - time.monotonic()))
        except ControlError as error:
            if error.code != "CD-611":
                raise
            waited = f"waited {self._timeout_s:.1f} s"
            raise ControlError(error.code, _WAITED.sub(waited, error.text)) from None


def explained(
    error: CrossdockError, settings: _control.ClientSettings, *, within_s: float = 4.0
) -> CrossdockError:
    """The error that says why no agent could be reached, if that can be found out; else `error`."""
    if error.code != "CD-611" or within_s <= 0:
        return error
    return diagnose(settings.address, settings.security, within_s) or error


def unless_tls(error: ControlError, options: dict[str, Any]) -> CrossdockError:
    """The error of a meeting, or that the control plane there speaks TLS and was called without."""
    by_environment = options["how"] == "environment"
    address = setting("control") if by_environment else options.get("address", "")
    uses_tls = bool(setting("control_ca")) if by_environment else options.get("uses_tls", False)
    if error.code != "CD-611" or not address or uses_tls:
        return error
    return explained(error, client_settings(address, token="", tls=False, insecure=True))


def listening(act: Callable[[], Value], server: _control.ServerSettings) -> Value:
    """Acts; if it cannot listen as `server` says, the error says why."""
    try:
        return native(act)
    except ControlError as error:
        if error.code != "CD-611":
            raise
        security = server.security
        pair = (security.certificate_pem, security.key_pem)
        raise why_not_listening(server.listen, pair, security.client_ca_pem) or error from None


def native(act: Callable[[], Value]) -> Value:
    """Acts; errors of the module are raised as those of the package."""
    try:
        return act()
    except module().NativeError as error:
        raise from_native(error) from None


def module() -> ModuleType:
    """crossdock._control. Errors: ControlError (gRPC is missing)."""
    try:
        return importlib.import_module("crossdock._control")
    except ModuleNotFoundError:
        raise make_error(
            "CD-508",
            "the control plane speaks gRPC, and Crossdock was built without it",
            try_="make ranks in Crossdock's sources; or apt-get install libgrpc++-dev "
            "libprotobuf-dev protobuf-compiler protobuf-compiler-grpc, then install it again",
        ) from None
    except ImportError as error:
        raise make_error(
            "CD-508",
            f"the control plane speaks gRPC, whose library does not load: {error}",
            try_="apt-get install libgrpc++1.51",
        ) from None


def read_pem(path: str | Path | None) -> str:
    """The text of a file; "" for none. Errors: PathError."""
    if path is None:
        return ""
    try:
        # What stands beside certificates is remarks, in whatever encoding.
        return Path(path).read_text(encoding="ascii", errors="ignore")
    except OSError as error:
        raise make_error("CD-502", f"{str(path)!r} cannot be read: {error}") from None


def _places(schema: pa.Schema | None, names: Sequence[str]) -> list[int]:
    columns = [] if schema is None else list(schema.names)
    for name in names:
        if columns.count(name) != 1:
            raise make_error(
                "CD-101",
                f"{name!r} is not one column of the schema",
                columns=", ".join(columns[:12]) or "(none)",
            )
    return [columns.index(name) for name in names]
