"""Sex or age of a species in a query ("a female Mallard"), as far as its summary tells it from others."""

from __future__ import annotations

import re

from data.records import QueryPart, SpeciesEntry
from kb.distill.subjects import Subject, stated_subject, with_subject
from kb.lookup.mentions import Mention
from kb.lookup.variant_words import SEXES_AND_AGES, variant_words

_WORD = re.compile(r"[^\W\d_]+")
_BETWEEN = 2  # other words between the sex and the name: "a male breeding Mallard"


def sex_age_part(query: str, mention: Mention, entry: SpeciesEntry) -> QueryPart | None:
    """Return the sex or age of a species that a query names; None without one, or if the summary does not tell it.

    The word stands before the name or directly after it.
    """
    sexes = {word: kind for word, kind in variant_words().beside.items() if kind in SEXES_AND_AGES}
    before = [word[0] for word in _WORD.finditer(query[: mention.start])][-1 - _BETWEEN :]
    after = [word[0] for word in _WORD.finditer(query[mention.start + len(mention.text) :])][:1]
    word = next((word for word in (*reversed(before), *after) if word.lower() in sexes), None)
    if word is None or entry.summary is None:
        return None
    wanted = sexes[word.lower()]
    texts: dict[str, list[str]] = {}
    subject: Subject = ""
    for statement in entry.summary.statements:
        stated = stated_subject(statement.text)
        is_continued = stated is None and with_subject(statement.text, subject) is not None  # "It has a red crest."
        subject = subject if is_continued else stated or ""
        texts.setdefault(subject, []).append(statement.text)
    own = texts.pop(wanted, [])
    others = [text for subject in ("adult", "male", "female", "juvenile") for text in texts.get(subject, ())]
    unlike = others or texts.get("", [])
    if not own or not unlike:
        return None
    return QueryPart(
        kind="sex_age",
        text=word,
        name=f"{wanted} {entry.taxon.common_name}",
        looks=" ".join(own),
        unlike=" ".join(unlike),
        taxon_ids=mention.ids,
    )
