"""The files of a release agree with each other, and hold what they should."""

import json
import re
import shutil
import tomllib
from datetime import date
from pathlib import Path

import pytest
import release
import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOWEST = dict(
    re.match(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", each).groups() for each in PROJECT["dependencies"]
)


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def problems(root, folder):
    """Of the wheel and the source distribution built from `root`."""
    build = pytest.importorskip("hatchling.builders.wheel", reason="pip install hatchling")
    sdist = pytest.importorskip("hatchling.builders.sdist")
    for builder in (build.WheelBuilder, sdist.SdistBuilder):
        next(builder(str(root)).build(directory=str(folder)))
    return release.problems(folder)


def test_wheel_and_source_distribution_hold_what_they_should_and_nothing_else(tmp_path):
    assert problems(ROOT, tmp_path) == []


def test_a_missing_or_a_foreign_file_is_found(tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "tcpcc", copy / "tcpcc", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    (copy / "tcpcc" / "engine.so").write_bytes(b"\x7fELF")
    (copy / "tcpcc" / "scenario" / "references.bib").unlink()
    found = problems(copy, tmp_path)
    assert "wheel: tcpcc/engine.so is neither code nor data" in found
    assert "wheel: tcpcc/scenario/references.bib is missing" in found
    assert "source distribution: SECURITY.md is missing" in found


def test_zenodo_and_citation_file_say_the_same():
    zenodo = json.loads(text_of(".zenodo.json"))
    citation = yaml.safe_load(text_of("CITATION.cff"))
    for name in ("title", "version", "license", "keywords"):
        assert zenodo[name] == citation[name]
    assert zenodo["creators"] == citation["authors"] == PROJECT["authors"]
    assert zenodo["description"] == citation["abstract"].strip()
    assert zenodo["version"] == PROJECT["version"]
    assert zenodo["license"] == PROJECT["license"]


def recipe():
    """The recipe with its variables filled in."""
    jinja2 = pytest.importorskip("jinja2")
    return yaml.safe_load(jinja2.Template(text_of("conda/meta.yaml")).render(PYTHON="python"))


def test_the_conda_recipe_asks_for_what_the_package_asks_for():
    names = {"matplotlib": "matplotlib-base"}
    wanted = {f"python {PROJECT['requires-python']}", "h5py"}
    for each in PROJECT["dependencies"]:
        name, bounds = re.match(r"([\w-]+)(?:\[\w+\])?(.*)", each).groups()
        wanted.add(f"{names.get(name, name)} {bounds}")
    found = recipe()
    assert set(found["requirements"]["run"]) == wanted
    assert str(found["package"]["version"]) == PROJECT["version"]
    assert found["about"]["summary"] in PROJECT["description"]
    assert found["about"]["license"] == PROJECT["license"]
    command, called = next(iter(PROJECT["scripts"].items()))
    assert found["build"]["entry_points"] == [f"{command} = {called}"]


def test_the_conda_recipe_has_the_sections_that_conda_forge_asks_for():
    """In the order of its linter; a package of pure Python for one lowest version of Python."""
    found = recipe()
    order = ["package", "source", "build", "requirements", "test", "about", "extra"]
    assert list(found) == order
    assert found["build"]["noarch"] == "python"
    assert found["build"]["number"] == 0
    assert found["source"]["url"].endswith(f"tcpcc-{PROJECT['version']}.tar.gz")
    lowest = PROJECT["requires-python"].removeprefix(">=")
    assert f"python {lowest}" in found["requirements"]["host"]
    assert f"python {lowest}" in found["test"]["requires"]
    for name in ("home", "summary", "license", "license_file"):
        assert found["about"][name]
    assert (ROOT / found["about"]["license_file"]).is_file()
    assert "recipe-maintainers" in found["extra"]
    lines = text_of("conda/meta.yaml").splitlines()
    assert all(line == line.rstrip() for line in lines)


def test_the_recipe_of_a_release_has_the_checksum_of_its_archive(tmp_path):
    archive = tmp_path / "tcpcc-0.1.0.tar.gz"
    archive.write_bytes(b"abc")
    filled = release.recipe(archive)
    assert "sha256: ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n" in filled


def test_supported_versions_are_those_of_the_package_and_at_least_those_of_spec_0():
    rows = dict(
        re.findall(r"^\| (\w+) \| ([\d.]+ \| \d{4}-\d\d) \|$", text_of("SUPPORT.md"), re.MULTILINE)
    )
    told = {name.lower(): row.split(" | ") for name, row in rows.items()}
    lowest = LOWEST | {"python": PROJECT["requires-python"].removeprefix(">=")}
    assert set(told) == {"python", "numpy", "scipy", "pandas", "xarray", "matplotlib", "networkx"}
    for name, (version, released) in told.items():
        assert version == lowest[name], name
        years = 3 if name == "python" else 2
        year, month = map(int, released.split("-"))
        assert (date.today() - date(year, month, 1)).days >= years * 365, name


def test_links_of_the_files_beside_the_readme_lead_somewhere():
    for name in ("SUPPORT.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^):]+)\)", text_of(name)):
            file, _, anchor = target.partition("#")
            assert (ROOT / file).is_file(), target
            headings = re.findall(r"^#+ (.*)", text_of(file), re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}
            assert not anchor or anchor in slugs, target
