"""Engine of a run, from the settings: this machine, or a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final

from cli.common.settings import Settings
from data.engines.contract import LOCAL

if TYPE_CHECKING:
    from data.engines.contract import Engine

LOADERS: Final = {
    "encoders": "recognize.encoders.profiles:load_encoders",
    "text_image_encoder": "recognize.encoders.profiles:load_text_image_encoder",
}
"""Kind of models -> their loader on a node."""


@contextmanager
def open_engine(settings: Settings) -> Iterator[Engine]:
    """Open the engine of the settings; a cluster is connected when there is work for it, and left at the end."""
    if settings.engine == "local":
        yield LOCAL
        return
    from data.engines.ray_engine import RayEngine

    with closing(RayEngine(settings.ray_address, results=settings.home / "shards", loaders=LOADERS)) as engine:
        yield engine
