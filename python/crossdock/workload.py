"""Made inputs of joins, as the literature measures them: rows of a key and a row number, 16 bytes.

Keys of the inner side are unique and in random order; each row of the outer side has one partner
there, or none. A row follows from its number and the seed, so parts can be made anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from crossdock import _native
from crossdock.errors import make_error, public_errors
from crossdock.files.replacement import replacing_file

if TYPE_CHECKING:
    import pyarrow as pa

Side = Literal["inner", "outer"]
SIDES: tuple[Side, Side] = ("inner", "outer")
ROW_GROUP_ROWS = 1 << 20
_MOST_ROWS = 1 << 48


@dataclass(frozen=True)
class Workload:
    """Two relations with the columns `key` and `row`, both int64.

    rows: of the inner side. ratio: outer rows for each inner row. selectivity: share of the outer
    rows that have a partner. zipf: skew of the outer side's keys by Zipf's law; 0: none, so that
    every inner row has `ratio` partners. sparse: keys spread over all of int64 instead of 0 to
    rows - 1. seed: other seeds, other orders. Errors: OptionError from every method.
    """

    rows: int
    ratio: float = 1.0
    selectivity: float = 1.0
    zipf: float = 0.0
    sparse: bool = False
    seed: int = 1

    def rows_of(self, side: Side) -> int:
        """Rows of a side."""
        rows = self.rows if side == "inner" else self.rows * self.ratio
        if not 0 <= rows <= _MOST_ROWS:  # NaN is not, either
            raise make_error(
                "CD-105", f"a side of a workload has 1 to {_MOST_ROWS} rows, not {rows:.10g}"
            )
        return round(rows)

    @property
    def result_rows(self) -> int:
        """Rows of the inner join of both sides on `key`."""
        return self._made().result_rows

    def table(self, side: Side, begin: int = 0, end: int | None = None) -> pa.Table:
        """Rows [begin, end) of a side as a pyarrow Table; all of them unless said otherwise."""
        return self.reader(side, begin, end).read_all()

    def reader(self, side: Side, begin: int = 0, end: int | None = None) -> pa.RecordBatchReader:
        """The same as a pyarrow RecordBatchReader, whose batches are made as they are read."""
        import pyarrow as pa

        last = self.rows_of(side) if end is None else end
        with public_errors():
            stream = self._made().read(side == "outer", begin, last - begin)
        return pa.RecordBatchReader.from_stream(stream)

    def write(
        self,
        folder: str | Path,
        files: int = 1,
        row_group_rows: int = ROW_GROUP_ROWS,
        rank: int = 0,
        ranks: int = 1,
    ) -> dict[str, Any]:
        """Writes both sides as Parquet: folder/inner/part-00000.parquet and so on, `files` a side.

        With several ranks each writes the files whose number leaves `rank` when divided by
        `ranks`. A file appears when it is complete, in place of one of that name; files of a
        larger number that are there already are an error. Memory: one row group. Gives rows,
        bytes and files that were written.
        """
        if files < ranks:
            raise make_error(
                "CD-105",
                f"{ranks} ranks cannot share {files} files a side",
                try_=f"files={ranks}",
            )
        written = {"rows": 0, "bytes": 0, "files": 0}
        for side in SIDES:
            target = Path(folder) / side
            target.mkdir(parents=True, exist_ok=True)
            _refuse_leftovers(target, files)
            for number in range(rank, files, ranks):
                path = target / _file_name(number)
                begin, end = (self.rows_of(side) * n // files for n in (number, number + 1))
                self._write_file(path, side, range(begin, end), row_group_rows)
                written["rows"] += end - begin
                written["bytes"] += path.stat().st_size
                written["files"] += 1
        return written

    def _write_file(self, path: Path, side: Side, rows: range, row_group_rows: int) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = pa.schema([pa.field(name, pa.int64(), nullable=False) for name in ("key", "row")])
        # Random keys do not compress: they are written as they are.
        plain = {"compression": "none", "use_dictionary": False}
        with replacing_file(path) as stream, pq.ParquetWriter(stream, schema, **plain) as writer:
            for begin, end in _cut(rows, row_group_rows):
                writer.write_table(self.table(side, begin, end), row_group_size=end - begin)

    def _made(self) -> _native.Workload:
        if not 0 <= self.seed < 1 << 64:
            raise make_error("CD-105", f"a seed is 0 to 2^64 - 1, not {self.seed}", try_="seed=1")
        with public_errors():
            return _native.Workload(
                inner_rows=self.rows_of("inner"),
                outer_rows=self.rows_of("outer"),
                selectivity=self.selectivity,
                zipf_theta=self.zipf,
                is_sparse=self.sparse,
                seed=self.seed,
            )


def _cut(rows: range, most: int) -> Iterator[tuple[int, int]]:
    for begin in range(rows.start, rows.stop, most):
        yield begin, min(begin + most, rows.stop)


def _file_name(number: int) -> str:
    return f"part-{number:05}.parquet"


def _refuse_leftovers(folder: Path, files: int) -> None:
    """A folder is read as one relation, so files of an earlier, larger workload would be joined."""
    mine = {_file_name(number) for number in range(files)}
    for path in sorted(folder.iterdir()):
        if path.name not in mine and not path.name.startswith("."):
            raise make_error(
                "CD-105",
                f"{path} is no file of this workload, but would be read with it",
                try_="another folder, or remove it",
            )
