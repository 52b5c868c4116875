"""First summaries: what the first of two passes of a model made, kept to be compared with the second."""

from __future__ import annotations

from typing import TYPE_CHECKING

from data.codec import loads

if TYPE_CHECKING:
    from kb.store.knowledge_base import KnowledgeBase


def draft_text(store: KnowledgeBase, taxon_id: str) -> str | None:
    """Return the summary that the first of two passes made of a species, or None if there was but one pass.

    Source: VR-RAG, section 3 and table 5: the Wikipedia summary, which is then refined.
    """
    from kb.store.stage_outputs import DistilOutput

    step = store.ledger.step(taxon_id, "distil")
    if step is None or not step.output:
        return None
    draft = loads(DistilOutput, step.output).draft
    return None if draft is None else draft.text
