"""Entry point of `kb`, and the check that no other module hides a package of Fieldmark.

It stands beside the packages, since a hidden package cannot report that it is hidden.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("cli", "data", "kb", "recognize", "rerank")


def check_packages() -> None:
    """Raise `ImportError` if Python finds another module in place of one of our packages."""
    for name in PACKAGES:
        package = sys.modules.get(name) or find_spec(name)
        file = getattr(package, "__file__", None) or getattr(package, "origin", None)
        if package is not None and (file is None or Path(file).resolve().parents[1] != Path(__file__).resolve().parent):
            raise ImportError(
                f"Another module named {name} hides the one of Fieldmark: {file or package}. "
                "Rename it, or start Python from a folder (and with a PYTHONPATH) that does not hold it.",
                name=name,
                path=file,
            )


def main() -> None:
    """Run `kb` with the arguments of this process."""
    try:
        check_packages()
    except ImportError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(3)
    from cli.main import main as run

    run()
