"""`kb doctor`: installation, settings, and abilities of the models."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING

import click

from cli.common import exit_codes, options, output
from cli.common.language_models import key_of
from cli.common.reports import BETTER
from cli.common.settings import ENDPOINTS, Settings
from cli.verbs.doctor import encoders as doctor_encoders
from data.errors import MissingRequirement

if TYPE_CHECKING:
    from kb.endpoints.probe import Probe


@click.command()
@click.argument("subject", type=click.Choice(["models", "encoders"]), default="models", metavar="[models|encoders]")
@options.format_option("text", "json")
@click.pass_context
def doctor(ctx: click.Context, subject: str, form: str) -> None:
    """Check the installation, and probe the models of the settings.

    Each model gets a few tiny requests, for a fraction of a cent; [llm.image] draws one picture, for the price of a
    drawing. The report lists abilities, and what Fieldmark does without the missing ones. Exit code 3 if a model does
    not answer.

    With `encoders`, list the packages and weights of each profile, their size, and whether they fit into memory;
    nothing is loaded or downloaded. Exit code 3 if the profile in use lacks some.

    Example: kb doctor encoders
    """
    settings = options.settings()
    if subject == "encoders":
        payload, text, is_ready = doctor_encoders.report(settings)
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
    if any(found.ability == "answers" and not found.is_there for found in probes):
        ctx.exit(exit_codes.MISSING)


def _installation(settings: Settings) -> dict[str, str]:
    """Return the installation and the general settings, without secrets."""
    from importlib.util import find_spec

    from data.version import fieldmark_version

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


def _probes(settings: Settings) -> list[Probe]:
    from kb.endpoints.probe import WITHOUT, Probe, probe, probe_images

    found: list[Probe] = []
    for kind in ENDPOINTS:
        endpoint = settings.llm.get(kind)
        if endpoint is None:
            continue
        try:
            key = key_of(endpoint, os.environ, kind=kind)
            found += probe_images(endpoint, key) if kind == "image" else probe(kind, endpoint, key)
        except MissingRequirement as error:
            found.append(
                Probe(endpoint=kind, model=endpoint.address, ability="answers", is_there=False, seen=str(error),
                      without=WITHOUT["answers"])
            )  # fmt: skip
    return found


def _text(settings: Settings, probes: list[Probe]) -> str:
    parts = [output.as_fields(_installation(settings))]
    for (endpoint, model), some in groupby(probes, lambda found: (found.endpoint, found.model)):
        parts.append("\n".join([f"[llm.{endpoint}] {model}", *(line for found in some for line in _lines(found))]))
    if not probes:
        parts.append("No model set: [llm.text], [llm.vision], [llm.search], [llm.image] in fieldmark.toml.")
    return "\n\n".join(parts)


def _lines(found: Probe) -> Iterator[str]:
    """Yield the result of a probe, and what Fieldmark does without the ability."""
    yield f"  {'yes' if found.is_there else 'no':<5}{found.ability}: {found.seen}"
    if found.without:
        yield output.wrapped(found.without, indent=" " * 7)
