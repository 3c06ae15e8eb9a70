"""crossdock sql: statements from the command line, files and standard input, and the shell."""

from __future__ import annotations

import io
import json
import sys
import time
from pathlib import Path

import pexpect
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from crossdock.files import text_formats
from crossdock_cli import rows

from .conftest import Command

pytestmark = pytest.mark.usefixtures("folder")


class Stdin:
    """Standard input with these bytes."""

    def __init__(self, content: bytes) -> None:
        self.buffer = io.BytesIO(content)

    def read(self) -> str:
        return self.buffer.read().decode()

    def isatty(self) -> bool:
        return False


def test_the_formats_are_those_of_the_package() -> None:
    assert ("table", *text_formats.FORMATS) == rows.KINDS


def test_a_table(crossdock: Command) -> None:
    ended = crossdock(
        "sql", "select name, count(*) as n from 'people.csv' group by name order by 1"
    )
    assert ended.code == 0
    assert "name" in ended.out
    assert "3 rows   2 columns" in ended.out


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("csv", '"id","name"\n1,"ann"\n2,"bob"\n3,\n'),
        ("ndjson", '{"id": 1, "name": "ann"}\n{"id": 2, "name": "bob"}\n{"id": 3, "name": null}\n'),
        ("markdown", "| id | name |\n| ---: | --- |\n| 1 | ann |\n| 2 | bob |\n| 3 |  |\n"),
    ],
)
def test_formats_of_text(kind: str, shown: str, crossdock: Command) -> None:
    ended = crossdock("sql", "from 'people.parquet' order by id", "--format", kind)
    assert (ended.code, ended.out) == (0, shown)


def test_formats_of_bytes(folder: Path, crossdock: Command) -> None:
    for kind in ("parquet", "arrow", "json"):
        ended = crossdock("sql", "from 'people.parquet'", "--format", kind, "-o", f"out.{kind}")
        assert ended.code == 0, ended.err
        assert "wrote 3 rows" in ended.err
    assert pq.read_table(folder / "out.parquet").num_rows == 3
    assert pa.ipc.open_stream((folder / "out.arrow").read_bytes()).read_all().num_rows == 3
    assert len(json.loads((folder / "out.json").read_text())) == 3


def test_the_ending_says_the_format(folder: Path, crossdock: Command) -> None:
    for name in ("x.parquet", "x.csv", "x.json", "x.md"):
        assert crossdock("sql", "from 'people.parquet'", "-o", name).code == 0
    assert (folder / "x.md").read_text().startswith("| id | name |")
    assert crossdock("sql", "from 'x.csv'", "-o", "x.csv").code == 1
    assert crossdock("sql", "from 'x.csv'", "-o", "x.csv", "--overwrite").code == 0


def test_statements_of_a_file_and_names(folder: Path, crossdock: Command) -> None:
    (folder / "q.sql").write_text(
        "create view v as select id from p where id > 1; -- two\nselect count(*) as n from v;\n"
    )
    ended = crossdock("sql", "-f", "q.sql", "--table", "p=people.arrow", "--format", "csv")
    assert (ended.out, ended.err) == ('"n"\n2\n', "created v\n")


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_standard_input_as_a_table(
    kind: str, folder: Path, crossdock: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = (folder / f"people.{kind}").read_bytes()
    monkeypatch.setattr(sys, "stdin", Stdin(content))
    text = "select count(*) as n, max(x.name) as m from '-' x join '/dev/stdin' y using (id)"
    ended = crossdock("sql", text, "--format", "csv")
    assert (ended.code, ended.out) == (0, '"n","m"\n3,"bob"\n')


@pytest.mark.parametrize(
    ("content", "call"),
    [
        ('{"id": 1}\n{"id": 2}\n', "'-'"), ('[{"id": 1}, {"id": 2}]', "'-'"),
        ("x\n# id\nid;t\n1;\n2\n", "read_csv('-', skip=1, comment='#', null_padding=true)"),
    ],
)  # fmt: skip
def test_forms_of_standard_input(
    content: str, call: str, crossdock: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(content.encode()))
    ended = crossdock("sql", f"select sum(id) as s from {call}", "--format", "csv")
    assert (ended.code, ended.out) == (0, '"s"\n3\n')


def test_standard_input_that_is_no_table(
    crossdock: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(b"PAR1 and no more"))
    ended = crossdock("sql", "from '-'")
    assert ended.code == 1
    assert "standard input cannot be read" in ended.err


def test_statements_on_standard_input(crossdock: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(b"select 1 as a; select 2 as b;"))
    assert crossdock("sql", "--format", "csv").out == '"a"\n1\n"b"\n2\n'


def test_errors_show_the_place(crossdock: Command) -> None:
    ended = crossdock("sql", "select id;\nselect idd\nfrom 'people.parquet'")
    assert ended.code == 1
    ended = crossdock("sql", "select id,\n  idd from 'people.parquet'")
    assert "line 2" in ended.err
    lines = ended.err.splitlines()
    caret = next(line for line in lines if line.strip() == "^")
    shown = lines[lines.index(caret) - 1]
    assert shown[caret.index("^") :].startswith("idd")


def test_statements_that_cannot_be_read(tmp_path: Path, crossdock: Command) -> None:
    ended = crossdock("sql", "-f", str(tmp_path / "none.sql"))
    assert (ended.code, "cannot be read: No such file" in ended.err) == (1, True)
    binary = tmp_path / "binary.sql"
    binary.write_bytes(b"select \xff")
    ended = crossdock("sql", "-f", str(binary))
    assert (ended.code, "CD-302" in ended.err, "byte 7" in ended.err) == (1, True, True)


def test_lists_are_no_csv(tmp_path: Path, crossdock: Command) -> None:
    lists = tmp_path / "lists.ndjson"
    lists.write_text('{"a": [1]}\n')
    for verb in (("head", str(lists)), ("sql", f"select * from '{lists}'")):
        ended = crossdock(*verb, "--format", "csv")
        assert (ended.code, "CD-503" in ended.err, "list<item" in ended.err) == (1, True, True)


def test_explain_is_text(crossdock: Command) -> None:
    ended = crossdock("sql", "explain select id from 'people.parquet' where id > 1")
    assert "scan parquet" in ended.out
    assert "┌" not in ended.out


@pytest.mark.parametrize(
    "arguments",
    [
        ("sql", "select 1", "-f", "q.sql"),
        ("sql", "select 1", "--overwrite"),
        ("sql", "select 1", "--table", "nope"),
        ("sql", "select 1", "--format", "xml"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], crossdock: Command) -> None:
    assert crossdock(*arguments).code == 2


@pytest.fixture
def shell(folder: Path, tmp_path: Path) -> pexpect.spawn:
    (folder / "two.sql").write_text(".timing off\nselect 40 + 2\n  as answer;\n.read two.sql\n")
    code = "import sys; from crossdock_cli.main import main; sys.argv[1:] = sys.argv[1:]; main()"
    environment = {
        "TERM": "xterm", "PATH": "/usr/bin:/bin", "XDG_STATE_HOME": str(tmp_path / "state"),
        "HOME": str(tmp_path), "PYTHONPATH": ":".join(sys.path), "COLUMNS": "100", "LINES": "40",
        "PROMPT_TOOLKIT_NO_CPR": "1",
    }  # fmt: skip
    arguments = ["-c", code, "sql", "--threads", "2", "--table", "people=people.parquet"]
    child = pexpect.spawn(
        sys.executable, arguments, cwd=str(folder), env=environment, timeout=30,
        dimensions=(40, 100), encoding="utf-8",
    )  # fmt: skip
    child.expect("crossdock>")
    return child


def test_the_shell(shell: pexpect.spawn, tmp_path: Path) -> None:
    shell.send("select count(*) as n\r")
    shell.send("from people;\r")
    shell.expect("1 row")
    shell.send(".tables\r")
    shell.expect("people")
    shell.send(".schema people\r")
    shell.expect(r"people \(id BIGINT, name VARCHAR\)")
    shell.send("select nope from people;\r")
    shell.expect("no column 'nope'")
    shell.send(".read two.sql\r")
    shell.expect("answer")
    shell.expect("reads itself")
    shell.send(".tabels\r")
    shell.expect("no command '.tabels'")
    for part, completion in (("select na\t", "me"), (" from peo\t", "ple")):
        shell.send(part)
        shell.expect(completion)  # comes from another thread
    shell.send(" order by id;\r")
    shell.expect("ann")
    shell.expect("crossdock>")
    time.sleep(0.5)
    shell.send(".quit\r")
    shell.expect(pexpect.EOF)
    shell.close()
    assert shell.exitstatus == 0
    history = (tmp_path / "state" / "crossdock" / "sql_history").read_text()
    assert "select nope from people;" in history


def test_a_string_that_is_open_is_said(shell: pexpect.spawn) -> None:
    shell.send("select 'abc\r")
    shell.expect("   string>")
    shell.sendintr()
    shell.expect("crossdock>")
    shell.send("select count(*) as n from people;\r")
    shell.expect("1 row")
    shell.close()


def test_words_of_other_shells(shell: pexpect.spawn) -> None:
    shell.send("help\r")
    shell.expect("ends the shell")
    shell.send("\\d\r")
    shell.expect("people")
    shell.send(".read none.sql\r")
    shell.expect("nothing to read at 'none.sql'")
    shell.send(".mode csv\r")
    shell.expect(".format")
    shell.expect("crossdock>")
    time.sleep(0.5)
    shell.send("exit\r")
    shell.expect(pexpect.EOF)
    shell.close()
    assert shell.exitstatus == 0


def test_control_keys_of_the_shell(shell: pexpect.spawn) -> None:
    shell.send("select 'half")
    shell.sendcontrol("c")
    shell.expect("crossdock>")
    shell.send("select 7 as seven;\r")
    shell.expect("1 row")
    shell.expect("crossdock>")
    time.sleep(0.5)
    shell.sendcontrol("d")
    shell.expect(pexpect.EOF)
    shell.close()
    assert shell.exitstatus == 0
