"""A check that readers see an addition: a photo that cannot be encoded keeps its species as it was."""

from __future__ import annotations

from pathlib import Path

from data.contracts import Encoders
from data.errors import StoreError
from data.records import Added
from kb.pipeline.stages.assemble import assemble
from kb.pipeline.stages.run import BuildRun
from kb.store.additions import Addition, additions
from kb.store.layout import Layout
from kb.store.ledger import ledger_so_far
from kb.store.rows import entry_of


def require_shown(path: Path, encoders: Encoders, added: Added) -> None:
    """Check that readers see an addition.

    Raises:
        StoreError: if they see the subject as it was before, because a photo could not be encoded.
    """
    layout = Layout(path)
    with ledger_so_far(layout.ledger) as ledger:
        entry = ledger.entry(added.subject_id) if ledger is not None else None
        if ledger is None or entry is None:
            return
        run = BuildRun(layout=layout, info=layout.require(), ledger=ledger, encoders=encoders)
        steps = [ledger.step(added.subject_id, "encode", collection) for collection in run.collections]
        errors = [step.error for step in steps if step is not None and step.status == "failed"]
        if not errors or [entry_of(subject) for subject in assemble(run).of([added.subject_id])] == [entry]:
            return
        own = additions(ledger).get(added.subject_id, Addition()).anchors
        if all(photo.sha256 is None or layout.anchors.is_whole(photo.sha256) for photo in own):
            remedy = "kb build fetches the lost photo again and then shows the addition."
        else:
            remedy = "Your own photo is lost: add it again with kb add."
        raise StoreError(
            f"{added.name} is shown without the addition: {errors[0]}", hint=f"The addition is kept. {remedy}"
        )
