"""Parsing of small pages in the HTML of different MediaWiki versions, and of 26 saved pages."""

# ruff: noqa: E501 (HTML and headings stay as they come)
import json
import time
from pathlib import Path

from data.codec import to_json
from data.files import sha256_hex
from data.records import Article, Source
from kb.sources.mediawiki.article_parser import parse_article
from kb.sources.mediawiki.clues import clues_from_wikitext
from kb.sources.mediawiki.taxoboxes import stated_taxon

HERE = Path(__file__)
SAVED = HERE.with_name("saved_pages.jsonl")


def parsed(html: str) -> Article:
    return parse_article(html, source=Source(title="Red wader"))


SPECIESBOX = """
<table class="infobox biota"><tbody>
<tr><th colspan="2">Red wader<br/><small>Temporal range: Pliocene to present</small></th></tr>
<tr><td colspan="2"><a href="/wiki/File:Red_wader_%28male%29.jpg" class="mw-file-description"><img width="220"
 src="//upload.example/thumb/a/ab/Red_wader_%28male%29.jpg/220px-Red_wader_%28male%29.jpg"/></a></td></tr>
<tr><td colspan="2">Male in <i>breeding</i> plumage<sup class="reference">[1]</sup></td></tr>
<tr><td colspan="2"><img src="//upload.example/thumb/a/ab/Status_iucn3.1_LC.svg/220px-Status_iucn3.1_LC.svg.png" width="220"/>
Least Concern</td></tr>
<tr><th colspan="2"><a href="/wiki/Taxonomy">Scientific classification</a></th></tr>
<tr><td>Kingdom:</td><td>Animalia</td></tr>
<tr><td>Class:</td><td><a href="/wiki/Bird">Aves</a></td></tr>
<tr><td>Order:</td><td>Charadriiformes</td></tr>
<tr><td>Family:</td><td>Ruberidae <small>Smith, 1900</small></td></tr>
<tr><td>Genus:</td><td><i>Rubor</i></td></tr>
<tr><td>Species:</td><td><div class="species"><i><b>R. vadens</b></i></div></td></tr>
<tr><th colspan="2">Binomial name</th></tr>
<tr><td colspan="2"><b><span class="binomial"><i>Rubor vadens</i></span></b><br/>(Jones, 1850)</td></tr>
<tr><td colspan="2"><a href="/wiki/File:Rubor_vadens_map.png"><img width="220" src="/images/c/cd/Rubor_vadens_map.png"/></a>
</td></tr>
<tr><td colspan="2">Range of the red wader</td></tr>
</tbody></table>"""

PAGE = f"""<div class="mw-parser-output">
<div class="shortdescription">Species of bird</div>
<div role="note" class="hatnote">Not to be confused with Blue wader.</div>
{SPECIESBOX}
<p class="mw-empty-elt"></p>
<p>The <b>red wader</b> (<i>Rubor vadens</i>)<sup id="cite_1" class="reference"><a href="#n">[1]</a></sup> is a
bird&#160;of the  shore.<style>.x{{}}</style></p>
<div id="toc" class="toc"><h2 id="mw-toc-heading">Contents</h2><ul><li>Description</li></ul></div>
<div class="mw-heading mw-heading2"><h2 id="Description">Description</h2><span class="mw-editsection">[<a>edit</a>]</span></div>
<figure class="mw-default-size" typeof="mw:File/Thumb"><a href="./File:Red_wader_bill.jpg" class="mw-file-description">
<img resource="./File:Red_wader_bill.jpg" src="//upload.example/a/ab/Red_wader_bill.jpg" width="250"/></a>
<figcaption>The bill</figcaption></figure>
<p>The crown is <b>red</b>.</p><ul><li>Bill: black ( ; )</li><li>Legs: yellow <sup class="noprint Inline-Template">[<i>citation
needed</i>]</sup>.</li></ul>
<h3><span class="mw-headline" id="Young">Young</span><span class="mw-editsection">[edit]</span></h3>
<dl><dd>Browner.</dd></dl>
<table class="wikitable"><tr><td>Wing</td><td>12 cm</td></tr></table>
<h2><span class="mw-headline" id="Gallery">Gallery</span></h2>
<ul class="gallery"><li class="gallerybox"><div class="thumb"><a href="/w/index.php?title=File:Red_wader_flying.jpg" class="image">
<img src="/images/thumb/e/ef/Red_wader_flying.jpg/120px-Red_wader_flying.jpg" width="120"/></a></div>
<div class="gallerytext"><p>In flight</p></div></li></ul>
<h2><span class="mw-headline" id="References">References</span></h2>
<div class="reflist"><ol class="references"><li>A book.</li></ol></div>
<div class="navbox"><a href="/wiki/File:Bird_icon.png"><img src="/images/a/aa/Bird_icon.png" width="90"/></a> Waders</div>
<table class="metadata stub"><tr><td><a href="/wiki/File:Some_gull.jpg"><img src="/images/a/aa/Some_gull.jpg" width="60"/></a></td>
<td>This article is a stub.</td></tr></table>
</div>"""


GENUS = """<table class="infobox biota"><tr><th colspan="2">Solus</th></tr><tr><td>Family:</td><td>Ruberidae</td></tr>
<tr><td>Genus:</td><td><i>Solus</i> Smith, 1900</td></tr><tr><th colspan="2">Species</th></tr>
<tr><td colspan="2"><i>Solus avis</i></td></tr></table>"""
FARM = """<aside class="portable-infobox"><h2 class="pi-item pi-title">Red wader</h2><div class="pi-item pi-data">
<h3 class="pi-data-label">Family</h3><div class="pi-data-value">Ruberidae</div></div><div class="pi-item pi-data">
<h3 class="pi-data-label">Species</h3><div class="pi-data-value"><i>Rubor vadens</i></div></div></aside><p>It wades.</p>"""
GIF = "data:image/gif;base64,R0lGODlhAQ"
SMALL = {
    "a page with all parts": PAGE,
    "the first photo is the lead without a taxobox": '<p>A bird.</p><div class="thumb"><a class="image" href="/wiki/File:Range_map.png"><img src="/a/aa/Range_map.png" '
    'width="200"/></a></div><h2>Looks</h2><div class="thumb"><a class="image" href="/wiki/Datei:Vogel.jpg"><img '
    'src="/a/aa/Vogel.jpg" width="200"/></a><div class="thumbcaption">Ein Vogel</div></div>',
    "a genus with one species": GENUS,
    "a genus with two species": GENUS.replace("avis</i>", "avis</i> <i>Solus altera</i>"),
    "lazy and labelled pictures, small first letters": f'<figure class="pi-image"><a href="/images/x.jpg"><img src="{GIF}" data-src="//static.example/a/aa/Poke.jpg/'
    f'revision/latest?cb=1" width="270"></a></figure><img src="{GIF}" data-image-name="other_name.jpg" width="90">'
    f'<map name="m"></map><img src="/a/ab/Labels.jpg" usemap="#m" width="300">'
    f'<a href="/wiki/File:small.jpg"><img src="/thumb/a/ac/small.jpg/90px-small.jpg" width="90"></a><img src="{GIF}">',
    "a French taxobox": '<div class="infobox_v3 taxobox_v3"><div class="entete"><i>Rubor vadens</i></div><div class="images">'
    '<a href="/wiki/Fichier:Rubor.jpg"><img src="/a/aa/Rubor.jpg" width="290"/></a></div><table><tr><th>Classe</th>'
    "<td>Aves</td></tr><tr><th>Famille</th><td>Ruberidae</td></tr></table><p>Genre</p></div><p>Le vadeur.</p>",
    "a box of a farm that names a species": FARM,
    "a box of a farm of a character": FARM.replace("<i>Rubor vadens</i>", "Mouse Monster"),
}


def test_small_pages_parse_as_on_record() -> None:
    """Text, sections, taxobox and figures; the box is no text."""
    found = {name: to_json(parsed(html)) for name, html in SMALL.items()}
    assert found == json.loads(HERE.with_name("small_pages.json").read_text(encoding="utf-8"))


def test_disambiguation_pages_are_recognised_by_any_mark() -> None:
    marked = (
        "<p><b>Robin</b> may refer to:</p><ul><li>a bird</li></ul>",
        '<p>Robins</p><div id="disambigbox">Same name.</div>',
        "<p>Robins</p><p>__DISAMBIG__</p>",
    )
    assert [html for html in marked if not parsed(html).is_disambiguation] == []
    assert not parsed("<p>Robins</p>").is_disambiguation


HIDDEN = (
    'style="display : none;"', 'STYLE="DISPLAY:NONE"', 'style="display:none !important"', "style='visibility: hidden'",
    'style="position:absolute;left:-9999px"', 'style="text-indent:-10000px"', 'style="font-size:0"', "hidden",
    'style="font-size: 0px; color: red"', 'style="opacity:0"', 'style="width:0;overflow:hidden"', 'class="x sortkey"',
    'class="nodisplay"', 'class="cloaked"', 'id="gone"', 'class="a-b"', 'style="clip: rect(0, 0, 0, 0)"',
    'style="display:/**/none"', 'style="left:-100vw"', 'style="text-indent:-500px"', 'style="transform:scale(0,0)"',
    'style="transform:translateX(-9999px)"', 'style="font-size:1px"', 'style="color:transparent"', 'class="tab"',
    'style="margin-left:-1000px"',
    'class="loud" style="display:block"',
)  # fmt: skip
SHOWN = (
    'style="opacity:0.5"', 'style="font-size:0.9em"', 'style="left:-9px"', 'style="width:0"', 'class="wide"', "",
    'style="display:inline"', 'role="tabpanel" hidden', 'class="on-paper"', 'class="tab active"', 'class="tab" data-on',
    'class="tab desk"', 'class="tab" style="display:block"', 'style="display:none;display:block"', 'class="tab up"',
    'style="width:0;min-width:100%;overflow:hidden"', 'style="height:1em;overflow:hidden"', 'style="width:1%;overflow:hidden"', 'style="opacity:0;animation:rise 1s"',
    'style="margin-left:-1000px;padding-left:1000px"', 'style="height:0;padding-top:56%;overflow:hidden"', 'style="clip:rect(auto, 0, 0, auto)"',
)  # fmt: skip
RULES = """<style>* {margin:0; padding:0; min-width:0; font-size:100%; text-shadow:none; transition:none; color:inherit}
i {color:red; visibility:visible; font-size:9px} /* {} */ .cloaked, #gone { Display : None } p>span.a-b{visibility:hidden} body{opacity:0}
.wide:hover{display:none} @media print { .on-paper {display:none} } .on-paper{color:red} .tab.active {display:block}
.tab{display:none} .tab[data-on]{display:block} @media (width > 9px) {.desk{display:block}}
div .tab.active, p>b>.active, .loud{display:none!important} .tab:hover, .a:checked~.up{display:block}</style>
<style media="print">span{display:none}</style>"""


def test_only_text_that_a_reader_sees_counts() -> None:
    texts = {each: parsed(f"{RULES}<p>Red<span {each}>, blue<i></i></span>.</p>").text for each in (*HIDDEN, *SHOWN)}
    assert texts == dict.fromkeys(HIDDEN, "Red.") | dict.fromkeys(SHOWN, "Red, blue.")
    tags = "<template>, a</template><dialog>, b</dialog><dialog open>, c</dialog><b style='font-size:0'><i style='font:9px x'>, d"
    assert parsed(f"<p>Red{tags}</i></b>.</p>").text == "Red, c, d."


def test_time_to_find_hidden_text_grows_with_the_page_alone() -> None:
    rules = "".join(f".b.a{n}, .c .b {{display:none}}" for n in range(4_000))
    styles = (
        "@" * 20_000, "a" * 20_000, "/*" * 10_000, "{" * 20_000, "[a:b(" * 4_000, "a " * 10_000 + "{display:none}", rules,
    )  # fmt: skip
    started = time.process_time()
    for style in styles:
        n = 1_000 if style is rules else 100
        assert "Red" in parsed(f"<style>{style}</style>" + "<p class=b>Red.</p>" * n).text
    parsed("<p>Red.</p>" * 5_000)
    clues_from_wikitext("{{a|" * 8_000 + "{{" + " " * 2_000)
    assert time.process_time() - started < 6


def test_saved_pages_parse_as_noted(shared: Path) -> None:
    """Of Wikipedia and Wikispecies; a change of one letter of any text is seen."""
    for row in map(json.loads, SAVED.read_text(encoding="utf-8").splitlines()):
        file = shared / "fixtures" / row["file"]
        article = parsed(file.read_text(encoding="utf-8"))
        found = {"file": row["file"]}
        if (box := article.infobox) is not None:
            found |= {"heading": box.name, "taxon": list(stated_taxon(box)), "binomial": box.binomial}
            found |= {"classification": dict(box.classification)}
        found |= {
            "lead": [figure.file for figure in article.figures if figure.role == "lead"],
            "figures": len(article.figures),
            "galleries": sum(figure.role == "gallery" for figure in article.figures),
            "sections": [section.title for section in article.sections if section.level > 1],
            "characters": len(article.text),
            "text_sha256": sha256_hex(article.text)[:16],
        }
        assert found == row
        assert not article.is_disambiguation
