"""Types of the module that speaks gRPC; it is there where gRPC was when Crossdock was built. Ids
are strings such as "e7f3a1c2-12", requests are 32 hexadecimal digits. Errors are `NativeError`,
which `crossdock.errors` turns into public classes. Objects may be shared between threads."""

class NativeError(Exception):
    """args = (code such as "CD-611", name of the public class, message)."""

def make_request_id() -> str: ...

class ServerSecurity:
    certificate_pem: str
    key_pem: str
    client_ca_pem: str
    token: str
    is_insecure: bool
    def __init__(self) -> None: ...

class ServerSettings:
    listen: str
    security: ServerSecurity
    message_bytes_max: int
    def __init__(self) -> None: ...

class ClientSecurity:
    uses_tls: bool
    ca_pem: str
    certificate_pem: str
    key_pem: str
    token: str
    is_insecure: bool
    def __init__(self) -> None: ...

class ClientSettings:
    address: str
    security: ClientSecurity
    message_bytes_max: int
    def __init__(self) -> None: ...

class ControllerSettings:
    heartbeat_s: float
    lost_after_s: float
    apply_within_s: float
    recover_within_s: float
    agents_max: int
    endpoints_max: int
    channels_max: int
    def __init__(self) -> None: ...

class Client:
    """Calls wait without the GIL; Ctrl-C ends them."""

    def __init__(self, settings: ClientSettings) -> None: ...
    def create_endpoint(self, agent: str, vertex: str, request: str, within_s: float) -> str: ...
    def delete_endpoint(self, endpoint: str, within_s: float) -> None: ...
    def create_channel(
        self,
        ends: tuple[list[str], list[str]],
        rows: tuple[bytes, list[int]],
        request: str,
        within_s: float,
    ) -> str:
        """`ends` are sources and destinations, `rows` an Arrow IPC schema message and the key."""

    def delete_channel(self, channel: str, within_s: float) -> None: ...
    def status(self, within_s: float) -> dict[str, object]: ...

class Controller:
    """A controller that listens, until it is stopped."""

    def __init__(self, server: ServerSettings, controller: ControllerSettings) -> None: ...
    @property
    def address(self) -> str: ...
    @property
    def refused_connections(self) -> int: ...
    def stop(self) -> None: ...

class Agent:
    """An agent that keeps itself attached, and plans for the programs of its machine; `topology`
    is JSON."""

    def __init__(self, name: str, topology: str, controller: ClientSettings) -> None: ...
    @property
    def refused_connections(self) -> int: ...
    def listen(self, server: ServerSettings) -> str: ...
    def state(self) -> tuple[bool, tuple[str, str, str] | None, int, int, int]:
        """(joined, why not, how often it has joined, endpoints, channels)."""

    def stop(self) -> None: ...
