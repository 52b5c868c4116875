"""Articles on one wren, for the tests of distilling."""

from data.records import Article, Section, Source, Taxon

WREN = Taxon(taxon_id="w-r", scientific_name="Wrena rubra", rank="species", common_names=("Red Wren",))


def page(
    *parts: tuple[str, str],
    title: str = "Red wren",
    url: str | None = "https://wiki.example/Wren",
    is_disambiguation: bool = False,
) -> Article:
    """Return an article of (heading, text) sections; as in parsed articles, headings are not in the text.

    The lead has no heading, and `=` begins a heading below the one before.
    """
    text, sections = "", []
    for heading, body in parts:
        text += "\n\n" if text else ""
        level = 3 if heading.startswith("=") else 2 if heading else 1
        end = len(text) + len(body)
        sections.append(Section(title=heading.removeprefix("="), level=level, start=len(text), end=end))
        text += body
    source = Source(title=title, url=url, revision=None if url is None else 7)
    return Article(source=source, text=text, sections=tuple(sections), is_disambiguation=is_disambiguation)
