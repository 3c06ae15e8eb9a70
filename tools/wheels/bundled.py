"""What a wheel has inside beside Crossdock: libraries, compiled from the sources that Debian keeps
of them, their licences, and the list of both (an SBOM).

The headers of these libraries are those of the system, so the sources must be of the same versions.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import old_glibc

HERE = Path(__file__).resolve().parent
NEWEST_GLIBC = (2, 28)
APT_SOURCES = Path("/etc/apt/sources.list.d/debian.sources")
# Tables of RE2 that its build generates from Unicode's files. Debian's sources leave them out; they
# are data, and come from Debian's archive.
RE2_TABLES = ("perl_groups.o", "unicode_casefold.o", "unicode_groups.o")
# hwloc without what would need other libraries: topologies come from the kernel.
HWLOC_WITHOUT = ("libxml2", "pci", "opencl", "cuda", "nvml", "rsmi", "levelzero", "gl", "libudev")


@dataclass(frozen=True)
class Library:
    """A library inside the wheel. `sources` are globs of what is compiled, without tests; none for
    headers, and for hwloc, which has a build of its own."""

    name: str
    package: str  # of Debian, with its headers
    source: str  # of Debian
    licence: str
    sources: tuple[str, ...] = ()
    includes: tuple[str, ...] = (".",)


LIBRARIES = (
    Library("fmt", "libfmt-dev", "fmtlib", "MIT", ("src/format.cc", "src/os.cc"), ("include",)),
    Library(
        "hwy",
        "libhwy-dev",
        "highway",
        "Apache-2.0",
        ("hwy/aligned_allocator.cc", "hwy/targets.cc", "hwy/per_target.cc"),
    ),
    Library("xxhash", "libxxhash-dev", "xxhash", "BSD-2-Clause", ("xxhash.c",)),
    Library(
        "re2",
        "libre2-dev",
        "re2",
        "BSD-3-Clause",
        ("re2/*.cc", "util/rune.cc", "util/strutil.cc"),
    ),
    Library("hwloc", "libhwloc-dev", "hwloc", "BSD-3-Clause"),
    Library("nlohmann-json", "nlohmann-json3-dev", "", "MIT"),
    Library("libstdc++", "libstdc++-12-dev", "", "GPL-3.0-or-later WITH GCC-exception-3.1"),
)


class BundleError(Exception):
    """A library cannot be had or compiled; the text says which, and what to do."""


def call(command: list[str], folder: Path) -> str:
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        shown = " ".join(command)
        raise BundleError(f"`{shown}` ended with status {ended.returncode}: {ended.stderr[-2000:]}")
    return ended.stdout


def installed_version(package: str) -> str:
    """Of a Debian package, without Debian's own revision: 9.1.0 of 9.1.0+ds1-2."""
    show = ["dpkg-query", "--show", "--showformat=${Version}", package]
    return re.split(r"[-+]", call(show, HERE).split(":")[-1])[0]


def fetch_sources(folder: Path) -> None:
    """Unpacks the sources of all libraries into folders of their names."""
    if not APT_SOURCES.exists():
        raise BundleError(
            f"{APT_SOURCES} is not there: the sources of bundled libraries come from Debian's "
            "archive; build wheels on Debian 12"
        )
    listing = folder / "deb-src.sources"
    listing.write_text(APT_SOURCES.read_text().replace("Types: deb\n", "Types: deb-src\n"))
    (folder / "lists" / "partial").mkdir(parents=True)
    (folder / "cache" / "archives" / "partial").mkdir(parents=True)
    apt = apt_get(listing, folder)
    names = [library.source for library in LIBRARIES if library.source]
    call([*apt, "update"], folder)
    call([*apt, "source", "--download-only", *names], folder)
    for library in LIBRARIES:
        if library.source:
            unpack(library, folder)


def unpack(library: Library, folder: Path) -> None:
    (archive,) = folder.glob(f"{library.source}_*.orig.tar.*")
    version = re.split(r"[-+]", archive.name.split("_")[1].split(".orig")[0])[0]
    if version != installed_version(library.package):
        raise BundleError(
            f"Debian has the sources of {library.source} {version}, and {library.package} "
            f"{installed_version(library.package)} is installed: run apt-get upgrade"
        )
    into = folder / library.name
    into.mkdir()
    call(["tar", "xf", archive.name, "-C", str(into), "--strip-components=1"], folder)


def compile_library(library: Library, sources: Path, lib: Path, tools: Tools) -> None:
    folder = sources / library.name
    files = sorted({file for pattern in library.sources for file in folder.glob(pattern)})
    objects = sources / f"{library.name}-objects"
    objects.mkdir()
    for file in files:
        compiler = tools.cc if file.suffix == ".c" else tools.cxx
        flags = ["-O3", "-DNDEBUG", "-fPIC", "-fvisibility=hidden", "-w"]
        flags += [f"-I{folder / include}" for include in library.includes]
        flags += [] if file.suffix == ".c" else ["-std=c++17", "-fvisibility-inlines-hidden"]
        call([*compiler, *flags, "-c", str(file), "-o", str(objects / f"{file.stem}.o")], sources)
    if library.name == "re2":
        call([f"{tools.prefix}ar", "x", str(debian_archive(sources, tools)), *RE2_TABLES], objects)
    archive(lib / f"lib{library.name}.a", objects, tools)


def debian_archive(sources: Path, tools: Tools) -> Path:
    """RE2 as Debian compiled it, for the architecture of the tools."""
    triple = call([f"{tools.prefix}gcc", "-print-multiarch"], sources).strip()
    if not tools.prefix:
        return Path("/usr/lib") / triple / "libre2.a"
    architecture = {"aarch64-linux-gnu": "arm64"}[triple]
    folder = sources / architecture
    (folder / "lists" / "partial").mkdir(parents=True)
    (folder / "cache" / "archives" / "partial").mkdir(parents=True)
    apt = apt_get(APT_SOURCES, folder, f"APT::Architecture={architecture}")
    apt += ["-o", f"APT::Architectures={architecture}"]
    call([*apt, "update"], folder)
    call([*apt, "download", "libre2-dev"], folder)
    (package,) = folder.glob("libre2-dev_*.deb")
    call(["dpkg-deb", "--extract", str(package), "."], folder)
    return folder / "usr" / "lib" / triple / "libre2.a"


def apt_get(listing: Path, folder: Path, *more: str) -> list[str]:
    """apt-get with lists of its own in `folder`, so that the system's stay as they are."""
    settings = [
        f"Dir::Etc::SourceList={listing}",
        "Dir::Etc::SourceParts=-",
        f"Dir::State::Lists={folder / 'lists'}",
        f"Dir::Cache={folder / 'cache'}",
        *more,
    ]
    return ["apt-get", *(part for setting in settings for part in ("-o", setting)), "-qq"]


def archive(target: Path, objects: Path, tools: Tools) -> None:
    names = sorted(str(file) for file in objects.glob("*.o"))
    call([f"{tools.prefix}ar", "rcs", str(target), *names], objects)


def compile_hwloc(sources: Path, lib: Path, tools: Tools) -> None:
    folder = sources / "hwloc"
    options = ["--enable-static", "--disable-shared", "--with-pic", "--disable-cairo"]
    options += [f"--disable-{part}" for part in HWLOC_WITHOUT]
    if tools.prefix:
        options.append(f"--host={tools.prefix.rstrip('-')}")
    environment = os.environ | {"CFLAGS": "-O2 -w", "CC": " ".join(tools.cc)}
    for command in (["./configure", "--quiet", *options], ["make", "-s", "-C", "hwloc"]):
        ended = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if ended.returncode != 0:
            raise BundleError(f"hwloc: `{' '.join(command[:2])}`: {ended.stderr[-2000:]}")
    shutil.copy(folder / "hwloc" / ".libs" / "libhwloc.a", lib)
    # The one header that depends on the architecture.
    header = Path("include", "hwloc", "autogen", "config.h")
    (lib.parent / header).parent.mkdir(parents=True)
    shutil.copy(folder / header, lib.parent / header)


@dataclass(frozen=True)
class Tools:
    """The compilers, and what stands before the names of binutils: for this machine, or others."""

    prefix: str = ""

    @property
    def cc(self) -> list[str]:
        return [*self._cache, f"{self.prefix}gcc"]

    @property
    def cxx(self) -> list[str]:
        return [*self._cache, f"{self.prefix}g++"]

    @property
    def _cache(self) -> list[str]:
        return ["ccache"] if shutil.which("ccache") else []


def prepare(folder: Path, tools: Tools) -> Path:
    """`folder`/lib with archives of all libraries and a C library of version 2.28 to link with;
    what is there from the same packages and from this code is kept."""
    code = b"".join(file.read_bytes() for file in sorted(HERE.glob("old_glibc.*")))
    code += Path(__file__).read_bytes()
    versions = [installed_version(library.package) for library in LIBRARIES]
    value = hashlib.sha256(code + "\n".join([*versions, tools.prefix]).encode()).hexdigest()
    stamp, lib = folder / "stamp", folder / "lib"
    if stamp.exists() and stamp.read_text() == value:
        return lib
    shutil.rmtree(folder, ignore_errors=True)
    sources, shims = folder / "sources", folder / "shims"
    for empty in (lib, sources, shims):
        empty.mkdir(parents=True)
    fetch_sources(sources)
    old_glibc.make(lib, NEWEST_GLIBC, f"{tools.prefix}gcc", tools.prefix)
    call([*tools.cc, "-O2", "-fPIC", "-c", str(HERE / "old_glibc.c"), "-o", "shims.o"], shims)
    archive(lib / "libold_glibc.a", shims, tools)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        work = [pool.submit(compile_hwloc, sources, lib, tools)]
        work += [
            pool.submit(compile_library, library, sources, lib, tools)
            for library in LIBRARIES
            if library.sources
        ]
        for done in work:
            done.result()
    shutil.rmtree(sources)
    stamp.write_text(value)
    return lib


def licences() -> dict[str, bytes]:
    """File below `licenses/` -> its text: as Debian gives it, and nanobind's own."""
    import nanobind

    files = {
        f"{library.name}/copyright": Path(f"/usr/share/doc/{library.package}/copyright")
        for library in LIBRARIES
    }
    package = Path(nanobind.__file__).parent
    for file in package.parent.glob("nanobind-*.dist-info/**/LICENSE*"):
        files["nanobind/LICENSE"] = file
    result = {name: file.read_bytes() for name, file in files.items()}
    robin_map = (package / "ext" / "robin_map" / "include" / "tsl" / "robin_map.h").read_bytes()
    result["robin-map/LICENSE"] = robin_map.split(b"*/")[0] + b"*/\n"
    return result


def sbom(name: str, version: str) -> bytes:
    """CycloneDX 1.6. The same wheel gives the same document."""
    from importlib.metadata import version as version_of

    parts = [
        (library.name, installed_version(library.package), library.licence, library.package)
        for library in LIBRARIES
    ]
    components = [
        {
            "type": "library",
            "bom-ref": f"{part}@{number}",
            "name": part,
            "version": number,
            "licenses": [{"expression": licence}],
            "purl": f"pkg:deb/debian/{package}@{number}",
        }
        for part, number, licence, package in parts
    ]
    nanobind = version_of("nanobind")
    components.append(
        {
            "type": "library",
            "bom-ref": f"nanobind@{nanobind}",
            "name": "nanobind",
            "version": nanobind,
            "licenses": [{"expression": "BSD-3-Clause AND MIT"}],
            "purl": f"pkg:pypi/nanobind@{nanobind}",
        }
    )
    about = {
        "type": "library",
        "bom-ref": f"{name}@{version}",
        "name": name,
        "version": version,
        "licenses": [{"expression": "Apache-2.0"}],
    }
    identity = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([name, version, components]))
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{identity}",
        "version": 1,
        "metadata": {"component": about},
        "components": components,
        "dependencies": [
            {"ref": about["bom-ref"], "dependsOn": [part["bom-ref"] for part in components]}
        ],
    }
    return json.dumps(document, indent=1).encode() + b"\n"
