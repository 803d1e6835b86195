"""What `make release` does with the files in dist/: they are installed and used as by a stranger.

    python tests/release.py dist

Prints the time and the size of each step, writes dist/meta.yaml for conda-forge, and lists what a
person still has to do before the release. `tests/installed/test_release.py` uses `problems`.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
DATA = (".py", ".pyi", ".toml", ".bib", ".html", ".css", ".js", ".h", ".c", ".txt", "py.typed")
NEEDED = (
    "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "SECURITY.md", "SUPPORT.md", "Makefile",
    "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "pyproject.toml", "tests/conftest.py",
    "docs/conf.py", "conda/meta.yaml",
)  # fmt: skip


def problems(folder):
    """What is wrong with the wheel and the source distribution in a folder, one line each."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name = f"{project['name']}-{project['version']}"
    found = []
    with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl") as wheel:
        names = set(wheel.namelist())
    inside = {n for n in names if not n.startswith(f"{name}.dist-info/")}
    found += [f"wheel: {n} is not of the package" for n in inside if not n.startswith("tcpcc/")]
    found += [f"wheel: {n} is neither code nor data" for n in inside if not n.endswith(DATA)]
    tracked = {str(path.relative_to(ROOT)) for path in (ROOT / "tcpcc").rglob("*")
               if path.is_file() and "__pycache__" not in path.parts}  # fmt: skip
    found += [f"wheel: {n} is missing" for n in tracked - inside]
    with tarfile.open(folder / f"{name}.tar.gz") as archive:
        held = {n.removeprefix(f"{name}/") for n in archive.getnames()}
    found += [f"source distribution: {n} is missing" for n in (*NEEDED, *tracked) if n not in held]
    return sorted(found)


def recipe(archive):
    """The recipe of conda-forge with the checksum of a source distribution."""
    text = (ROOT / "conda" / "meta.yaml").read_text(encoding="utf-8")
    return text.replace("{{ sha256 }}", hashlib.sha256(archive.read_bytes()).hexdigest())


def left_to_do():
    """What only a person can do."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    git = ("git", "tag", "--list", f"v{version}")
    tags = subprocess.run(git, cwd=ROOT, capture_output=True, text=True).stdout
    if not tags.strip():
        yield f"git tag v{version}"
    if f"## [{version}]" not in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        yield f"CHANGELOG.md: rename [Unreleased] to [{version}] with the date"
    if "urls" not in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]:
        yield "pyproject.toml: [project.urls] with the address of the repository, when there is one"
    if "](docs/" in (ROOT / "README.md").read_text(encoding="utf-8"):
        yield "README.md: PyPI shows its figure and follows its links once they are absolute"
    if "recipe-maintainers: []" in (ROOT / "conda" / "meta.yaml").read_text():
        yield "conda/meta.yaml: recipe-maintainers"


MINE = """
import tcpcc as tc
net = tc.dumbbell(rate="10 Mbps", delay="20 ms", buffer=50)
run = tc.simulate(tc.Scenario(net, [tc.Flow("mine"), tc.Flow("reno")], duration=20))
print(run.throughput(after=5).values / 1e6)
print(run.cite())
"""


def rehearse(folder):
    """Install the wheel in a fresh environment, and use it."""
    (wheel,) = folder.glob("*.whl")
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        python = home / "venv" / "bin" / "python"
        here = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        here |= {"TCPCC_CACHE_DIR": str(home / "cache"), "MPLBACKEND": "agg"}

        def step(what, *command):
            begin = time.perf_counter()
            done = subprocess.run(
                [str(c) for c in command], cwd=home, env=here, capture_output=True, text=True
            )
            if done.returncode:
                sys.exit(f"{what} failed:\n{done.stdout}{done.stderr}")
            size = sum(f.lstat().st_size for f in home.rglob("*") if f.is_file()) / 1e6
            print(f"{what:44} {time.perf_counter() - begin:6.1f} s {size:7.0f} MB", flush=True)
            return done.stdout

        def script(what, text):
            (home / "script.py").write_text(text)
            return step(what, python, "script.py")

        venv.create(home / "venv", with_pip=True)
        step("install the wheel", python, "-m", "pip", "install", "--quiet", wheel)
        step("import tcpcc", python, "-c", "import tcpcc")
        readme = "\n".join(BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8")))
        printed = script("README, first run (compiles)", readme)
        assert "Jain index" in printed, printed
        script("README, again", readme)
        picture = (ROOT / "docs" / "gallery" / "bufferbloat.py").read_text(encoding="utf-8")
        script("a picture of the gallery", picture)
        assert (home / "bufferbloat.png").stat().st_size > 10_000
        tcpcc = python.with_name("tcpcc")
        step("tcpcc new controller mine --package", tcpcc, "new", "controller", "mine", "--package")
        step("install it", python, "-m", "pip", "install", "--quiet", "--no-deps", "./tcpcc_mine")
        printed = script("run it beside Reno; run.cite()", MINE)
        assert "% controller mine: names no source" in printed, printed
        assert "@misc{jacobson-1990," in printed, printed
        step("tcpcc list", tcpcc, "list")


def main():
    folder = Path(sys.argv[1] if sys.argv[1:] else ROOT / "dist").resolve()
    if wrong := problems(folder):
        sys.exit("\n".join(wrong))
    (archive,) = folder.glob("*.tar.gz")
    for file in (*folder.glob("*.whl"), archive):
        print(f"{file.name:44} {file.stat().st_size / 1e6:17.1f} MB")
    (folder / "meta.yaml").write_text(recipe(archive), encoding="utf-8")
    json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    rehearse(folder)
    print("\nleft to do:", *left_to_do(), sep="\n- ")


if __name__ == "__main__":
    main()
