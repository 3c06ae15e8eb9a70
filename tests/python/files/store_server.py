"""A store of objects as Amazon's is, of moto, which notes what it is asked for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.request import Request, urlopen

import boto3
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
REGION = "us-east-1"


class StoreServer:
    """`requests`: of each its method, path and range, such as "bytes=0-7"."""

    def __init__(self) -> None:
        self._answer = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, self._noted, threaded=True)
        self.url = f"http://127.0.0.1:{self._server.port}"
        self.requests: list[tuple[str, str, str]] = []
        self.environment = KEYS | {
            "AWS_ENDPOINT_URL": self.url, "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
        }  # fmt: skip
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _noted(self, environ: dict[str, Any], start_response: Any) -> Any:
        asked = environ["REQUEST_METHOD"], environ["PATH_INFO"], environ.get("HTTP_RANGE", "")
        self.requests.append(asked)
        return self._answer(environ, start_response)

    def client(self, service: str = "s3") -> Any:
        """One of boto3."""
        return boto3.client(
            service, endpoint_url=self.url, region_name=REGION,
            aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
        )  # fmt: skip

    def ranges(self) -> list[tuple[int, int]]:
        """First and last byte of what was asked for of objects."""
        bounds = [one[2].removeprefix("bytes=").split("-") for one in self.requests if one[2]]
        return [(int(first), int(last)) for first, last in bounds]

    @contextmanager
    def checking_keys(self) -> Iterator[None]:
        """While keys must be those of a user that the store knows; it knows none."""
        self._set_unchecked(0)
        try:
            yield
        finally:
            self._set_unchecked(float("inf"))

    def _set_unchecked(self, requests: float) -> None:
        request = Request(
            f"{self.url}/moto-api/reset-auth",
            str(requests).encode(),
            {"Content-Type": "text/plain"},
        )
        urlopen(request).close()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
