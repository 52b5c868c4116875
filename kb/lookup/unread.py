"""Articles in languages that the extractive distiller does not read."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from data.words import plural

if TYPE_CHECKING:
    from kb.store.knowledge_base import KnowledgeBase

NAMES: Final = {
    "ar": "Arabic", "ca": "Catalan", "cs": "Czech", "da": "Danish", "de": "German", "es": "Spanish", "fi": "Finnish",
    "fr": "French", "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "no": "Norwegian",
    "pl": "Polish", "pt": "Portuguese", "ru": "Russian", "sv": "Swedish", "tr": "Turkish", "uk": "Ukrainian",
    "zh": "Chinese",
}  # fmt: skip


def unread_text(store: KnowledgeBase) -> str:
    """Return a sentence on species whose articles the extractive distiller could not read; empty if there are none."""
    entries = store.species(store.taxon_ids)
    counts = Counter(
        entry.source.language
        for entry in entries
        if entry.source is not None
        and entry.source.language != "en"
        and (entry.summary is None or entry.summary.distiller.startswith("extractive"))
    )
    if not counts:
        return ""
    languages = " and ".join(f"{NAMES[code]} ({code})" if code in NAMES else code for code in sorted(counts))
    return (
        f"The articles of {plural(counts.total(), 'species', 'species')} are in {languages}. The extractive distiller "
        "reads English alone, so their descriptions are missing or poor: --distiller model with a model in "
        "[llm.text] writes them. Names, photos and look-ups by name work."
    )
