"""What the verbs that keep a knowledge base up say to people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from cli.common.output import as_fields, as_table, plural, wrapped
from data.records import Added, Exported, Imported, Removed, Update


def update_text(found: Update, model: Mapping[str, object], *, seconds: float) -> str:
    """Return what an update found, each change in a line, and what it cost; `model` is what a model took of that."""
    kinds = Counter(change.kind for change in found.changes)
    fields = {
        "pages asked for": f"{found.checked:,}",
        "changes": ", ".join(f"{kind} {n:,}" for kind, n in kinds.items()) or "none",
        "requests": f"{found.requests:,}",
        "photos downloaded": f"{found.photos:,}",
        "texts distilled": f"{found.distilled:,}",
        "model calls": f"{found.model_calls:,}",
        **model,
        "failures": len(found.failures) or None,
        "seconds": f"{seconds:.1f}",
    }
    parts = [as_fields(fields)]
    if found.changes:
        parts.append(
            as_table(["name", "change", ""], [(change.name, change.kind, change.detail) for change in found.changes])
        )
    parts += [f"failed  {failure.taxon}: {failure.stage}: {failure.reason}" for failure in found.failures]
    return "\n".join(parts)


def added_text(added: Added) -> str:
    """Return what a species or term is now that something was added."""
    news = [
        plural(n, noun) for n, noun in ((added.new_texts, "text"), (added.new_photos, "photo")) if n
    ]  # what was there already is no news
    fields = {
        "new" if added.is_new else "added to": added.name,
        "taken in": ", ".join(news) or "nothing new",
        "anchors": added.anchors or None,
        "text": wrapped(added.text),
    }
    return as_fields(fields)


def removed_text(removed: Removed) -> str:
    """Return what was removed."""
    if not removed.names:
        return "removed already; nothing was done"
    return as_fields({"removed": ", ".join(removed.names), "files deleted": removed.files})


def exported_text(exported: Exported, out: Path) -> str:
    """Return what a bundle holds."""
    fields = {
        "bundle": str(out),
        "species": f"{exported.species:,}",
        "terms": f"{exported.terms:,}",
        "images": f"{exported.images:,}",
        "files": f"{exported.files:,}",
        "size": f"{exported.bytes / 1e6:,.1f} MB",
        "digest": exported.digest,
    }
    return as_fields(fields)


def imported_text(imported: Imported, path: str) -> str:
    """Return what a bundle became."""
    fields = {
        "knowledge base": path,
        "species": f"{imported.species:,}",
        "terms": f"{imported.terms:,}",
        "anchors": f"{imported.anchors:,}",
        "vectors": "encoded here" if imported.encoded else "as exported",
        "digest": imported.digest,
    }
    return as_fields(fields)
