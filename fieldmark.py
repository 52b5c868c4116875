"""Entry point of `kb`, the packages as attributes, and what must be done before a package is imported.

That is to switch off the telemetry of other packages, and to check that no other module hides one of ours: a hidden
package cannot report that it is hidden. So every package imports this module first, also in worker processes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import kb as kb
    import recognize as recognize
    import rerank as rerank

    __version__: str

NO_TELEMETRY = {
    "ORT_DISABLE_TELEMETRY": "1",
    "ANONYMIZED_TELEMETRY": "False",  # chromadb
    "HF_HUB_DISABLE_TELEMETRY": "1",  # huggingface_hub, transformers, diffusers
    "RAY_USAGE_STATS_ENABLED": "0",
}
"""Environment variables that switch off what other packages send; docs/security.md says what that is."""
for _name, _value in NO_TELEMETRY.items():
    os.environ.setdefault(_name, _value)

PACKAGES = ("cli", "data", "kb", "recognize", "rerank")


def check_packages() -> None:
    """Raise `ImportError` if Python finds another module in place of one of our packages.

    An editable installation has a copy of this file elsewhere, so packages may also stand beside another copy.
    """
    for name in PACKAGES:
        package = sys.modules.get(name) or find_spec(name)
        file = getattr(package, "__file__", None) or getattr(package, "origin", None)
        if package is not None and (file is None or not _is_ours(Path(file).resolve().parents[1])):
            raise ImportError(
                f"Another module named {name} hides the one of Fieldmark: {file or package}. "
                "Rename it, or start Python from a folder (and with a PYTHONPATH) that does not hold it.",
                name=name,
                path=file,
            )


def _is_ours(folder: Path) -> bool:
    own = Path(__file__).resolve()
    return folder == own.parent or (folder / own.name).is_file()


def lazy_names(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package whose public names load when they are first used.

    Args:
        package: its name.
        modules: public name -> its module, or `module:name` if it has another name there.
    """

    def load(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, original = modules[name].partition(":")
        return getattr(import_module(module), original or name)

    return load, lambda: sorted(modules)


def fieldmark_version(*, otherwise: str = "not installed") -> str:
    """Return the version of the installed Fieldmark, and `otherwise` in a checkout that is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("fieldmark")
    except PackageNotFoundError:
        return otherwise


def __getattr__(name: str) -> ModuleType | str:
    """Load a package when it is first used, and the version."""
    if name in ("kb", "recognize", "rerank"):
        check_packages()
        return import_module(name)
    if name == "__version__":
        return fieldmark_version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def main() -> None:
    """Run `kb` with the arguments of this process."""
    try:
        check_packages()
    except ImportError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(3)
    from cli.main import main as run

    run()


if __name__ == "__main__":
    main()
