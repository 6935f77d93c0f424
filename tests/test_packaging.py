"""What the built package holds, and that it works where there is no checkout."""

import csv
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def project(root):
    return tomllib.loads((root / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def built(root, tmp_path_factory):
    """The source archive and the wheel that is built from it, as users of either get them."""
    out = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(root)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (archive,) = out.glob("*.tar.gz")
    (wheel,) = out.glob("*.whl")
    return archive, wheel


def files_below(folder: Path) -> set[str]:
    """Every file a checkout has below `folder`, caches aside."""
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_wheel_holds_package_configuration_and_studies(root, built):
    held = set(zipfile.ZipFile(built[1]).namelist())
    for folder, place in (
        ("jaxbench", "jaxbench"),
        ("conf", "jaxbench/conf"),
        ("sweeps", "jaxbench/sweeps"),
    ):
        wanted = {f"{place}/{name}" for name in files_below(root / folder)}
        assert wanted
        assert wanted <= held, sorted(wanted - held)


def test_wheel_holds_what_no_import_would_miss(built):
    held = zipfile.ZipFile(built[1]).namelist()
    assert "jaxbench/py.typed" in held
    assert any(re.fullmatch(r"jaxbench/conf/[^/]+\.yaml", name) for name in held)
    snapshot = "jaxbench/sources/snapshots/terminal_science/"
    assert any(name.startswith(snapshot) and name.endswith(".parquet") for name in held)
    assert any(name.endswith("/licenses/LICENSE") for name in held)


def test_wheel_holds_nothing_else(built):
    tops = {name.split("/")[0] for name in zipfile.ZipFile(built[1]).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"jaxbench"}


def test_source_archive_can_be_tested(built):
    with tarfile.open(built[0]) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert {"tests/conftest.py", "pyproject.toml", "README.md", "LICENSE", "CITATION.cff"} <= held
    assert any(name.startswith("conf/") for name in held)
    assert any(name.startswith("sweeps/") for name in held)


def test_version_is_one(root, project, run_cli):
    version = project["version"]
    cited = re.search(r"^version: (\S+)$", (root / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited is not None
    assert cited[1] == version
    assert version in (root / "CHANGELOG.md").read_text()
    assert run_cli("--version").stdout.strip().endswith(version)


@pytest.mark.slow
def test_installed_wheel_runs_the_main_job_away_from_the_checkout(built, tmp_path):
    home = tmp_path / "venv"
    venv.create(home, with_pip=True)
    programs = home / ("Scripts" if os.name == "nt" else "bin")
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    subprocess.run(
        [programs / "python", "-m", "pip", "install", "--quiet", built[1]], env=env, check=True
    )

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = subprocess.run(
        [programs / "jaxbench", "attack", "trials=8", "budgets=[1,2,4]"],
        cwd=elsewhere,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (summary,) = elsewhere.glob("runs/attack-*/summary.csv")
    with summary.open(newline="") as file:
        assert [row["budget"] for row in csv.DictReader(file)] == ["0", "1", "2", "4"]
    assert [path.name for path in elsewhere.iterdir()] == ["runs"]
