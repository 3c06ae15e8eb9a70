"""Why a controller cannot be reached, or cannot listen: gRPC says only that it could not, so the
same is tried once more by hand, with words for what goes wrong.

Nothing is sent but a TLS greeting. Done after a call has failed, within the time it still has.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import ssl
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from crossdock.errors import CrossdockError, make_error

if TYPE_CHECKING:
    from crossdock import _control

_WAIT_S = 1.0  # at most, for each step
_REASONS = {
    errno.EADDRINUSE: (
        "another process has the port",
        "--listen 127.0.0.1:0 for a free port  ·  crossdock status, if a controller runs already",
    ),
    errno.EADDRNOTAVAIL: (
        "the address is not one of this machine",
        "--listen 127.0.0.1:0, or 0.0.0.0 for all addresses of this machine",
    ),
    errno.EACCES: (
        "this user may not take the port",
        "a port from 1024 on  ·  --listen 127.0.0.1:0 for a free one",
    ),
}


@dataclass(frozen=True)
class _Place:
    """Where to connect, and until when."""

    host: str
    port: int
    deadline_s: float

    def wait_s(self) -> float:
        """Of the next step. Errors: TimeoutError."""
        left_s = self.deadline_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        return min(_WAIT_S, left_s)


def diagnose(
    address: str, security: _control.ClientSecurity, within_s: float
) -> CrossdockError | None:
    """The error to show; None if the port is closed, time is over, or nothing is known better."""
    if address.startswith("unix:"):
        return None
    host, _, port = address.rpartition(":")
    with contextlib.suppress(OSError, ValueError):
        where = _Place(host.strip("[]"), int(port), time.monotonic() + within_s)
        if not security.uses_tls:
            return _of_plain(address, where)
        credentials = (security.certificate_pem, security.key_pem)
        return _of_tls(address, where, security.ca_pem, credentials)
    return None


def why_not_listening(
    address: str, credentials: tuple[str, str], client_ca_pem: str
) -> CrossdockError | None:
    """The error to show after a server could not listen at `address`; None if nothing is known
    better. `credentials` are its certificate and key, or two empty strings. Errors: none."""
    return _of_files(address, credentials, client_ca_pem) or _of_address(address)


def _of_files(
    address: str, credentials: tuple[str, str], client_ca_pem: str
) -> CrossdockError | None:
    try:
        with _pair(credentials) as pair:
            if pair is not None:
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(pair, password="")
    except ssl.SSLError as error:
        fits = "MISMATCH" not in (error.reason or "")
        return make_error(
            "CD-611",
            f"cannot listen on {address}: "
            + (
                "certificate and key cannot be read"
                if fits
                else "the key is of another certificate"
            ),
            values=str(error.reason or error),
            try_="PEM files: --tls-cert with the server's certificate first, --tls-key its key",
        )
    try:
        if client_ca_pem:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(cadata=client_ca_pem)
    except (ssl.SSLError, ValueError) as error:
        return make_error(
            "CD-611",
            f"cannot listen on {address}: the authority of the callers cannot be read",
            values=str(error),
            try_="--client-ca with a certificate in PEM",
        )
    return None


def _of_address(address: str) -> CrossdockError | None:
    try:
        _bind(address)
    except UnicodeError:  # of a host that cannot be a name
        return None
    except socket.gaierror as error:
        reason, advice = f"unknown host: {error.strerror}", "--listen 127.0.0.1:0"
    except OSError as error:
        reason, advice = _REASONS.get(
            error.errno or 0, (str(error.strerror or error), "--listen 127.0.0.1:0")
        )
    else:
        return None
    return make_error("CD-611", f"cannot listen on {address}: {reason}", try_=advice)


def _bind(address: str) -> None:
    """Takes the address for a moment. Error: OSError."""
    if address.startswith("unix:"):
        return
    host, _, port = address.rpartition(":")
    addresses = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
    for family, kind, protocol, _, where in addresses[:1]:
        with socket.socket(family, kind, protocol) as taken:
            # As servers do: connections of the last one that still fade away are no obstacle.
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(where)
            taken.listen(1)


def _of_tls(
    address: str, where: _Place, ca_pem: str, credentials: tuple[str, str]
) -> CrossdockError | None:
    try:
        with _context(ca_pem, credentials) as context, _connected(where, context) as stream:
            # A server that wants another certificate of ours hangs up only after the handshake.
            stream.settimeout(where.wait_s())
            greeted = stream.recv(1)
    except TimeoutError:
        return None
    except ssl.SSLCertVerificationError as error:
        return make_error(
            "CD-612",
            f"the certificate of {address} is refused: {error.verify_message}",
            try_=_advice(error.verify_message),
        )
    except (ssl.SSLEOFError, ConnectionResetError):
        greeted = b""
    except ssl.SSLError as error:
        return _of_alert(address, str(error.reason or error))
    return None if greeted else _of_hanging_up(address, credentials)


def _of_hanging_up(address: str, credentials: tuple[str, str]) -> CrossdockError:
    if not credentials[0]:
        return make_error(
            "CD-612", f"{address} wants a certificate of the caller", try_="--cert and --key"
        )
    return make_error(
        "CD-612",
        f"{address} refuses the certificate of the caller",
        try_="one that is valid now and was signed by the authority of the controller",
    )


def _of_plain(address: str, where: _Place) -> CrossdockError | None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    try:
        with _connected(where, context):
            pass
    except (ssl.SSLError, TimeoutError):
        return None
    return make_error(
        "CD-612",
        f"{address} speaks TLS, and the call came in the clear",
        try_="--tls, and --ca  ·  CROSSDOCK_CONTROL_CA for ranks",
    )


def _of_alert(address: str, reason: str) -> CrossdockError | None:
    words = reason.lower()
    if "wrong_version" in words or "record_layer" in words:
        return make_error("CD-612", f"{address} does not speak TLS", try_="the call without --tls")
    if "certificate_required" in words:
        return _of_hanging_up(address, ("", ""))
    if "unknown_ca" in words or "bad_certificate" in words or "expired" in words:
        return _of_hanging_up(address, (reason, reason))
    return make_error("CD-612", f"{address} and this side agree on no TLS: {reason}")


def _advice(message: str) -> str:
    if "expired" in message:
        return "a certificate that is valid now, on the controller"
    if "mismatch" in message or "doesn't match" in message or "not valid for" in message:
        return "the name that the certificate was made for, or a certificate with this one"
    return "--ca with the authority that signed it"


@contextlib.contextmanager
def _context(ca_pem: str, credentials: tuple[str, str]) -> Iterator[ssl.SSLContext]:
    context = ssl.create_default_context(cadata=ca_pem or None)
    context.set_alpn_protocols(["h2"])
    with _pair(credentials) as pair:
        if pair is not None:
            context.load_cert_chain(pair, password="")
        yield context


@contextlib.contextmanager
def _pair(credentials: tuple[str, str]) -> Iterator[Path | None]:
    """A file with certificate and key, since the ssl module takes them from files only; None for
    two empty strings. Load it with a password, or an encrypted key asks for one on the terminal."""
    certificate, key = credentials
    if not certificate:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        pair = Path(folder) / "pair.pem"
        pair.touch(mode=0o600)
        pair.write_text(certificate + "\n" + key, encoding="ascii")
        yield pair


@contextlib.contextmanager
def _connected(where: _Place, context: ssl.SSLContext) -> Iterator[ssl.SSLSocket]:
    with socket.create_connection((where.host, where.port), timeout=where.wait_s()) as plain:
        plain.settimeout(where.wait_s())
        with context.wrap_socket(plain, server_hostname=where.host) as stream:
            yield stream
