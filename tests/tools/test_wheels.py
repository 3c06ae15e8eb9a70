"""tools/wheels: a C library that is older than this machine's, and wheels with their extras. The
wheels themselves are made and tried by `make wheel` and in a step of `make test`."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "wheels"))

import bundled  # noqa: E402  (the tools are scripts, not a package)
import make_wheels  # noqa: E402
import old_glibc  # noqa: E402

LISTING = """
    12: 0000000000089e50   412 FUNC    GLOBAL DEFAULT   16 pthread_create@GLIBC_2.2.5
    13: 0000000000089e50   412 FUNC    GLOBAL DEFAULT   16 pthread_create@@GLIBC_2.34
    14: 00000000001d5868     8 OBJECT  GLOBAL DEFAULT   35 stderr@@GLIBC_2.2.5
    15: 000000000003e5c0    86 FUNC    GLOBAL DEFAULT   16 arc4random@@GLIBC_2.36
    16: 00000000000a2c40   120 FUNC    GLOBAL DEFAULT   16 memcpy@GLIBC_2.2.5
    17: 00000000000a2c40   120 IFUNC   GLOBAL DEFAULT   16 memcpy@@GLIBC_2.14
    18: 00000000000a2c40   120 FUNC    GLOBAL DEFAULT   16 __hidden@@GLIBC_PRIVATE
"""

PROGRAM = """
#include <math.h>
#include <pthread.h>
#include <stdio.h>
static void* square(void* at) { *(double*)at = pow(*(double*)at, 2); return 0; }
double squared(double value) {
  pthread_t thread;
  pthread_create(&thread, 0, square, &value);
  pthread_join(thread, 0);
  fprintf(stderr, "%f\\n", value);
  return value;
}
"""
NEW = "#include <stdlib.h>\nunsigned number(void) { return arc4random(); }\n"


def test_the_newest_version_that_is_old_enough_is_taken() -> None:
    result = old_glibc.libraries({"libc.so.6": LISTING}, (2, 28))
    assert result["libpthread.so.0"].symbols == {"pthread_create": ((2, 2, 5), "FUNC", 412)}
    assert result["libc.so.6"].symbols == {
        "stderr": ((2, 2, 5), "OBJECT", 8),
        "memcpy": ((2, 14), "IFUNC", 120),
    }


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("glibc")
    old_glibc.make(folder, (2, 28))
    return folder


def linked(folder: Path, older: Path, text: str) -> subprocess.CompletedProcess[str]:
    source = folder / "source.c"
    source.write_text(text)
    options = ["-shared", "-fPIC", "-O1", "-nodefaultlibs", f"-L{older}", "-Wl,-z,defs"]
    libraries = ["-lm", "-lpthread", "-lc"]
    command = ["cc", *options, "-o", str(folder / "out.so"), str(source), *libraries]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_what_is_linked_with_the_older_library_needs_no_newer_one(
    tmp_path: Path, older: Path
) -> None:
    ended = linked(tmp_path, older, PROGRAM)
    assert ended.returncode == 0, ended.stderr
    show = ["readelf", "-W", "-V", str(tmp_path / "out.so")]
    listing = subprocess.run(show, capture_output=True, text=True, check=True).stdout
    assert (2, 2, 5) <= old_glibc.newest_of(listing) <= (2, 28)
    program = "import ctypes, sys; f = ctypes.CDLL(sys.argv[1]).squared; "
    program += "f.restype = ctypes.c_double; print(f(ctypes.c_double(3)))"
    run = [sys.executable, "-c", program, str(tmp_path / "out.so")]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "9.0\n"


def test_what_only_a_newer_library_has_does_not_link(tmp_path: Path, older: Path) -> None:
    ended = linked(tmp_path, older, NEW)
    assert ended.returncode != 0
    assert "undefined reference to `arc4random'" in ended.stderr


def whole() -> make_wheels.Wheel:
    metadata = (
        "Metadata-Version: 2.4\nName: crossdock\nVersion: 1.2\nLicense-File: LICENSE\n\nText\n"
    )
    files = {
        "crossdock/__init__.py": b"",
        "crossdock/libcrossdock_ucx.so": b"u",
        "crossdock/libcrossdock_control.so": b"c",
        "crossdock/libcrossdock_control_proto.so": b"p",
        "crossdock/_control.cpython-311-x86_64-linux-gnu.so": b"m",
        "crossdock/_control.pyi": b"t",
    }
    return make_wheels.Wheel("crossdock", "1.2", "cp311-cp311-linux_x86_64", metadata, files)


def test_plugins_become_extras() -> None:
    core, *parts = make_wheels.split(whole())
    assert set(core.files) == {"crossdock/__init__.py", "crossdock/_control.pyi"}
    assert {part.name: len(part.files) for part in parts} == {
        "crossdock_ucx": 1,
        "crossdock_control": 3,
    }
    assert {part.name: part.tag.rsplit("-", 1)[0] for part in parts} == {
        "crossdock_ucx": "py3-none",
        "crossdock_control": "cp311-cp311",
    }
    assert 'Requires-Dist: crossdock-ucx==1.2; extra == "ucx"' in core.metadata
    assert core.metadata.endswith("\n\nText\n")
    assert all("Requires-Dist: crossdock==1.2\n" in part.metadata for part in parts)


def test_a_wheel_says_what_is_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    core = make_wheels.split(whole())[0]
    monkeypatch.setattr(make_wheels, "oldest_system", lambda _: "manylinux_2_28_x86_64")
    make_wheels.complete(core)
    file = make_wheels.write(core, tmp_path)
    assert file.name == "crossdock-1.2-cp311-cp311-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(file) as archive:
        record = archive.read("crossdock-1.2.dist-info/RECORD").decode()
        names = set(archive.namelist())
        for line in record.splitlines():
            path, digest, size = line.split(",")
            names.remove(path)
            if digest:
                hashed = hashlib.sha256(archive.read(path)).digest()
                expected = base64.urlsafe_b64encode(hashed).rstrip(b"=").decode()
                assert (digest, int(size)) == (f"sha256={expected}", len(archive.read(path)))
        assert names == set()
        document = json.loads(archive.read("crossdock-1.2.dist-info/sboms/crossdock.cdx.json"))
        metadata = archive.read("crossdock-1.2.dist-info/METADATA").decode()
        named = {path for path in archive.namelist() if "/licenses/" in path}
    parts = {part["name"]: part for part in document["components"]}
    assert {"fmt", "hwy", "xxhash", "re2", "hwloc", "libstdc++", "nanobind"} <= set(parts)
    for library in bundled.LIBRARIES:
        assert re.match(r"\d", parts[library.name]["version"])
        assert f"License-File: {library.name}/copyright" in metadata
        assert f"crossdock-1.2.dist-info/licenses/{library.name}/copyright" in named
