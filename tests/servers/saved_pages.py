"""Saved Wikipedia pages of organisms as wikitext that a real MediaWiki serves.

Half of the species keep their classification in the page, as `Taxobox` has it; all others leave it to `Taxonomy`
templates, as today's Wikipedia does, so that only the rendered page states it. Nothing of the pages is stored.
"""

from __future__ import annotations

from pathlib import Path

from data.records import Article, Infobox, Source
from kb.sources.mediawiki.article_parser import parse_article

RANKS = ("kingdom", "phylum", "division", "class", "order", "superfamily", "family", "genus")
LATIN = {
    "kingdom": "regnum", "phylum": "phylum", "division": "divisio", "class": "classis", "order": "ordo",
    "superfamily": "superfamilia", "family": "familia", "genus": "genus",
}  # fmt: skip
_ROWS = "".join(
    f"{{{{#if:{{{{{{{latin}|}}}}}}|{{{{!}}}} {rank.title()}: {{{{!}}}}{{{{!}}}} {{{{{{{latin}}}}}}}\n{{{{!}}}}-}}}}\n"
    for rank, latin in LATIN.items()
)
_BINOMIAL = (
    '! colspan="2" | [[Binomial nomenclature|Binomial name]]\n|-\n'
    '| colspan="2" | <span class="binomial">{0}</span> (L.)\n|}}'
)
_HEAD = '{| class="infobox biota"\n! colspan="2" | {{{name}}}\n|-\n'
TEMPLATES = {
    "Template:Speciesbox": _HEAD
    + "{{Taxonomy/{{{genus}}}}}\n"
    + _BINOMIAL.format("{{{genus}}} {{{species}}}"),
    "Template:Automatic taxobox": _HEAD
    + "{{Taxonomy/{{{taxon}}}}}\n{{#if:{{{subdivision|}}}|! colspan=\"2\" {{!}} {{{subdivision_ranks}}}\n{{!}}-\n"
    "{{!}} colspan=\"2\" {{!}} {{{subdivision}}}\n{{!}}-}}\n|}",
    "Template:Taxobox": _HEAD + _ROWS + _BINOMIAL.format("{{{binomial}}}"),
    "Template:Subspeciesbox": _HEAD
    + "{{Taxonomy/{{{genus}}}}}\n! colspan=\"2\" | Trinomial name\n|-\n"
    "| colspan=\"2\" | ''<span class=\"trinomial\">{{{genus}}} {{{species}}} {{{subspecies}}}</span>''\n|}",
    "Template:Hybridbox": _HEAD + "{{Taxonomy/{{{genus}}}}}\n! colspan=\"2\" | Hybrid\n|}",
    "Template:Virusbox": _HEAD + "| (unranked): || Virus\n|-\n| Realm: || ''Riboviria''\n|-\n"
    "| Species: || ''{{{taxon}}}''\n|}",
    "Template:Mycomorphbox": '{| class="infobox"\n! colspan="2" | Mycological characteristics\n|-\n| cap || flat\n|}',
}  # fmt: skip


def saved_pages(folder: Path) -> dict[str, str]:
    """Return title -> wikitext of the saved pages, the templates and categories that they need."""
    pages = dict(TEMPLATES)
    for i, file in enumerate(sorted(folder.glob("*.html"))):
        article = parse_article(file.read_text(encoding="utf-8", errors="replace"), source=Source(title=file.stem))
        assert article.infobox is not None
        above = _above(article.infobox)
        box, templates = _box(article.infobox, is_old=i % 2 == 0)
        pages |= templates
        pages[file.stem.replace("_", " ")] = f"{box}\n{_text(article)}\n[[Category:{above[-1]}]]"
        for child, parent in zip(above[1:], above, strict=False):
            pages[f"Category:{child}"] = f"[[Category:{parent}]]"
    return pages


def taxonomy(title: str, **ranks: str) -> dict[str, str]:
    """Return the template with the rows of a taxon's classification."""
    return {f"Template:Taxonomy/{title}": "".join(f"| {rank.title()}: || {name}\n|-\n" for rank, name in ranks.items())}


def _above(box: Infobox) -> list[str]:
    return [box.classification[rank] for rank in RANKS[:-1] if rank in box.classification]


def _box(box: Infobox, *, is_old: bool) -> tuple[str, dict[str, str]]:
    ranks = {rank: box.classification[rank] for rank in RANKS if rank in box.classification}
    lists_one = box.binomial is not None and "species" not in box.classification
    if box.binomial and is_old and not lists_one:
        rows = "".join(f"\n| {LATIN[rank]} = [[{name}]]" for rank, name in ranks.items())
        return f"{{{{Taxobox\n| name = {box.name}{rows}\n| binomial = ''{box.binomial}''\n}}}}", {}
    if box.binomial and not lists_one:
        genus, species = box.binomial.split()
        text = f"{{{{Speciesbox\n| name = {box.name}\n| genus = {genus}\n| species = {species}\n}}}}"
        return text, taxonomy(genus, **ranks)
    group = box.name if box.name in ranks.values() else list(ranks.values())[-1]
    only = f"\n| subdivision_ranks = Species\n| subdivision = ''{box.binomial}''" if lists_one else ""
    text = f"{{{{Automatic taxobox\n| name = {box.name}\n| taxon = {group}{only}\n}}}}"
    return text, taxonomy(group, **ranks)


def _text(article: Article) -> str:
    parts = []
    for section in article.sections:
        head = f"\n== {section.title} ==\n" if section.title else ""
        lines = article.text[section.start : section.end].split("\n")
        parts.append(head + "\n\n".join(f"<nowiki>{line}</nowiki>" for line in lines if line.strip()))
    return "\n".join(parts)
