"""A web server over a folder that knows ranges, and is slow, fails or hangs as a test wants. It
lists folders as stores of objects do, whose buckets they are then."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote


class RangeServer(ThreadingHTTPServer):
    """`ranges`: what was asked for, (path, first byte, byte behind the last)."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.ranges: list[tuple[str, int, int]] = []
        self.knows_ranges = True
        self.delay_s = 0.0
        self.fails_of = 0  # one range of so many, the first one not
        self.status = 503
        self.hangs_from = sys.maxsize  # answers of this byte and later ones wait for `goes_on`
        self.goes_on = threading.Event()
        self.goes_on_at = sys.maxsize  # requests at once, which set it
        self.at_once = 0
        self.lock = threading.Lock()


class _Handler(BaseHTTPRequestHandler):
    server: RangeServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer(sends=False)

    def do_GET(self) -> None:
        server = self.server
        with server.lock:
            server.at_once += 1
            if server.at_once == server.goes_on_at:
                server.goes_on.set()
        try:
            if server.delay_s:
                time.sleep(server.delay_s)
            if self._range(sys.maxsize)[0] >= server.hangs_from:
                server.goes_on.wait(60)
            self._answer(sends=True)
        finally:
            with server.lock:
                server.at_once -= 1

    def _answer(self, *, sends: bool) -> None:
        server = self.server
        if "list-type=2" in self.path:
            self._list()
            return
        path = server.folder / unquote(self.path.partition("?")[0]).lstrip("/")
        if not path.is_file():
            self._end(200 if path.is_dir() and path.parent == server.folder else 404)  # a bucket
            return
        content = path.read_bytes()
        first, end = self._range(len(content))
        if sends and self.headers.get("Range"):
            with server.lock:
                server.ranges.append((path.name, first, end))
                count = len(server.ranges)
            if server.fails_of and count > 1 and count % server.fails_of == 0:
                self._end(server.status)
                return
        is_part = (first, end) != (0, len(content))
        self.send_response(206 if is_part else 200)
        self.send_header("Content-Length", str(end - first))
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        if server.knows_ranges:
            self.send_header("Accept-Ranges", "bytes")
        if is_part:
            self.send_header("Content-Range", f"bytes {first}-{end - 1}/{len(content)}")
        self.end_headers()
        if sends:
            self.wfile.write(content[first:end])

    def _list(self) -> None:
        place, _, query = self.path.partition("?")
        bucket = self.server.folder / place.strip("/")
        prefix = parse_qs(query).get("prefix", [""])[0]
        keys = sorted(str(f.relative_to(bucket)) for f in bucket.rglob("*") if f.is_file())
        result = "".join(
            f"<Contents><Key>{key}</Key><Size>{(bucket / key).stat().st_size}</Size>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for key in keys
            if key.startswith(prefix)
        )
        count = result.count("<Key>")
        head = f"<KeyCount>{count}</KeyCount><IsTruncated>false</IsTruncated>"
        body = f"<ListBucketResult>{head}{result}</ListBucketResult>".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _range(self, size: int) -> tuple[int, int]:
        asked = self.headers.get("Range", "")
        if not asked or not self.server.knows_ranges:
            return 0, size
        first, _, last = asked.removeprefix("bytes=").partition("-")
        if not first:
            return max(0, size - int(last)), size
        return int(first), min(size, int(last) + 1 if last else size)

    def _end(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()


@contextmanager
def served(folder: Path) -> Iterator[RangeServer]:
    """A server of its own for the files below a folder."""
    server = RangeServer(folder)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.goes_on.set()
        server.shutdown()
        server.server_close()
