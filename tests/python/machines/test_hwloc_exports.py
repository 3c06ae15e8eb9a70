"""Machines that are not ours: the exports that hwloc is tested with, from Debian's source package.

They are fetched once by apt, which checks their signature, and kept in build/data."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import crossdock as xd
import pytest

ROOT = Path(__file__).parents[3]
KEPT = ROOT / "build" / "data" / "hwloc-exports"
SOURCES = Path("/etc/apt/sources.list.d/debian.sources")

# GPUs cannot be separated from displays of a server's console by a rule as short as the other two.
GPUS = {
    "24em64t-2n6c2t-pci.xml": 3,
    "32em64t-2n8c2t-pci-normalio.xml": 4,
    "32em64t-2n8c2t-pci-wholeio.xml": 4,
    "64intel64-3g2n+2n-irregulargroups+pci.xml": 2,
    "power8gpudistances.xml": 4,
}


def run(*command: str, folder: Path) -> None:
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{' '.join(command)}: {result.stderr}"


def fetch(folder: Path) -> None:
    """Unpacks the XML files of hwloc's tests into KEPT."""
    expected = folder / "wanted.sources"
    expected.write_text(SOURCES.read_text().replace("Types: deb\n", "Types: deb-src\n"))
    (folder / "lists" / "partial").mkdir(parents=True)
    settings = [
        f"Dir::Etc::SourceList={expected}",
        "Dir::Etc::SourceParts=-",
        f"Dir::State::Lists={folder / 'lists'}",
    ]
    apt = ["apt-get", *(part for setting in settings for part in ("-o", setting)), "-qq"]
    run(*apt, "update", folder=folder)
    run(*apt, "source", "--download-only", "hwloc", folder=folder)
    (archive,) = folder.glob("hwloc_*.orig.tar.*")
    result = KEPT.with_suffix(".partial")
    shutil.rmtree(result, ignore_errors=True)
    result.mkdir(parents=True)
    with tarfile.open(archive) as files:
        for member in files:
            if re.search(r"/tests/hwloc/xml/[^/]+\.xml$", member.name):
                data = files.extractfile(member)
                assert data is not None
                (result / Path(member.name).name).write_bytes(data.read())
    result.rename(KEPT)


@pytest.fixture(scope="session")
def exports(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    if shutil.which("apt-get") is None or not SOURCES.exists():
        pytest.skip("needs Debian's apt and its sources")
    if not KEPT.exists():
        fetch(tmp_path_factory.mktemp("hwloc"))
    return sorted(KEPT.glob("*.xml"))


def mask(text: str) -> int:
    """A set of bits as hwloc writes it: groups of eight hexadecimal digits, the first on top."""
    number = 0
    for group in text.split(","):
        number = number << 32 | int(group or "0", 16)
    return number


def expected(export: Path) -> Counter[str]:
    """What the text says, by a reading of our own: nodes with cores that a process may use, ports,
    and GPUs as above. Exports of hwloc 1 do not show nodes as those of hwloc 2 do."""
    objects = list(ElementTree.parse(export).getroot().iter("object"))
    allowed = mask(objects[0].get("allowed_nodeset", "0x0"))
    nodes = [
        one
        for one in objects
        if one.get("type") == "NUMANode"
        and mask(one.get("cpuset", "0x0")) > 0
        and allowed >> int(one.get("os_index", "0")) & 1
    ]
    ports = [
        one
        for one in objects
        if one.get("type") == "PCIDev"
        and one.get("pci_type", "").startswith("02")
        and any(child.get("osdev_type") in ("2", "3") for child in one)
    ]
    return Counter(cpu=len(nodes), nic=len(ports), gpu=GPUS.get(export.name, 0))


def test_every_export_is_read_as_what_it_says(exports: list[Path]) -> None:
    assert len(exports) > 30
    assert {export.name for export in exports} >= GPUS.keys()
    for export in exports:
        (shape,) = xd.Topology.hwloc(export).to_dict()["shapes"]
        counts = Counter(vertex["kind"] for vertex in shape["vertices"])
        is_first_version = ElementTree.parse(export).getroot().get("version") is None
        for kind, count in expected(export).items():
            if kind != "cpu" or not is_first_version:
                assert counts[kind] == count, f"{export.name}: {kind}"


def test_exports_can_be_shown_drawn_and_planned_on(exports: list[Path]) -> None:
    for export in exports:
        topology = xd.Topology.hwloc(export)
        assert "this machine" not in topology.text()
        ElementTree.fromstring(topology.svg())
        names = [
            vertex["name"]
            for vertex in topology.to_dict()["shapes"][0]["vertices"]
            if vertex["kind"] in ("cpu", "gpu")
        ]
        for name in names[1:]:
            plan = topology.plan(names[0], name)
            assert plan.ways, f"{export.name}: {name}"
            assert plan.ways[0].vertices[-1] == name
