"""`kb credits`: attribution of articles and photos."""

from __future__ import annotations

from pathlib import Path

import click

from cli.common import options, output, wiring
from data.frames import as_csv
from data.words import plural


@click.command()
@options.kb_option()
@options.format_option("text", "csv", "html", "json")
def credits(kb: Path | None, form: str) -> None:  # the verb's name
    """Print the attribution of every article and photo.

    Articles have revision, address and licence; photos have author, licence and file page. Texts and photos without a
    free licence are marked "do not publish".

    Example: kb credits --kb birds.kb --format html > credits.html
    """
    from kb.curate.credits import as_html, as_text, collect_credits

    with wiring.open_knowledge_base(options.settings(kb=kb)) as store:
        found = collect_credits(store)
    if form == "json":
        from data.codec import to_json

        payload = to_json(found) | {"n_not_to_be_published": len(found.unpublishable)}
        publishable = [text.is_publishable for text in found.texts] + [photo.is_publishable for photo in found.photos]
        for given, value in zip(payload["texts"] + payload["photos"], publishable, strict=True):
            given["publishable"] = value
        output.write(output.as_json(payload))
    elif form == "csv":
        frame = found.to_frame()
        words = {name: frame[name].map({True: "yes", False: "no"}) for name in ("publishable", "adapted")}
        output.write_rows(as_csv(frame.assign(**words)))
    elif form == "html":
        output.write_rows(as_html(found))
    else:
        output.write(as_text(found))
    if found.unpublishable and form != "text":
        n = plural(len(found.unpublishable), "text or photo", "texts and photos")
        output.warn(f"Do not publish {n}: no free licence, or licence unknown")
