"""Plain English: docstrings open with a noun phrase or a verb, and no text has a convoluted phrase."""

from __future__ import annotations

import re

from tests.guards.sources import BESIDE, PACKAGES, ROOT, sources

CLAUSE = re.compile(r"(What|How|Which|Who|Whom|Whose)\b")
MODULE_CLAUSE = re.compile(r"(What|How|Which|Who|Whom|Whose|Whether|Where|When)\b")
PHRASES = (
    "those that", "of what", "as it is", "whom", "passed over", "what was", "whose is", "one of what", "the like",
    "may be so",
)  # fmt: skip
# Words of a phrase may stand in two lines of a comment or string.
CONVOLUTED = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b".replace(" ", r"\s+(?:#\s*|\"\s*\")?"), re.IGNORECASE)
# This file, and a line of a prompt.
EXEMPT = {"tests/guards/test_wording.py", "tests/cli/verbs/rerank/test_settings.py"}


def test_texts_are_plain_english() -> None:
    offenders = []
    for source in sources(*PACKAGES, *BESIDE, "tests"):
        offenders += [f"{source.name}: {text}" for text in [source.module_docstring] if MODULE_CLAUSE.match(text)]
        offenders += [f"{source.name}: {text.splitlines()[0]}" for text in source.docstrings if CLAUSE.match(text)]
        if source.name not in EXEMPT:
            offenders += [f"{source.name}: {found}" for found in CONVOLUTED.findall(source.text)]
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        if "generated" not in page.parts:
            offenders += [f"{page}: {found}" for found in CONVOLUTED.findall(page.read_text(encoding="utf-8"))]
    assert not offenders, "\n".join(offenders)
