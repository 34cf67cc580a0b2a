"""The layers: who may import whom, read off the source of the package that is installed."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.resources import files
from pathlib import Path, PurePosixPath

import pytest

# A module imports only from those before it.
LAYERS = [
    "errors",
    "table",
    "losses",
    "kernels",
    "linalg",
    "passes",
    "edm",
    "theory",
    "datasets",
    "problem",
    "inputs",
    "files",
    "confidence",
    "plots",
    "result",
    "starts",
    "methods",
    "api",
    "comparison",
    "estimators",
    "paper",
    "cli",
]
MAY_IMPORT_ROOT = {"cli"}  # it is a user of the package
SOLE_IMPORTERS = {"numba": "kernels", "matplotlib": "plots"}
BROAD = {"Exception", "BaseException"}
HEAVY = ["matplotlib", "pandas", "polars", "rich", "sklearn", "typer"]

ROOT = Path(str(files("robustmds")))
MODULES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))


def layer(module):
    """Return the first name below the package: its layer, or nothing for the root."""
    parts = PurePosixPath(module).with_suffix("").parts
    return "" if parts == ("__init__",) else parts[0]


def imported_names(module, node):
    """Return the absolute dotted names that an import statement brings in."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    package = ("robustmds", *PurePosixPath(module).parts[:-1])
    above = ".".join(package[: len(package) + 1 - node.level]) if node.level else ""
    base = ".".join(filter(None, [above, node.module]))
    return [f"{base}.{alias.name}" for alias in node.names]


def import_faults(module, name):
    """Yield what is wrong with one import."""
    own = layer(module)
    top, _, below = name.partition(".")
    if top in SOLE_IMPORTERS and own != SOLE_IMPORTERS[top]:
        yield f"only {SOLE_IMPORTERS[top]} imports {top}"
    if top != "robustmds" or not own:
        return
    other = below.partition(".")[0]
    if other not in LAYERS:
        if own not in MAY_IMPORT_ROOT:
            yield f"{own} must not import {name}, a name of the root"
    elif own in LAYERS and LAYERS.index(other) > LAYERS.index(own):
        yield f"{own} must not import {other}, which is to its right"


def faults(module, source):
    """Return what is wrong with a module, line by line."""
    found = []
    for node in ast.walk(ast.parse(source)):
        for name in imported_names(module, node):
            found += [(node.lineno, fault) for fault in import_faults(module, name)]
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "print" and layer(module) != "cli":
            found.append((node.lineno, "only cli prints"))
        if isinstance(node, ast.ExceptHandler) and (node.type is None or is_broad(node.type)):
            found.append((node.lineno, "an except must name what it catches"))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress") and is_broad(node):
            found.append((node.lineno, "a suppress must name what it catches"))
    return [f"{module}, line {line}: {fault}" for line, fault in sorted(found)]


def is_broad(node):
    return any(isinstance(part, ast.Name) and part.id in BROAD for part in ast.walk(node))


def test_the_package_is_found():
    assert {"__init__.py", "errors.py", "files.py", "kernels/__init__.py"} <= set(MODULES)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_has_a_place_among_the_layers(module):
    assert layer(module) in {"", *LAYERS}


@pytest.mark.parametrize("module", MODULES)
def test_a_module_keeps_to_its_layer(module):
    assert faults(module, (ROOT / module).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("module", "source", "fault"),
    [
        ("linalg.py", "from robustmds.passes import x", "linalg must not import passes"),
        ("linalg.py", "import robustmds.passes", "linalg must not import passes"),
        ("linalg.py", "from robustmds import passes", "linalg must not import passes"),
        ("linalg.py", "from . import passes", "linalg must not import passes"),
        ("linalg.py", "from .passes import x", "linalg must not import passes"),
        ("methods/a.py", "from ..api import x", "methods must not import api"),
        ("methods/__init__.py", "from .. import api", "methods must not import api"),
        ("edm.py", "def f():\n    import robustmds.api", "edm must not import api"),
        ("edm.py", "if TYPE_CHECKING:\n    from robustmds.cli import x", "edm must not import cli"),
        ("edm.py", "from robustmds import __version__", "edm must not import robustmds.__version__"),
        ("edm.py", "import robustmds", "edm must not import robustmds"),
        ("edm.py", "from numba import njit", "only kernels imports numba"),
        ("__init__.py", "import matplotlib.pyplot as plt", "only plots imports matplotlib"),
        ("api.py", "def f():\n    print('here')", "only cli prints"),
        ("cli.py", "try:\n    x\nexcept:\n    pass", "an except must name what it catches"),
        ("cli.py", "try:\n    x\nexcept Exception:\n    pass", "an except must name what it catches"),
        ("cli.py", "try:\n    x\nexcept (OSError, BaseException):\n    pass", "an except must name"),
        ("cli.py", "with contextlib.suppress(Exception):\n    x", "a suppress must name what it catches"),
    ],
)
def test_a_planted_fault_is_seen(module, source, fault):
    (found,) = faults(module, source)
    assert fault in found


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("passes.py", "from robustmds.kernels import Rows, pairs"),
        ("methods/a.py", "from . import b\nfrom robustmds.methods._run import run"),
        ("methods/a.py", "from robustmds import edm"),
        ("kernels/_jit.py", "import numba"),
        ("plots.py", "def f():\n    import matplotlib.pyplot"),
        ("cli.py", "import robustmds as rm"),
        ("__init__.py", "from robustmds.cli import main"),
        ("cli.py", "print('done')"),
        ("files.py", "try:\n    x\nexcept (OSError, ValueError):\n    pass"),
    ],
)
def test_what_is_allowed_is_left_alone(module, source):
    assert faults(module, source) == []


def test_importing_the_package_imports_nothing_heavy(tmp_path):
    program = (
        "import sys\nfrom robustmds import robust_mds\n"
        f"print(*(name for name in {HEAVY} if name in sys.modules), end='')"
    )
    seen = subprocess.run(
        [sys.executable, "-c", program], check=False, cwd=tmp_path, capture_output=True, text=True
    )
    assert (seen.returncode, seen.stdout, seen.stderr) == (0, "", "")
