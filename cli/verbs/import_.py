"""`kb import`: a bundle as a knowledge base. `import` is a keyword of Python, so the module has a `_`."""

from __future__ import annotations

from pathlib import Path

import click

from cli.common import options, output, wiring
from cli.common.output import stage_progress
from recognize.settings import PROFILES, own_profiles


@click.command("import")
@click.argument("bundle", type=click.Path(path_type=Path))
@options.kb_option("New or empty folder for the knowledge base.", needed=True)
@click.option("--re-encode", is_flag=True, help="Accept a bundle of another profile and encode it again.")
@click.option("--profile", type=options.ProfileType(), help="Encoders of the knowledge base.  [default: the bundle's]")
@options.format_option("text", "json")
def import_(bundle: Path, kb: Path | None, re_encode: bool, profile: str | None, form: str) -> None:
    """Make a knowledge base from the folder BUNDLE, which kb export wrote.

    Every file is compared with its sha256 first, and no path may leave the folder. A refused bundle leaves nothing
    behind.

    Example: kb import birds-dataset --kb birds.kb
    """
    import kb as library
    from kb.bundle.manifest import read_manifest

    settings = options.settings(kb=kb, profile=profile)
    path = wiring.required_path(settings)
    own = read_manifest(bundle).profile
    encoders = wiring.load_encoders(profile or (own if own in (*PROFILES, *own_profiles().names) else settings.profile))
    with stage_progress(quiet=options.invocation().quiet) as progress:
        imported = library.import_bundle(bundle, path, encoders, re_encode=re_encode, progress=progress)
    fields = {
        "knowledge base": str(path),
        "species": f"{imported.species:,}",
        "terms": f"{imported.terms:,}",
        "reference photos": f"{imported.anchors:,}",
        "vectors": "encoded now" if imported.encoded else "from the bundle",
        "digest": imported.digest,
    }
    output.write_record(form, imported, lambda: output.as_fields(fields))
