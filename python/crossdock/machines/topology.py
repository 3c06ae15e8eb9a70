"""Machines as graphs: which devices there are, what joins them, and how much each link carries.

    topology = Topology.machine("dgx-a100")      # from the catalogue; Topology.machines() lists it
    topology = Topology.host()                   # this machine, as far as it can be asked
    print(topology.text())
    Path("machine.svg").write_text(topology.svg())

Rates are bytes per second in each direction, by specification: what a link could carry, not what
is free. `notes` say what could not be found out. Values are immutable; safe from any thread.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crossdock import _native
from crossdock.errors import TopologyError, make_error, public_errors
from crossdock.machines.topology_graph import TopologyGraph
from crossdock.settings import setting
from crossdock.sizes import format_bytes

if TYPE_CHECKING:
    from crossdock.machines.transfers import ExchangePlan, TransferPlan

# As the engine has them.
_GRAPH_BYTES_MAX = 64 << 20
_XML_BYTES_MAX = 64 << 20
_MATRIX_BYTES_MAX = 1 << 20


@dataclass(frozen=True)
class Machine:
    """An entry of the catalogue. `has_network`: "name:13" stands for 13 of them."""

    name: str
    summary: str
    source: str
    assumed: str
    servers: int
    has_network: bool


class Topology(TopologyGraph):
    """Servers and the network that joins them. Made by the class methods."""

    @staticmethod
    def machines() -> list[Machine]:
        """The catalogue."""
        return [Machine(*row) for row in _native.topology_machines()]

    @classmethod
    def machine(cls, name: str) -> Topology:
        """A machine of the catalogue: "dgx-a100", or "dgx-a100:13" for 13 of them on one network.

        Errors: TopologyError (not in the catalogue; a count that cannot be)."""
        with public_errors():
            text = _native.topology_of_machine(name)
        entry = next(m for m in cls.machines() if m.name == name.split(":")[0])
        notes = (("catalogue", f"assumed: {entry.assumed}"),) if entry.assumed else ()
        return cls(text, f"{name}: {entry.summary}", notes)

    @classmethod
    def file(cls, path: str | Path) -> Topology:
        """What a JSON file describes; docs/topology.schema.json says how.

        Errors: PathError (cannot be read), TopologyError (with the place in the file)."""
        text = _read(path, _GRAPH_BYTES_MAX)
        if not text.strip():
            raise make_error(
                "CD-601",
                f"{str(path)!r} is empty",
                try_="crossdock topo --machine dgx-a100 --json, which prints an example",
            )
        return cls(_engine_on(path, _native.topology_from_json, text), str(path))

    @classmethod
    def hwloc(cls, path: str | Path) -> Topology:
        """A machine by what `lstopo --of xml` wrote on it.

        Errors: PathError (cannot be read), TopologyError (no hwloc XML)."""
        return cls._elsewhere(_native.topology_from_hwloc, path, _XML_BYTES_MAX)

    @classmethod
    def nvidia_smi(cls, path: str | Path) -> Topology:
        """A machine by what `nvidia-smi topo -m` printed on it: hardly any rates, so most links
        are assumed. Lines of `nvidia-smi -L` before it tell the generation of NVLinks.

        Errors: PathError (cannot be read), TopologyError (with line and column)."""
        from crossdock.machines.nvidia_smi import server_of_matrix

        return cls._elsewhere(server_of_matrix, path, _MATRIX_BYTES_MAX)

    @classmethod
    def _elsewhere(cls, reader: Callable[..., Any], path: str | Path, bytes_max: int) -> Topology:
        text, notes = _engine_on(path, reader, _read(path, bytes_max), "node0")
        topology = cls(text, str(path), tuple(notes))
        topology._knows_nic_direct = False  # the kernel's files are on the other machine
        return topology

    @classmethod
    def host(cls) -> Topology:
        """This machine: hwloc for NUMA nodes and the PCIe tree, the kernel's files for links, NVML
        for GPUs and NVLinks (CROSSDOCK_NVML names the library; empty for none).

        Errors: TopologyError (hwloc does not start)."""
        name = platform.node().replace("/", "-")[:64] or "host"
        with public_errors():
            text, notes = _native.topology_of_host(name, setting("nvml"))
        return cls(text, f"{name}, this machine", tuple(notes))

    def plan(self, source: str, destination: str, size: str | int = "1GiB") -> TransferPlan:
        """How data go from `source` to `destination` ("gpu0", or "node0/gpu0" of several servers):
        all ways, what bounds them, and the seconds for `size` (bytes, or text such as "64GiB").

        Errors: TopologyError (no such vertex, with the nearest name; no path), OptionError (a
        vertex that holds no data, one named twice, no size)."""
        from crossdock.machines.transfers import plan_transfer

        return plan_transfer(self, source, destination, size)

    def plan_exchange(self, size: str | int = "1GiB") -> ExchangePlan:
        """Every GPU sends `size`, spread evenly over all GPUs; CPUs where there is no GPU.

        Errors: TopologyError (no path between two of them), OptionError (fewer than two; no
        size)."""
        from crossdock.machines.transfers import plan_exchange

        return plan_exchange(self, size)

    def text(self) -> str:
        """A tree of each kind of server, its links, warnings and notes."""
        from crossdock.machines.topology_text import describe

        return describe(self)

    def svg(self) -> str:
        """A picture of the first server and, if there are more, of what joins them."""
        from crossdock.machines.topology_picture import draw

        return draw(self)


def _engine_on(path: str | Path, call: Callable[..., Any], *arguments: str) -> Any:
    """What the engine makes of a file; its errors begin with the file's name."""
    try:
        with public_errors():
            return call(*arguments)
    except TopologyError as error:
        raise TopologyError(error.code, f"{str(path)!r}: {error.text}") from None


def _read(path: str | Path, bytes_max: int) -> str:
    """The text of a file, of which no more is read than the engine takes. Errors: PathError,
    TopologyError (a file that is larger)."""
    if "\0" in str(path):
        raise make_error("CD-502", f"{str(path)!r} cannot be read: no path has a NUL")
    try:
        with Path(path).open("rb") as file:
            read = file.read(bytes_max + 1)
        if len(read) > bytes_max:
            raise make_error("CD-601", f"{str(path)!r} is larger than {format_bytes(bytes_max)}")
        return read.decode("utf-8-sig")  # editors may put a mark of the byte order first
    except (OSError, UnicodeDecodeError) as error:
        raise make_error("CD-502", f"{str(path)!r} cannot be read: {error}") from None
