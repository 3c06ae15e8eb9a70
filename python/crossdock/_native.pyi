"""Types of the compiled engine. Each planning error is raised by the constructor of an operation,
each run error by the method that runs; all are `NativeError`, which `crossdock.errors` turns into
public classes. Objects may be shared between threads; an operation runs in one thread at a time."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, Required, TypedDict, Unpack

class NativeError(Exception):
    """args = (code such as "CD-101", name of the public class, message)."""

def error_table() -> list[tuple[str, str, str]]:
    """(code, name of the public class, one line) of every error of the engine."""

def settings_table() -> list[tuple[str, str, str]]:
    """(name, default, one line) of every setting; the environment variable is CROSSDOCK_NAME."""

def launch_variable() -> str:
    """The variable of the environment that says that this process is one of several; "" if none
    does. CROSSDOCK_MEET and CROSSDOCK_CONTROL, which say only where to meet, come last."""

def launch_place() -> tuple[int, int]:
    """(rank, ranks) of this process by the environment alone; (0, 1) where nothing started several
    processes. CD-105 for a number that is none, or a launcher that does not say both."""

def host_addresses() -> list[str]:
    """Of this machine's network devices, but for loopback."""

def build_info() -> dict[str, str]: ...
def machine_info() -> dict[str, object]: ...
def cgroup_memory_limit(root: str) -> tuple[int, str] | None:
    """The least memory limit in bytes that control groups set on this process, and the file that
    sets it; system files are read below `root`, "/" but in tests."""

def built_in_rates() -> dict[str, float]:
    """Name -> nanoseconds (shares for names that end in _share) of each rate of the models."""

def rates_in_use() -> dict[str, float]: ...
def use_rates(rates: dict[str, float]) -> None:
    """For plans of this process from now on; rates that are not named become built-in ones."""

def random_read_ns(bytes: int, threads: int) -> float:
    """Of a read of one word from a random place of so many bytes, by threads that share them."""

def predict_exchange(**options: object) -> dict[str, float]:
    """Phase -> seconds. rows, row_bytes, wire_bytes, ranks, ranks_per_node, cores_per_node,
    node_bytes_per_s, busiest_share."""

def topology_machines() -> list[tuple[str, str, str, str, int, bool]]:
    """(name, summary, source, what was assumed, servers, has a network) of the catalogue."""

def topology_of_machine(name: str) -> str:
    """The graph of "dgx-a100" or "dgx-a100:13" as JSON (docs/topology.schema.json)."""

def topology_from_json(text: str) -> str:
    """The same text in its normal form, checked."""

def topology_from_hwloc(xml: str, server: str) -> tuple[str, list[tuple[str, str]]]:
    """A graph of one server, and (probe, what it did not tell)."""

def topology_nvlink(model: str) -> tuple[int, int, float] | None:
    """What the name of a GPU says of its NVLinks: generation, how many, bytes per second of one."""

def topology_of_host(server: str, nvml: str) -> tuple[str, list[tuple[str, str]]]:
    """The same for this machine."""

class Workload:
    """Two made relations; see crossdock.workload. Immutable."""

    def __init__(self, **options: object) -> None:
        """inner_rows, outer_rows, selectivity, zipf_theta, is_sparse, seed."""

    @property
    def result_rows(self) -> int: ...
    def read(self, outer: bool, begin: int, rows: int) -> ArrowStream: ...

class ChannelPlan:
    """A planned channel over a topology (JSON). Every method gives JSON; immutable."""

    @staticmethod
    def between(topology: str, source: str, destination: str) -> ChannelPlan: ...
    @staticmethod
    def from_to(topology: str, sources: Sequence[str], destinations: Sequence[str]) -> ChannelPlan:
        """From every source to every destination."""

    @staticmethod
    def among_all(topology: str) -> ChannelPlan:
        """Among all GPUs, or all CPUs where there is no GPU."""

    @staticmethod
    def among_first(topology: str, count: int) -> ChannelPlan:
        """Among the first `count` of them, or all for 0."""

    def transfer(self, bytes: float) -> str:
        """From the one source to the one destination: ways, bottlenecks, time."""

    def exchange(self, bytes_per_source: float) -> str:
        """The form of an exchange, its time, and how busy the links are."""

    def tables(self, server: str) -> str:
        """The forwarding tables of a server by its name."""

def simulate_join(channel: ChannelPlan, **options: object) -> str:
    """A join over the channel's endpoints in virtual time, as JSON; the options are those of
    crossdock.machines.simulation."""

def bucket_messages(ranks: int, tasks: int, buckets: int, buffer_elements: int) -> dict[str, int]:
    """Messages that bring the bucket counts of a sort's digit to their owners, by form."""

class ReceivedRows:
    """Rows that came through a channel; may be consumed once."""

    @property
    def source(self) -> int: ...
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...

class Channel:
    """One rank's ends of a channel; see crossdock.channel. Thread-safe; calls take turns."""

    def send(self, rows: object, to: int = -1) -> None: ...
    def try_send(self, rows: object, to: int = -1) -> bool: ...
    def flush(self) -> None: ...
    def recv(self, wait_s: float) -> ReceivedRows | None:
        """Below 0 it waits as long as it takes."""

    def close(self, cause: str) -> None: ...
    @property
    def is_source(self) -> bool: ...
    @property
    def is_destination(self) -> bool: ...
    @property
    def is_flushed(self) -> bool: ...
    @property
    def is_ended(self) -> bool: ...
    @property
    def memory_bytes(self) -> int: ...
    def counters(self) -> dict[str, Any]: ...

class Group:
    """The ranks of a job; see crossdock.group. One thread at a time."""

    @staticmethod
    def join(memory_bytes: int, **options: object) -> Group:
        """how: "alone", "environment", "folder" with folder, job, rank, ranks, or "control" with
        address, job, rank, ranks, token, uses_tls, ca_pem, certificate_pem, key_pem, is_insecure;
        transports, devices, open_within_s, step_within_s."""

    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def memory_used_bytes(self) -> int: ...
    def gather(self, mine: bytes, at_most_s: float) -> list[bytes]: ...
    def raise_interruption(self) -> None:
        """What a signal has raised in gather, exchange or partition_join, which end as if it had
        not come."""

    def give_up(self, error: str) -> None:
        """Where a communicator is open: a caller that waits for this rank, now or later, gets an
        error that names it, with its "617 text"."""

    def abort(self, reason: str) -> None:
        """Any thread: the work of all ranks is over, with CD-617 and the reason."""

    def channel(self, schema: object, **options: object) -> Channel:
        """sends: "routed" with by ("key", "hash", "range" with bounds, "explicit") and keys,
        "named", "broadcast"; assignment of partitions to destinations; sources, destinations,
        segment_bytes, text_bytes, slot_bits, memory_bytes, open_within_s."""

    def goes_in_bulk(self, how: str) -> bool:
        """how: "auto", "bulk" or "channel"; whether all ranks can, and are to."""

    @property
    def bulk_refusal(self) -> str:
        """Why ranks that MPI started do not go in bulk; "" if they do, or were not asked."""

    def measure_puts(self, message_bytes: list[int]) -> list[tuple[int, float, bool]]:
        """Of each size: bytes, seconds of a message to the next rank, and whether ranks wrote it
        themselves, without a put. Only where goes_in_bulk(); all ranks call it."""

    def exchange(self, rows: Table, threads: int, **options: object) -> tuple[Table, str]:
        """In bulk: what is for this rank, and the facts as JSON. options: those of a channel that
        say where rows go; or named, a buffer of uint16 with a number of a destination for each row;
        or order, keys (column, descending, nulls_first) of an order over all ranks."""

    def refuse_exchange(self, error: str) -> None:
        """In the place of `exchange`, for a rank that cannot: others get the error, "105 text"."""

    def links(self) -> list[dict[str, Any]]: ...
    @staticmethod
    def start_trace(notes_per_thread: int) -> None: ...
    def finish_trace(self, own: bool) -> str:
        """own: this rank's notes; else those of all, at rank 0."""

    def perf(self, **options: object) -> dict[str, Any]:
        """pattern, and the options of PerfOptions by their names."""

def row_partitions(rows: object, keys: list[int], partitions: int) -> bytes:
    """The partition of each row of a batch, by the hash that routes rows: 16 bits each."""

def filter_blocks(keys: int) -> int:
    """The blocks of 64 bits of a Bloom filter of so many keys."""

def filter_keys(
    rows: Table, keys: list[int], all_blocks: int, first_key: int | None, blocks: int
) -> bytes:
    """The first `blocks` of a Bloom filter of the keys of a table, by the hash that routes rows; or
    of a bitmap, with a bit for each value of one integer key from `first_key` on."""

def filter_rows(
    rows: Table, keys: list[int], all_blocks: int, first_key: int | None, filter: object
) -> bytes:
    """A byte for each row: 0 if its key is not in the filter, 1 if it may be, 2 if its block is not
    among those that are given, which are the first ones of a Bloom filter."""

def csv_bad_values(
    engine: Engine, offsets: object, bytes: object, like: Table, nulls: list[str]
) -> list[int]:
    """The rows whose values the column of `like` does not take from CSV, in order; of strings as
    Arrow's offsets of 32 bits and bytes. NativeError: CD-102 for a type that is not read here."""

class Engine:
    """Worker threads and a memory budget in bytes; 0 means all cores and 80 % of the memory."""

    def __init__(self, threads: int = 0, memory_bytes: int = 0) -> None: ...
    @property
    def threads(self) -> int: ...
    @property
    def memory_limit_bytes(self) -> int: ...
    @property
    def memory_used_bytes(self) -> int: ...
    @property
    def memory_peak_bytes(self) -> int: ...
    def trim(self) -> None: ...

class Table:
    """Immutable columns over imported Arrow data, zero copy."""

    @staticmethod
    def from_stream(engine: Engine, source: object) -> Table: ...
    def column(self, name: str) -> Expr: ...
    def with_columns_of(self, other: Table) -> Table:
        """The columns of a table of as many rows behind these, shared. NativeError"""

    def with_changing_values(self) -> Table:
        """The same rows, of whose values no run keeps anything for the next: for memory whose owner
        may write to it between runs."""

    @property
    def num_rows(self) -> int: ...
    @property
    def num_batches(self) -> int: ...
    @property
    def num_bytes(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

class Expr:
    """A typed expression, immutable (include/crossdock/expressions.hpp); types: Arrow formats."""

    @staticmethod
    def literal(value: bool | float | str | None, type: str) -> Expr:
        """Integers, decimals and times by their digits. NativeError"""

    @staticmethod
    def call(
        function: str,
        arguments: Sequence[Expr],
        values: Sequence[bool | float | str] = (),
        type: str = "",
    ) -> Expr:
        """NativeError where the function does not take such arguments."""

    @property
    def type(self) -> str: ...

def compute_columns(engine: Engine, table: Table, columns: list[tuple[str, Expr]]) -> Table:
    """The table with computed columns behind its own."""

# Ends of lists (int64), words of their elements (uint64), and a byte of each, 1 where it is a
# value, or None: buffers.
_Lists = tuple[object, object, object]

def fold_lists(function: str, type: str, lists: _Lists) -> tuple[bytes, bytes]:
    """What a function is of each list, and a byte of each, 0 for none. type: what the words are,
    "l", "L" or "g". OverflowError."""

def find_in_lists(lists: _Lists, words: object) -> bytes:
    """The place of the first element that has the word of its row, from 1, or 0."""

def members_of_lists(lists: _Lists, among: _Lists) -> bytes:
    """Of each element a byte, 1 where it is in the other list of its row."""

def distinct_of_lists(lists: _Lists) -> bytes:
    """Of each element a byte, 1 for the first of equal values."""

class ArrowStream:
    """Whatever exports an Arrow C stream; may be consumed once."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

class ArrowPairs:
    """The candidate pairs a residual predicate is asked about; may be consumed once."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...

class _Operation:
    """What each of the operations below does. The module has no such class: every one of them has
    these methods of its own."""

    def plan(self) -> str: ...
    def count(self) -> int: ...
    def collect(self, compact: bool = True) -> ArrowStream: ...
    def stream(self, queue_batches: int = 8) -> ArrowStream: ...
    def profile(self) -> str: ...
    def progress(self) -> tuple[str, int, int]: ...
    def cancel(self) -> None: ...

# The keyword arguments of Join. Written as a call: the module has no such class.
_JoinArguments = TypedDict(  # noqa: UP013
    "_JoinArguments",
    {
        "on": Required[list[tuple[str, str]]],
        "how": Required[str],
        "output": Required[list[tuple[str, str, str]]],  # side, column, result name
        "null_equals_null": bool,
        "strategy": str,
        "build": str,
        "materialize": str,
        "filter": str,
        "sorted_left": str,
        "sorted_right": str,
        "partition_bits": int,
        "batch_rows": int,
        "residual": Callable[[ArrowPairs], object] | None,
        "residual_columns": list[tuple[str, str, str]],
    },
    total=False,
)

class Join(_Operation):
    """A planned join of two tables."""

    def __init__(
        self, engine: Engine, left: Table, right: Table, **options: Unpack[_JoinArguments]
    ) -> None: ...

class RankSides:
    """Both sides of a join, partitioned by all ranks into the memory of the one that joins them."""

    @property
    def is_there(self) -> bool: ...
    @property
    def rows(self) -> int: ...
    @property
    def reason(self) -> str: ...
    @property
    def facts(self) -> str: ...
    def plan(self) -> Plan: ...

def partition_join(
    group: Group, engine: Engine, left: Table, right: Table, **options: Unpack[_JoinArguments]
) -> RankSides: ...
def partition_refusal(
    ranks: int, engine: Engine, left: Table, right: Table, **options: Unpack[_JoinArguments]
) -> str:
    """Why partition_join of so many ranks would refuse rows of these schemas, or "". The tables
    have none. Not collective."""

# The keyword arguments of GroupBy. Written as a call: the module has no such class.
_GroupByArguments = TypedDict(  # noqa: UP013
    "_GroupByArguments",
    {
        "keys": Required[list[str]],
        # function, column ("" = rows), filter column ("" = none), result name, options
        "aggregates": Required[list[tuple[str, str, str, str, dict[str, object]]]],
        "strategy": str,  # auto, table, radix, adaptive, dense or sorted
        "batch_rows": int,
    },
    total=False,
)

class GroupBy(_Operation):
    """One row per distinct combination of keys; one row for the whole table without keys."""

    def __init__(
        self, engine: Engine, table: Table, **options: Unpack[_GroupByArguments]
    ) -> None: ...

# The keyword arguments of Partition. Written as a call: the module has no such class.
_PartitionArguments = TypedDict(  # noqa: UP013
    "_PartitionArguments",
    {
        "keys": Required[list[str]],
        "partitions": Required[int],
        "how": str,  # hash, range or explicit
        "output": list[str],
        "batch_rows": int,
    },
    total=False,
)

class Partition(_Operation):
    """The rows of a table, partition by partition, in their order within one."""

    def __init__(
        self, engine: Engine, table: Table, **options: Unpack[_PartitionArguments]
    ) -> None: ...
    def counts(self) -> list[int]:
        """Rows of each partition in the result of the last run."""

# The keyword arguments of Sort. Written as a call: the module has no such class.
_SortArguments = TypedDict(  # noqa: UP013
    "_SortArguments",
    {
        "keys": Required[list[tuple[str, bool, bool]]],  # column, descending, nulls first
        "output": list[tuple[str, str]],  # column, result name
        "limit": int,
        "offset": int,
        "stable": bool,
        "strategy": str,  # auto, presorted, msd, lsd or topk
        "row_index": str,
        "batch_rows": int,
        "digit_bits": int,
    },
    total=False,
)

class Sort(_Operation):
    """The rows of a table in the order of some of its columns."""

    def __init__(self, engine: Engine, table: Table, **options: Unpack[_SortArguments]) -> None: ...

class RangeRequest:
    """A range of a file that the engine waits for, answered once."""

    @property
    def offset(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def is_wanted(self) -> bool: ...
    def deliver(self, data: builtins.bytes) -> None: ...
    def fail(self, why: str) -> None: ...

class ParquetFiles:
    """Parquet files that are open, with their footers read."""

    @staticmethod
    def open(paths: list[str]) -> ParquetFiles: ...
    @staticmethod
    def open_remote(
        files: list[tuple[str, int, bytes]], ask: Callable[[int, RangeRequest], None]
    ) -> ParquetFiles:
        """Files that lie elsewhere: name, size and last bytes of each, and what begins to read a
        range of one, by its number, in another thread."""

    def with_values(self, values: Table) -> ParquetFiles:
        """`values`: a row for each file, of what all its rows have in columns of these names."""

    def with_paths(self, paths: dict[str, Sequence[str]]) -> ParquetFiles:
        """`paths`: of columns that are fields of structs, the names from the struct's column on."""

    def schema_numbers(self) -> list[int]:
        """Of each file, the number of the first one that has the same schema, to the byte."""

    def schema_file(self, file: int) -> bytes:
        """A Parquet file that has the schema of a file, and no rows. IndexError."""

    def stated_range(self, like: Table) -> tuple[float, float] | None:
        """The least and the largest value of the one column of `like`, in the unit of its type, as
        footers state them."""

    @property
    def num_rows(self) -> int: ...

_WindowArguments = TypedDict(  # noqa: UP013
    "_WindowArguments",
    {
        "partition_by": Required[list[str]],
        "order_by": Required[list[tuple[str, bool, bool]]],  # column, descending, nulls first
        # function, column ("" = none), result name, options
        "functions": Required[list[tuple[str, str, str, dict[str, Any]]]],
        "position": str,  # a column that orders rows which are equal to all functions
        "first_rows": int,  # of each partition: others may be left out; -1 = all
    },
    total=False,
)

class Plan:
    """A plan of nodes, immutable (include/crossdock/query.hpp)."""

    @staticmethod
    def scan(table: Table, columns: list[str], name: str) -> Plan: ...
    @staticmethod
    def scan_parquet(
        files: ParquetFiles,
        like: Table,
        name: str,
        with_codes: bool = True,
        keys: list[str] = ...,
    ) -> Plan:
        """The columns of `like`; strings that are few as dictionaries, if asked for; of `keys`, by
        which all rows are grouped, also where they are more. NativeError"""

    @staticmethod
    def scan_csv(
        files: list[tuple[str, int, bool, int, list[int]]],
        format: tuple[str, str, list[str]],
        like: Table,
        name: str,
    ) -> Plan:
        """The columns of `like`. files: path, lines to skip, whether there is a header, values of a
        line, and the place of each column, -1 = NULL. format: delimiter, quote or "", what stands
        for NULL. NativeError"""

    def column(self, name: str) -> Expr: ...
    def filter(self, conditions: list[Expr]) -> Plan: ...
    def project(self, items: list[tuple[str, str | Expr]]) -> Plan:
        """(name, name of a column or an expression)"""

    def pair_column(self, right: Plan, name: str, **options: Any) -> Expr:
        """A residual column of a join with these options."""

    def join(self, right: Plan, condition: Expr | None, **options: Any) -> Plan:
        """Options as those of Join; condition: a residual one in place of theirs."""

    def group_by(self, **options: Unpack[_GroupByArguments]) -> Plan: ...
    def sort(self, **options: Unpack[_SortArguments]) -> Plan: ...
    def rank_filter(self, keys: list[str], blocks: bytes, first_key: int | None) -> Plan: ...
    def limit(self, rows: int, offset: int) -> Plan: ...
    def window(self, **options: Unpack[_WindowArguments]) -> Plan: ...
    def union_all(self, others: list[Plan]) -> Plan:
        """Columns are matched by position."""

    def __arrow_c_schema__(self) -> object: ...
    def text(self) -> str: ...

class Query(_Operation):
    """A plan that runs as a whole. options: whether profile() has times, and rules left out. like:
    a table that says the layout of strings in the result."""

    def __init__(
        self,
        engine: Engine,
        plan: Plan,
        options: tuple[bool, Sequence[str]] = ...,
        like: Table | None = None,
    ) -> None: ...
    @staticmethod
    def rules() -> list[str]: ...

def place_of_array(array: object) -> tuple[int, int]:
    """(type, number) of the device on which an "arrow_device_array" lies, as DLPack numbers them;
    an "arrow_array" lies on the host."""

def place_text(type: int, id: int) -> str:
    """Such as "CUDA device 0"."""

class Device:
    """A device that is open, with a pool of its memory (src/session/device)."""

    def __init__(self, name: str, memory_bytes: int = 0) -> None:
        """name: "gpu:0" or "threads". 0: four fifths of what is free."""

    @property
    def name(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def stream(self) -> int:
        """Its stream as DLPack numbers them, 0 where it has none."""

    @property
    def dlpack_device(self) -> tuple[int, int]: ...
    @property
    def memory_limit_bytes(self) -> int: ...
    @property
    def memory_used_bytes(self) -> int: ...
    @property
    def memory_held_bytes(self) -> int: ...
    def trim(self) -> None: ...
    def reaches(self, type: int, id: int) -> bool:
        """Whether memory there is used in place or copied."""

    def table_of_arrow(self, schema: object, array: object) -> DeviceTable:
        """Capsules "arrow_schema", and "arrow_device_array" or "arrow_array", which is used up."""

    def table_of_tensor(self, name: str, capsule: object) -> DeviceTable:
        """A column of a DLPack capsule, which is used up."""

    def table_of_parts(self, parts: list[tuple[str, DeviceTable]]) -> DeviceTable:
        """Tables of one column each, side by side under these names."""

class DeviceTable:
    """Columns on a device."""

    @property
    def num_rows(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    def join(
        self, other: DeviceTable, keys: list[tuple[str, str]], how: str, suffix: str
    ) -> DeviceTable: ...
    def group_by(
        self,
        keys: list[str],
        aggregates: list[tuple[str, str, str, list[tuple[str, str, int | float | None]]]],
    ) -> DeviceTable:
        """aggregates: (name of the result, function, column or "", conditions)."""

    def sort(
        self, orders: list[tuple[str, bool, bool]], limit: int | None, offset: int
    ) -> DeviceTable:
        """orders: (column, descending, nulls first)."""

    def filter(self, conditions: list[tuple[str, str, int | float | None]]) -> DeviceTable:
        """conditions: (column, comparison, number)."""

    def select(self, columns: list[tuple[str, str]]) -> DeviceTable:
        """(new name, name)."""

    def column(self, at: int) -> DeviceTable: ...
    def schema(self) -> object:
        """The capsule "arrow_schema"."""

    def device_array(self) -> tuple[object, object]:
        """Capsules "arrow_schema" and "arrow_device_array"."""

    def host_array(self) -> tuple[object, object]:
        """Capsules "arrow_schema" and "arrow_array" of a copy on the host."""

    def tensor(self, column: str, stream: int, versioned: bool) -> object:
        """The capsule of DLPack that `stream` may read, 0 where no stream is to wait."""
