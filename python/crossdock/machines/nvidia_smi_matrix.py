"""The matrix that `nvidia-smi topo -m` prints: its devices, and for every two what joins them.

It is read as it stands in a file or was copied from a terminal: with tabs or spaces, with terminal
codes, with other lines before and after, with or without NICs, NUMA Affinity and GPU NUMA ID.
Columns are separated by white space alone: tabs do not survive being copied, and cells have none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from crossdock.errors import TopologyError, make_error

_DEVICES_MAX = 512
_NVLINKS_MAX = 64  # of a pair; no GPU has half as many
_NAME_BYTES_MAX = 128  # of a vertex
_SHOWN = 40  # characters of a cell that is refused
_MODEL_CHARACTERS = 80

# Of a page that was copied only "[4m" is left of a terminal code.
_BETWEEN_WORDS = re.compile(r"\x1b(?:\[[0-9;]*.?)?|\[[0-9;]+m|[\x00-\x1a\x1c-\x20]")
# Names that probes give to vertices, so that no device of the operating system may have them.
_OWN_NAME = re.compile(r"network|nvswitch|(?:cpu|gpu|pcie)[0-9]+")

# What a path between two devices leads over at the most, the nearest first: itself, NVLinks, which
# say nothing of the PCIe path, one PCIe bridge, several, a host bridge, host bridges of one NUMA
# node, and the link between NUMA nodes, which is SOC in output before 2018.
_RELATIONS = {"X", "PIX", "PXB", "PHB", "NODE", "SYS"}
Pair: TypeAlias = tuple[str, int]  # one of these or "NV", and how many NVLinks

# The words over the columns beside the devices, and what they are called here.
_AFFINITIES = {
    ("CPU", "Affinity"): "cpus",
    ("NUMA", "Affinity"): "numa_node",
    ("GPU", "NUMA", "ID"): "memory_node",
}


@dataclass
class Device:
    """A GPU or a NIC. `numa_node` is the first where there are several; `memory_node` the one that
    is the memory of a GPU."""

    is_gpu: bool
    name: str  # "gpu0"; of a NIC by the legend, "mlx5_0", or "nic0" without one
    named_at: tuple[int, int]  # line and column
    model: str = ""  # where lines of `nvidia-smi -L` stand before the matrix
    cpus: str = ""  # "0-31,64-95"
    numa_node: int | None = None
    has_more_nodes: bool = False
    memory_node: int | None = None


@dataclass
class Matrix:
    devices: list[Device] = field(default_factory=list)  # in the order of the header
    pairs: list[list[Pair]] = field(default_factory=list)
    unclear_affinities: int = 0  # rows that have fewer values than there are columns for them


@dataclass(frozen=True)
class _Word:
    text: str
    column: int

    @property
    def shown(self) -> str:
        return self.text[:_SHOWN]


@dataclass(frozen=True)
class _Line:
    number: int
    words: list[_Word]

    def error(self, column: int, what: str) -> TopologyError:
        return _error_at((self.number, column), what)

    @property
    def first(self) -> str:
        return self.words[0].text if self.words else ""


def read_matrix(text: str) -> Matrix:
    """TopologyError with line and column, counted from 1: no header; a row or cell that is missing,
    is twice there or makes no sense; two devices of one name, or a NIC that is called as a vertex
    of ours; a pair whose two cells contradict each other; more than 512 devices."""
    written = text.removesuffix("\n").split("\n") if text else []
    lines = [_Line(number, _words_of(line)) for number, line in enumerate(written, 1)]
    header = next((at for at, line in enumerate(lines) if _is_header(line)), None)
    if header is None:
        raise make_error(
            "CD-601", f"none of the {len(lines)} lines is the header of a matrix, 'GPU0 GPU1 ...'; "
            "`nvidia-smi topo -m` prints one",
        )  # fmt: skip
    return _Reader(lines[header]).matrix(lines[:header], lines[header + 1 :])


class _Reader:
    def __init__(self, header: _Line) -> None:
        self._header = header
        self._matrix = Matrix()
        self._columns: list[str] = []  # beside the devices
        self._places: dict[str, int] = {}  # of devices, by what the matrix calls them
        self._rows: dict[int, _Line] = {}

    def matrix(self, before: Sequence[_Line], behind: Sequence[_Line]) -> Matrix:
        self._read_header()
        self._read_rows(behind)
        self._check_pairs()
        for line in before:
            self._read_model(line)
        for line in behind:
            self._read_legend(line)
        self._check_names()
        return self._matrix

    def _read_header(self) -> None:
        words = self._header.words
        at = 0
        while at < len(words):
            for names, column in _AFFINITIES.items():
                if tuple(word.text for word in words[at : at + len(names)]) == names:
                    self._columns.append(column)
                    at += len(names)
                    break
            else:
                self._add_device(words[at])
                at += 1

    def _add_device(self, word: _Word) -> None:
        gpu, nic = _numbered(word.text, "GPU"), _numbered(word.text, "NIC")
        is_broken = gpu is None and nic is None and word.text.startswith(("GPU", "NIC"))
        if is_broken or self._columns or len(word.text) > 64:
            raise self._header.error(
                word.column, f"'{word.shown}' is no column of the matrix. Did columns run together "
                "when the text was copied? `nvidia-smi topo -m > FILE` keeps them apart",
            )  # fmt: skip
        if len(self._places) == _DEVICES_MAX:
            raise self._header.error(word.column, f"more than {_DEVICES_MAX} devices")
        if word.text in self._places:
            raise self._header.error(word.column, f"'{word.shown}' is twice in the header")
        self._places[word.text] = len(self._places)
        name = f"gpu{gpu}" if gpu is not None else word.text if nic is None else f"nic{nic}"
        self._matrix.devices.append(
            Device(gpu is not None, name, (self._header.number, word.column))
        )

    def _read_rows(self, lines: Sequence[_Line]) -> None:
        """Until the legend, or until all rows are read and something else follows."""
        count = len(self._places)
        for line in lines:
            if not line.words:
                continue
            if line.first in self._places:
                self._read_row(line, self._places[line.first])
                continue
            if len(self._rows) == count or line.first == "Legend:":
                break
            raise line.error(
                line.words[0].column, f"'{line.words[0].shown}' is none of the devices in the "
                f"header (line {self._header.number}), and {count - len(self._rows)} of their "
                f"{count} rows are missing",
            )  # fmt: skip
        for place, word in enumerate(self._header.words[:count]):
            if place not in self._rows:
                raise self._header.error(
                    word.column, f"there is no row for {word.shown}; give the whole of what "
                    "`nvidia-smi topo -m` prints",
                )  # fmt: skip
        self._matrix.pairs = [
            [_pair_of(word.text) or ("", 0) for word in self._rows[row].words[1 : count + 1]]
            for row in range(count)
        ]

    def _read_row(self, line: _Line, row: int) -> None:
        devices = self._matrix.devices
        if row in self._rows:
            raise line.error(
                line.words[0].column,
                f"{line.words[0].shown} has a row in line {self._rows[row].number} already",
            )
        self._rows[row] = line
        cells = line.words[1 : len(devices) + 1]
        for other, word in enumerate(cells):
            pair = _pair_of(word.text)
            if pair is None:
                raise line.error(word.column, _no_pair(word))
            if (pair[0] == "X") != (other == row):
                raise line.error(
                    word.column,
                    f"'{word.shown}' stands where {devices[row].name} meets {devices[other].name}",
                )
        if len(cells) < len(devices):
            last = line.words[-1]
            raise line.error(
                last.column + len(last.text), f"the row of {line.words[0].shown} ends after "
                f"{len(cells)} of {len(devices)} devices",
            )  # fmt: skip
        self._read_affinities(line, devices[row])

    def _read_affinities(self, line: _Line, device: Device) -> None:
        rest = line.words[len(self._places) + 1 :]
        if len(rest) > len(self._columns):
            word = rest[len(self._columns)]
            raise line.error(
                word.column, f"'{word.shown}' belongs to no column: the header (line "
                f"{self._header.number}) has {len(self._columns)} beside the devices",
            )  # fmt: skip
        if len(rest) < len(self._columns):
            # Rows of NICs have none. Of a row with a part of them, which is empty cannot be seen.
            self._matrix.unclear_affinities += bool(rest)
            return
        for column, word in zip(self._columns, rest, strict=True):
            if word.text == "N/A":
                continue
            if column == "cpus":
                device.cpus = word.text
                continue
            first = re.split("[,-]", word.text, maxsplit=1)[0]
            node = _number(first, 65535)
            if node is None:
                raise line.error(word.column, f"'{word.shown}' is no NUMA node and not 'N/A'")
            setattr(device, column, node)
            if column == "numa_node":
                device.has_more_nodes = first != word.text

    def _check_pairs(self) -> None:
        devices, pairs = self._matrix.devices, self._matrix.pairs
        for a in range(len(devices)):
            for b in range(a):
                is_nvlink = pairs[a][b][0] == "NV"
                are_gpus = devices[a].is_gpu and devices[b].is_gpu
                if pairs[a][b] == pairs[b][a] and (are_gpus or not is_nvlink):
                    continue
                here, there = self._rows[a].words[b + 1], self._rows[b].words[a + 1]
                reason = "" if are_gpus or not is_nvlink else "; NVLinks join GPUs alone"
                raise self._rows[a].error(
                    here.column, f"{devices[a].name} and {devices[b].name} are joined by "
                    f"'{here.shown}' here, and by '{there.shown}' in line {self._rows[b].number}"
                    f"{reason}",
                )  # fmt: skip

    def _read_model(self, line: _Line) -> None:
        """ "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-...)", as `nvidia-smi -L` prints it."""
        words = [word.text for word in line.words]
        if len(words) < 3 or words[0] != "GPU" or not words[1].endswith(":"):
            return
        place = self._places.get("GPU" + words[1].removesuffix(":"))
        if place is not None:
            end = next((at for at, word in enumerate(words) if word.startswith("(UUID")), None)
            self._matrix.devices[place].model = " ".join(words[2:end])[:_MODEL_CHARACTERS]

    def _read_legend(self, line: _Line) -> None:
        """ "NIC0: mlx5_0"."""
        if len(line.words) != 2 or not line.first.endswith(":"):
            return
        place = self._places.get(line.first.removesuffix(":"))
        if place is not None and not self._matrix.devices[place].is_gpu:
            device, word = self._matrix.devices[place], line.words[1]
            device.name, device.named_at = word.text, (line.number, word.column)

    def _check_names(self) -> None:
        """Names are those of vertices: each once, and none that a vertex of ours has."""
        known: dict[str, Device] = {}
        for device in self._matrix.devices:
            shown = device.name[:_SHOWN]
            other = known.setdefault(device.name, device)
            if other is not device:
                line, column = other.named_at
                raise _error_at(
                    device.named_at,
                    f"two devices are called '{shown}', the other in line {line}, column {column}",
                )
            if not device.is_gpu and _OWN_NAME.fullmatch(device.name):
                raise _error_at(
                    device.named_at, f"a NIC cannot be called '{shown}', as CPUs, GPUs, switches "
                    "and networks are",
                )  # fmt: skip
            if len(device.name.encode()) > _NAME_BYTES_MAX or "/" in device.name:
                raise _error_at(
                    device.named_at, f"a NIC cannot be called '{shown}': names have 1 to "
                    f"{_NAME_BYTES_MAX} bytes and no '/'",
                )  # fmt: skip


def _error_at(place: tuple[int, int], what: str) -> TopologyError:
    line, column = place
    error = make_error("CD-601", f"line {line}, column {column}: {what}")
    assert isinstance(error, TopologyError)
    return error


def _words_of(line: str) -> list[_Word]:
    return [_Word(line[begin:end], begin + 1) for begin, end in _spans(line) if end > begin]


def _spans(line: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for between in _BETWEEN_WORDS.finditer(line):
        yield begin, between.start()
        begin = between.end()
    yield begin, len(line)


def _is_header(line: _Line) -> bool:
    """A line that begins with a GPU, and goes on with anything but the cells of a row."""
    if re.match("GPU[0-9]", line.first) is None:
        return False
    return len(line.words) == 1 or _pair_of(line.words[1].text) is None


def _pair_of(cell: str) -> Pair | None:
    if cell in _RELATIONS:
        return cell, 0
    if cell == "SOC":
        return "SYS", 0
    nvlinks = _numbered(cell, "NV")
    return ("NV", nvlinks) if nvlinks and nvlinks <= _NVLINKS_MAX else None


def _no_pair(word: _Word) -> str:
    if _numbered(word.text, "NV") is not None:
        return f"'{word.shown}' is out of range: a pair has 1 to {_NVLINKS_MAX} NVLinks"
    return (
        f"'{word.shown}' is none of X, NV#, PIX, PXB, PHB, NODE and SYS. Is it the matrix of "
        "`nvidia-smi topo -m`, and did columns run together when it was copied?"
    )


def _numbered(text: str, stem: str) -> int | None:
    """The number of "GPU3" and "NIC3"."""
    return _number(text.removeprefix(stem), 9999) if text.startswith(stem) else None


def _number(digits: str, most: int) -> int | None:
    match = re.fullmatch("0*([0-9]{1,9})", digits)
    return int(match[1]) if match and int(match[1]) <= most else None
