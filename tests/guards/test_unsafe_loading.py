"""No data of others is unpickled or run: no pickle, eval, exec, shell, or loader that can run code."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = sorted(
    file
    for folder in ("data", "kb", "recognize", "rerank", "cli", "training", "benchmarks", "docs", ".ci")
    for file in (ROOT / folder).rglob("*.py")
)
CODE.append(ROOT / "fieldmark.py")
MODULES = frozenset(("pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "yaml"))
CALLS = frozenset(("eval", "exec", "compile", "__import__"))
ATTRIBUTES = frozenset((
    "os.system", "os.popen", "pandas.read_pickle", "pd.read_pickle", "torch.hub.load", "subprocess.getoutput",
    "subprocess.getstatusoutput", "xml.etree.ElementTree.parse", "tarfile.open", "shutil.unpack_archive",
))  # fmt: skip
REQUIRED = {"torch.load": ("weights_only", True), "torch.jit.load": ("never", True)}
REFUSED = {"allow_pickle": True, "trust_remote_code": True, "shell": True, "weights_only": False}


def dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def unsafe(source: str) -> list[str]:
    """Return the unsafe imports and calls of a module, with their lines."""
    found = []
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
        found += [f"{node.lineno}: {name}" for name in names if name.partition(".")[0] in MODULES or name in ATTRIBUTES]
        if not isinstance(node, ast.Call):
            continue
        name, given = dotted(node.func), {word.arg: word.value for word in node.keywords if word.arg}
        if name in CALLS | ATTRIBUTES:
            found.append(f"{node.lineno}: {name}")
        if name in REQUIRED:
            word, wanted = REQUIRED[name]
            value = given.get(word)
            if not (isinstance(value, ast.Constant) and value.value is wanted):
                found.append(f"{node.lineno}: {name} without {word}={wanted}")
        for word, refused in REFUSED.items():
            value = given.get(word)
            # Anything but the safe constant: what a variable holds cannot be seen here.
            if value is not None and not (isinstance(value, ast.Constant) and value.value is not refused):
                found.append(f"{node.lineno}: {name} with {word}")
    return found


@pytest.mark.parametrize("file", CODE, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_no_module_loads_code_or_pickles(file: Path) -> None:
    assert unsafe(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "line",
    [
        "import pickle",
        "from joblib import load",
        "import yaml",
        "eval(text)",
        "exec(text)",
        "os.system(text)",
        "pd.read_pickle(path)",
        "torch.load(path)",
        "torch.load(path, weights_only=False)",
        "torch.load(path, weights_only=chosen)",
        "np.load(path, allow_pickle=True)",
        "np.load(path, allow_pickle=given)",
        "AutoModel.from_pretrained(name, trust_remote_code=True)",
        "subprocess.run(text, shell=True)",
        "from shutil import unpack_archive",
    ],
)
def test_the_guard_finds(line: str) -> None:
    assert len(unsafe(line)) >= 1


@pytest.mark.parametrize(
    "line",
    [
        "model.eval()",
        "import pickletools",
        "np.load(path)",
        "np.load(path, allow_pickle=False)",
        "torch.load(path, weights_only=True)",
        "re.compile(text)",
    ],
)
def test_the_guard_passes(line: str) -> None:
    """`numpy.load` refuses pickles by default; `pickletools` reads their operations without running them."""
    assert unsafe(line) == []
