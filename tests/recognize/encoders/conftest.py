from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An empty cache of the hub's client, offline; it reads variables when imported, so its constants are set too."""
    constants = pytest.importorskip(
        "huggingface_hub.constants", reason="the extra `models` is not installed (CI installs it)"
    )
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    return tmp_path
