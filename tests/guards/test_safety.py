"""Nothing foreign is unpickled or run, and no photo, pickle or personal path is committed."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.guards.sources import BESIDE, PACKAGES, ROOT, Source, facts_of, read, sources

MODULES = frozenset(("pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "yaml"))
CALLS = frozenset((
    "eval", "exec", "compile", "__import__", "os.system", "os.popen", "pandas.read_pickle", "pd.read_pickle",
    "torch.hub.load", "torch.jit.load", "subprocess.getoutput", "subprocess.getstatusoutput",
    "xml.etree.ElementTree.parse", "tarfile.open", "shutil.unpack_archive",
))  # fmt: skip
REQUIRED = {"torch.load": ("weights_only", True)}
REFUSED = {"allow_pickle": True, "trust_remote_code": True, "shell": True, "weights_only": False}
# Absolute folders of a person's or a build machine. Split, so that this file does not name them itself.
PERSONAL = re.compile(r"/(?:ro" + r"ot|wo" + r"rk|ho" + r"me/\w+|Us" + r"ers/\w+)/")
PICKLES = {".pkl", ".pickle", ".pt", ".pth", ".joblib"}
PHOTOS = {".jpg", ".jpeg", ".heic"}  # committed pictures are drawings made by code
MAX_BYTES = 32 * 2**20  # the photo tower is at most 33 MB


def unsafe(source: Source) -> list[str]:
    """Return the unsafe imports and calls of a module, with their lines."""
    found = [f"{source.name}:{line}: {name}" for name, line in source.imports
             if name.partition(".")[0] in MODULES or name in CALLS]  # fmt: skip
    for call in source.calls:
        problems = [word for word, refused in REFUSED.items() if call.keywords.get(word) in (refused, ...)]
        if call.name in REQUIRED:
            word, wanted = REQUIRED[call.name]
            problems += [] if call.keywords.get(word) is wanted else [f"no {word}={wanted}"]
        if call.name in CALLS or problems:
            found.append(f"{source.name}:{call.line}: {call.name} {' '.join(problems)}")
    return found


def test_no_module_loads_code_or_pickles() -> None:
    everything = (*sources(*PACKAGES, *BESIDE), read(ROOT / "fieldmark.py"))
    assert [each for source in everything for each in unsafe(source)] == []


def test_the_guard_finds_unsafe_lines_and_passes_safe_ones() -> None:
    """`numpy.load` refuses pickles by default; `pickletools` reads their operations without running them."""
    wrong = """import pickle
from joblib import load
eval(text)
os.system(text)
torch.load(path)
torch.load(path, weights_only=chosen)
np.load(path, allow_pickle=given)
AutoModel.from_pretrained(name, trust_remote_code=True)
subprocess.run(text, shell=True)
from shutil import unpack_archive"""
    right = """model.eval()
import pickletools
np.load(path)
np.load(path, allow_pickle=False)
torch.load(path, weights_only=True)
re.compile(text)"""
    assert [line for line in wrong.splitlines() if not unsafe(facts_of("wrong.py", line))] == []
    assert unsafe(facts_of("right.py", right)) == []


def committed() -> list[Path]:
    command = ["git", "ls-files", "-z"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True, timeout=30).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]


def test_committed_files_are_clean() -> None:
    """A pickle can run any code when it is loaded."""
    problems = []
    for path in committed():
        if path.suffix.lower() in PICKLES | PHOTOS or path.stat().st_size > MAX_BYTES:
            problems.append(f"{path}: a pickle, a photo or too large")
        content = path.read_bytes()
        if b"\0" not in content[:8000] and (found := PERSONAL.search(content.decode("utf-8", "replace"))):
            problems.append(f"{path}: {found.group()}")
    assert problems == []
