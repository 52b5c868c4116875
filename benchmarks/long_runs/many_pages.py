"""Stand-in wiki with thousands of pages of made-up text, each with a photo."""

from __future__ import annotations

from itertools import islice
from typing import Any

from kb.checklist.avilist import load_checklist
from kb.checklist.selection import select
from tests.servers.faulty_wiki import FaultyWiki, File, jpeg

COLOURS = ("black", "white", "red", "brown", "grey", "yellow", "green", "blue", "orange", "buff")
PARTS = ("crown", "back", "breast", "belly", "tail", "wings", "bill", "legs")


class ManyPages(FaultyWiki):
    """A wiki that knows its revisions by heart; the pages are not searched for every answer."""

    def fill(self, n: int) -> None:
        """Write the pages of `n` species, each with a photo."""
        for number, taxon in enumerate(islice(select(load_checklist(), "Aves"), n)):
            name, title = taxon.scientific_name, taxon.common_names[0] if taxon.common_names else taxon.scientific_name
            photo, shade = f"Bird{number}.jpg", (number % 251, number // 7 % 251, number // 49 % 251)
            metadata = {"LicenseShortName": "CC0", "Artist": "Made up"}
            self.files[photo] = File(content=jpeg(shade), metadata=metadata)
            colours = [COLOURS[number // 10**place % 10] for place in range(4)]
            looks = " ".join(
                f"The {part} is {colours[at % 4]}, with a {colours[(at + 1) % 4]} edge."
                for at, part in enumerate(PARTS)
            )
            self.pages[title] = (
                f"<p>The <b>{title}</b> (<i>{name}</i>) is a bird.</p><h2>Description</h2><p>{looks}</p>"
                f'<figure><a href="/wiki/File:{photo}"><img src="/photos/{photo}"></a></figure>'
            )
            genus, epithet = name.split()[:2]
            self.wikitext[title] = (
                f"{{{{Speciesbox|name={title}|genus={genus}|species={epithet}|image={photo}}}}}\n{self.pages[title]}"
            )
            self.pages[name] = f"#REDIRECT {title}"
        self._revisions = {title: number for number, title in enumerate(self.pages, start=1)}
        self._names = {self._target(title): title for title in self.pages if self._target(title) != title}

    def _page(self, title: str) -> dict[str, Any]:
        if title not in self.pages:
            return {"ns": 0, "title": title, "missing": True}
        revision = self._revisions[title]
        content = {"slots": {"main": {"content": self.wikitext[title]}}}
        name = self._names.get(title)
        return {
            "ns": 0, "title": title, "lastrevid": revision, "revisions": [{"revid": revision, **content}],
            "redirects": [{"ns": 0, "title": name}] if name else [],
        }  # fmt: skip
