"""Callers that begin large requests and never end them: as much of HTTP/2 as that takes."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from types import TracebackType

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _SETTINGS, _PING, _WINDOW_UPDATE = 0, 1, 4, 6, 8
_ACK, _END_HEADERS = 1, 4
_INITIAL_WINDOW = 3  # the setting
_HEAD_BYTES, _FRAME_BYTES = 9, 16_384
_POST, _HTTP = b"\x83", b"\x86"  # of the static table of HPACK
_PATH, _NEW_NAME = b"\x04", b"\x00"


class SlowRequest:
    """A request of `message_bytes`, of which the last byte is never sent."""

    def __init__(self, place: tuple[str, int], path: str, message_bytes: int) -> None:
        self._socket = socket.create_connection(place, 5)
        self._socket.setblocking(False)
        self._came = b""
        self._unsent = _PREFACE + _frame(_SETTINGS) + _frame(_HEADERS, _headers(path), _END_HEADERS)
        self._left = message_bytes - 1
        self._body = b"\x00" + struct.pack(">I", message_bytes)
        self._windows = [65_535, 65_535]  # of the connection, and of the request
        self._start_window = 65_535
        self.sent_bytes = 0
        self.is_over = False  # the server has ended it

    def __enter__(self) -> SlowRequest:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._socket.close()

    def step(self) -> bool:
        """Sends what the server lets it; whether that was anything."""
        before = self.sent_bytes
        try:
            self._hear()
            while not self.is_over and self._push():
                pass
        except (ConnectionError, OSError):
            self.is_over = True
        return self.sent_bytes > before

    def _push(self) -> bool:
        if not self._unsent:
            size = min(self._left + len(self._body), _FRAME_BYTES, *self._windows)
            if size <= 0:
                return False
            body = self._body[:size] + bytes(max(0, size - len(self._body)))
            self._left -= size - len(self._body[:size])
            self._body = self._body[size:]
            self._windows = [window - size for window in self._windows]
            self._unsent = _frame(_DATA, body)
            self.sent_bytes += size
        try:
            self._unsent = self._unsent[self._socket.send(self._unsent) :]
        except BlockingIOError:
            return False
        return True

    def _hear(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while piece := self._socket.recv(65_536):
                self._came += piece
            self.is_over = True
        while len(self._came) >= _HEAD_BYTES:
            size = int.from_bytes(self._came[:3], "big")
            if len(self._came) < _HEAD_BYTES + size:
                return
            kind, flags = self._came[3], self._came[4]
            stream = int.from_bytes(self._came[5:9], "big")
            body = self._came[_HEAD_BYTES : _HEAD_BYTES + size]
            self._came = self._came[_HEAD_BYTES + size :]
            self._take(kind, flags, stream, body)

    def _take(self, kind: int, flags: int, stream: int, body: bytes) -> None:
        if kind == _WINDOW_UPDATE:
            self._windows[stream != 0] += int.from_bytes(body, "big")
        elif kind == _PING and not flags & _ACK:
            self._unsent += _frame(_PING, body, _ACK, stream=0)
        elif kind == _SETTINGS and not flags & _ACK:
            for at in range(0, len(body), 6):
                name, value = struct.unpack(">HI", body[at : at + 6])
                if name == _INITIAL_WINDOW:
                    self._windows[1] += value - self._start_window
                    self._start_window = value
            self._unsent += _frame(_SETTINGS, flags=_ACK)


def send_all(requests: list[SlowRequest], quiet_s: float, at_most_s: float) -> int:
    """Lets all send until none could for `quiet_s`; the bytes that they have sent."""
    end = time.monotonic() + at_most_s
    quiet_from = time.monotonic()
    while time.monotonic() < min(end, quiet_from + quiet_s):
        if sum(request.step() for request in requests):  # of each of them
            quiet_from = time.monotonic()
        else:
            time.sleep(0.01)
    return sum(request.sent_bytes for request in requests)


def _frame(kind: int, body: bytes = b"", flags: int = 0, stream: int | None = None) -> bytes:
    number = (kind in (_DATA, _HEADERS)) if stream is None else stream
    return len(body).to_bytes(3, "big") + bytes([kind, flags]) + struct.pack(">I", number) + body


def _headers(path: str) -> bytes:
    def text(words: str) -> bytes:
        return bytes([len(words)]) + words.encode()

    named = [("content-type", "application/grpc"), ("te", "trailers")]
    rest = b"".join(_NEW_NAME + text(name) + text(value) for name, value in named)
    return _POST + _HTTP + _PATH + text(path) + b"\x01" + text("localhost") + rest
