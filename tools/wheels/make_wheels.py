"""Makes wheels, which install without a compiler: `make wheel`.

    python tools/wheels/make_wheels.py          # for this Python, into dist/
    python tools/wheels/make_wheels.py --all    # and for 3.12 and later, with the plugin for CUDA

A wheel has Crossdock and all libraries that it needs inside (bundled.py), linked with a C library
of version 2.28 (old_glibc.py). What needs libraries of the system is a wheel of its own, an extra
of the first: crossdock[mpi], [ucx], [pmix], [control] and [cuda]. Beside them lies the source
package, which pip builds where no wheel fits.
"""

from __future__ import annotations

import base64
import fnmatch
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import bundled
import old_glibc

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
BUILD = ROOT / "build"
MACHINE = os.uname().machine
# The wheel of the first of them that is here serves all of them.
LATER_PYTHONS = ("python3.12", "python3.13", "python3.14")

# What every Linux has (the list of manylinux).
SYSTEM = {"libgcc_s.so.1", "libm.so.6", "libc.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1"}
# Extra -> the files of its wheel, and what installs the libraries that they look for.
PLUGINS = {
    "mpi": (["libcrossdock_mpi_openmpi.so", "libcrossdock_mpi_mpich.so"], "Open MPI or MPICH"),
    "ucx": (["libcrossdock_ucx.so"], "UCX 1.13"),
    "pmix": (["libcrossdock_pmix.so"], "PMIx"),
    "control": (["libcrossdock_control*.so", "_control.*.so"], "gRPC 1.51 of Debian 12"),
    "cuda": (["libcrossdock_cuda.so"], "a driver of NVIDIA"),
}


class WheelError(Exception):
    """A wheel cannot be made as it has to be."""


@dataclass
class Wheel:
    """What a wheel holds: path inside -> content."""

    name: str
    version: str
    tag: str
    metadata: str
    files: dict[str, bytes] = field(default_factory=dict)

    @property
    def info(self) -> str:
        return f"{self.name}-{self.version}.dist-info"

    def objects(self) -> dict[str, bytes]:
        return {path: data for path, data in self.files.items() if path.endswith(".so")}


def call(command: list[str], **environment: str) -> str:
    ended = subprocess.run(
        command, cwd=ROOT, env=os.environ | environment, stdout=subprocess.PIPE, text=True
    )
    if ended.returncode != 0:
        raise WheelError(f"`{' '.join(command)}` ended with status {ended.returncode}")
    return ended.stdout


def later_pythons() -> list[str]:
    """Those of LATER_PYTHONS that run and have their headers, of PATH or of pyenv, oldest first."""
    asked = "import os, sysconfig as s; print(os.path.exists(s.get_path('include') + '/Python.h'))"
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    result = []
    for name in LATER_PYTHONS:
        version = name.removeprefix("python")
        candidates = [name, *map(str, sorted(kept.glob(f"{version}.*/bin/{name}")))]
        for python in filter(shutil.which, candidates):
            answer = subprocess.run([python, "-c", asked], capture_output=True, text=True)
            if answer.stdout.strip() == "True":
                result.append(python)
                break
    return result


def build_environment(python: str) -> str:
    """A virtual environment of that Python with what the build needs; its interpreter."""
    folder = BUILD / f"wheel-{Path(python).name}"
    inside = str(folder / "bin" / "python")
    if not Path(inside).exists():
        call([python, "-m", "venv", str(folder)])
        settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        needs = settings["build-system"]["requires"]
        call([inside, "-m", "pip", "install", "--quiet", *needs])
    return inside


def build(python: str, libraries: Path, cuda_compiler: str) -> Wheel:
    """The whole of Crossdock for that Python, with all plugins."""
    # With CUDA apart, for then the core has parts of it, too.
    kind = "cuda" if cuda_compiler else "portable"
    settings = {
        "build-dir": f"build/{kind}-{{wheel_tag}}",
        "cmake.define.CROSSDOCK_PLUGINS": "ON",
        "cmake.define.CROSSDOCK_PORTABLE": str(libraries),
    }
    # By the name that tools/setup.py uses: ccache keeps objects of g++ and of c++ apart.
    environment = {"CXX": os.environ.get("CXX", "c++")}
    if cuda_compiler:
        settings["cmake.define.CROSSDOCK_CUDA"] = "ON"
        environment["CUDACXX"] = cuda_compiler
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        pip = [python, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
        pip += ["--no-build-isolation", "--no-deps", f"--wheel-dir={folder}"]
        pip += [f"--config-settings={name}={value}" for name, value in settings.items()]
        call([*pip, "."], **environment)
        (file,) = Path(folder).glob("crossdock-*.whl")
        return read(file)


def read(file: Path) -> Wheel:
    name, version, tag = file.name.removesuffix(".whl").split("-", 2)
    with zipfile.ZipFile(file) as archive:
        files = {path: archive.read(path) for path in archive.namelist()}
    wheel = Wheel(name, version, tag, "", files)
    wheel.metadata = files.pop(f"{wheel.info}/METADATA").decode()
    for left in ("WHEEL", "RECORD"):
        files.pop(f"{wheel.info}/{left}")
    return wheel


def readelf(data: bytes, *options: str) -> str:
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(data)
        file.flush()
        return call(["readelf", "-W", *options, file.name])


def needed_libraries(wheel: Wheel) -> set[str]:
    """What the wheel's shared objects look for, and it does not have itself."""
    inside = {Path(path).name for path in wheel.files}
    listings = [readelf(data, "-d") for data in wheel.objects().values()]
    named = {name for text in listings for name in re.findall(r"NEEDED.*\[(.+)\]", text)}
    return {name for name in named - inside if not name.startswith("ld-linux")}


def missing_symbols(wheel: Wheel) -> set[str]:
    """What the core's objects look for and is nowhere: what the C library has bears its version,
    and Python's names are Python's."""
    listings = [readelf(data, "--dyn-syms") for data in wheel.objects().values()]
    undefined = re.compile(r"\sGLOBAL\s+DEFAULT\s+UND\s+(\S+)$", re.MULTILINE)
    names = {name for text in listings for name in undefined.findall(text)}
    return {name for name in names if not re.match(r"_?Py", name)}


def oldest_system(wheel: Wheel) -> str:
    """The platform of its tag, by the symbols that its objects look for."""
    versions = [old_glibc.newest_of(readelf(data, "-V")) for data in wheel.objects().values()]
    newest = max([bundled.NEWEST_GLIBC, *versions])
    return f"manylinux_{newest[0]}_{newest[1]}_{MACHINE}"


def split(whole: Wheel) -> list[Wheel]:
    """Crossdock itself, and a wheel for each extra whose plugins were built."""
    wheels = []
    for extra, (patterns, needs) in PLUGINS.items():
        names = [
            path
            for path in whole.files
            if any(fnmatch.fnmatch(Path(path).name, pattern) for pattern in patterns)
        ]
        if not names:
            continue
        summary = f"The part of Crossdock that needs {needs}"
        metadata = (
            f"Metadata-Version: 2.4\nName: crossdock-{extra}\nVersion: {whole.version}\n"
            f"Summary: {summary}\nLicense-Expression: Apache-2.0\n"
            f"Requires-Dist: crossdock=={whole.version}\n\n{summary}.\n"
        )
        has_module = any("_control." in path for path in names)
        python = whole.tag.rsplit("-", 1)[0] if has_module else "py3-none"
        part = Wheel(f"crossdock_{extra}", whole.version, f"{python}-linux_{MACHINE}", metadata)
        part.files = {path: whole.files.pop(path) for path in names}
        wheels.append(part)
    whole.metadata = with_extras(whole.metadata, whole.version)
    return [whole, *wheels]


def with_extras(metadata: str, version: str) -> str:
    head, _, body = metadata.partition("\n\n")
    for extra in PLUGINS:
        head += f"\nProvides-Extra: {extra}"
        head += f'\nRequires-Dist: crossdock-{extra}=={version}; extra == "{extra}"'
    return f"{head}\n\n{body}"


def complete(wheel: Wheel) -> None:
    """Adds licences and SBOM of what is inside, and the tag that its objects allow."""
    wheel.tag = f"{wheel.tag.rsplit('-', 1)[0]}-{oldest_system(wheel)}"
    licences = bundled.licences()
    head, _, body = wheel.metadata.partition("\n\n")
    for name, text in licences.items():
        wheel.files[f"{wheel.info}/licenses/{name}"] = text
        head += f"\nLicense-File: {name}"
    wheel.metadata = f"{head}\n\n{body}"
    public = wheel.name.replace("_", "-")
    wheel.files[f"{wheel.info}/sboms/{public}.cdx.json"] = bundled.sbom(public, wheel.version)


def write(wheel: Wheel, folder: Path) -> Path:
    files = dict(wheel.files)
    files[f"{wheel.info}/METADATA"] = wheel.metadata.encode()
    files[f"{wheel.info}/WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: crossdock (tools/wheels)\nRoot-Is-Purelib: false\n"
        f"Tag: {wheel.tag}\n"
    ).encode()
    record = ""
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(data)}\n"
    files[f"{wheel.info}/RECORD"] = f"{record}{wheel.info}/RECORD,,\n".encode()
    target = folder / f"{wheel.name}-{wheel.version}-{wheel.tag}.whl"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o755 if path.endswith(".so") else 0o644) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return target


def make_sources() -> Path:
    code = f"import scikit_build_core.build as build; build.build_sdist({str(DIST)!r})"
    call([sys.executable, "-c", code])
    return next(DIST.glob("crossdock-*.tar.gz"))


def cuda_compiler() -> str:
    compilers = list(Path(sys.prefix).glob("lib/python3*/site-packages/nvidia/*/bin/nvcc"))
    if len(compilers) != 1:
        raise WheelError(
            f"{sys.prefix} has {len(compilers)} CUDA compilers: run tools/setup.py dev"
        )
    return str(compilers[0])


def publish(wheel: Wheel) -> None:
    """Writes it into dist/, and says what it needs of the system."""
    complete(wheel)
    needs = sorted(needed_libraries(wheel) - SYSTEM)
    if wheel.name == "crossdock" and (missing := [*needs, *sorted(missing_symbols(wheel))]):
        raise WheelError(f"{wheel.name} needs {', '.join(missing)}: bundle them")
    target = write(wheel, DIST)
    size = target.stat().st_size / 1e6
    print(f"{target.name}: {size:.1f} MB; of the system: {', '.join(needs) or 'nothing'}")


def main(arguments: list[str]) -> int:
    everything = arguments == ["--all"]
    libraries = bundled.prepare(BUILD / "wheel-libraries", bundled.Tools())
    wheels = split(build(sys.executable, libraries, ""))
    if everything:
        parts = split(build(sys.executable, libraries, cuda_compiler()))
        wheels += [part for part in parts if part.name == "crossdock_cuda"]
        later = later_pythons()
        if later:
            wheels += split(build(build_environment(later[0]), libraries, ""))
        else:
            print(f"none of {', '.join(LATER_PYTHONS)} is here: wheels for this Python only")
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    for wheel in wheels:
        publish(wheel)
    print(make_sources().name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
