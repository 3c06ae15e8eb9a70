"""Link-time copies of the C library's shared objects that have its older symbols only.

Debian's C library keeps, for each function, the version that older programs are linked with. A
library that is linked with what stands here takes those, and so runs wherever the C library has
the given version or a later one; what only later versions have is an error of the linker, unless
old_glibc.c has it. Nothing of these copies runs: at run time there is the C library of the machine.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

# One line of `readelf --dyn-syms`: size, type, binding, visibility, section, name and version.
SYMBOL = re.compile(
    r"^\s*\d+:\s+[0-9a-f]+\s+(?P<size>\d+)\s+(?P<type>FUNC|IFUNC|OBJECT|TLS)\s+(?:GLOBAL|WEAK)"
    r"\s+DEFAULT\s+\d+\s+(?P<name>[\w.$]+)@@?GLIBC_(?P<version>[\d.]+)$",
    re.MULTILINE,
)
# Objects that version 2.34 moved into libc.so.6; programs linked before look for them in these.
MOVED = {
    "libdl.so.2": re.compile(r"dl(?:open|sym|close|error|addr|info|mopen|vsym|addr1)$"),
    "librt.so.1": re.compile(r"(?:shm_|mq_|timer_|aio_|lio_)\w+$"),
    "libpthread.so.0": re.compile(r"(?:pthread_|sem_)\w+$"),
}
READ = ("libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1")
MOVED_IN = (2, 34)

Version = tuple[int, ...]


def version_of(text: str) -> Version:
    return tuple(int(part) for part in text.split("."))


@dataclass
class Library:
    """A shared object: symbol -> its newest version that is old enough, its type and its size."""

    symbols: dict[str, tuple[Version, str, int]] = field(default_factory=dict)


def libraries(listings: dict[str, str], newest: Version) -> dict[str, Library]:
    """What the objects of C libraries of version `newest` have, from listings of today's."""
    result: dict[str, Library] = {}
    for soname, listing in listings.items():
        versions: dict[str, list[tuple[Version, str, int]]] = {}
        for match in SYMBOL.finditer(listing):
            known = (version_of(match["version"]), match["type"], int(match["size"]))
            versions.setdefault(match["name"], []).append(known)
        for name, all_known in versions.items():
            old = [known for known in all_known if known[0] <= newest]
            if not old:
                continue
            is_moved = any(known[0] == MOVED_IN for known in all_known)
            home = soname
            for place, pattern in MOVED.items():
                if soname == "libc.so.6" and is_moved and pattern.match(name):
                    home = place
            result.setdefault(home, Library()).symbols[name] = max(old)
    return result


def assembly(library: Library) -> str:
    """A definition of each symbol, under its version. They are never called."""
    lines = []
    for number, (name, (version, kind, size)) in enumerate(sorted(library.symbols.items())):
        alias, numbers = f"symbol_{number}", ".".join(map(str, version))
        section = {"OBJECT": ".data", "TLS": '.section .tbss,"awT",@nobits'}.get(kind, ".text")
        shown = {"OBJECT": "@object", "TLS": "@tls_object"}.get(kind, "@function")
        room = size if kind == "OBJECT" else 1
        lines += [section, f".globl {alias}", f".type {alias}, {shown}", f".size {alias}, {size}"]
        lines += [f"{alias}: .skip {room}", f".symver {alias}, {name}@@GLIBC_{numbers}"]
    return "\n".join(lines) + '\n.section .note.GNU-stack,"",@progbits\n'


def version_script(library: Library) -> str:
    versions = sorted({version for version, _, _ in library.symbols.values()})
    nodes = [f"GLIBC_{'.'.join(map(str, version))}" for version in versions]
    text, before = "", ""
    for node in nodes:
        text += f"{node} {{ {'' if before else 'local: symbol_*;'} }}{before};\n"
        before = f" {node}"
    return text


def make(folder: Path, newest: Version, compiler: str = "cc", prefix: str = "") -> None:
    """Writes libc.so, libm.so, libdl.so, librt.so and libpthread.so into `folder`, for what
    `compiler` compiles; `prefix` stands before the names of binutils."""
    listings = {}
    for soname in READ:
        ask = [compiler, f"-print-file-name={soname}"]
        path = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
        if path != soname:
            show = [f"{prefix}readelf", "-W", "--dyn-syms", path]
            shown = subprocess.run(show, capture_output=True, text=True, check=True)
            listings[soname] = shown.stdout
    for soname, library in libraries(listings, newest).items():
        source, script = folder / f"{soname}.s", folder / f"{soname}.map"
        source.write_text(assembly(library))
        script.write_text(version_script(library))
        name = "libc_loader.so" if soname.startswith("ld-") else soname.split(".so")[0] + ".so"
        link = ["-shared", "-nostdlib", f"-Wl,-soname,{soname}", f"-Wl,--version-script={script}"]
        command = [compiler, *link, "-o", str(folder / name), str(source)]
        subprocess.run(command, check=True)


def newest_of(listing: str) -> Version:
    """The newest version of the C library that `readelf --version-info` says is needed."""
    needed = re.findall(r"Name: GLIBC_(\d+(?:\.\d+)+)", listing)
    return max(map(version_of, needed), default=(2,))
