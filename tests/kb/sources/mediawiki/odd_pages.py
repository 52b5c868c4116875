"""Test pages that are hard to match with a checklist, in wikitext as written by Wikipedia's editors."""

# ruff: noqa: E501 (wikitext stays as editors write it)
from __future__ import annotations

SPECIESBOX = """<includeonly>{| class="infobox biota" style="text-align: left; width: 200px"
|-
! colspan="2" style="text-align: center" | {{{name|''{{{taxon|{{{genus}}} {{{species}}}}}}''}}}
|-
| colspan="2" style="text-align: center" | {{#if:{{{image|}}}|[[File:{{{image}}}|frameless]]}}
|-
| colspan="2" style="text-align: center" | {{{image_caption|}}}
|-
! colspan="2" | [[Taxonomy (biology)|Scientific classification]]
|-
| Class: || [[Bird|Aves]]
|-
! colspan="2" | [[Binomial nomenclature|Binomial name]]
|-
| colspan="2" | <b><span class="binomial">''{{#if:{{{taxon|}}}|{{{taxon}}}|{{{genus}}} {{{species}}}}}''</span></b><div>([[Carl Linnaeus|Linnaeus]], 1758)</div>
|}</includeonly>"""

PAGES: dict[str, str] = {
    "Template:Speciesbox": SPECIESBOX,
    "Template:Disambiguation": '<div class="dmbox" id="disambigbox">Pages of the same name.</div>'
    "[[Category:Disambiguation pages]]",
    # Titles that belong to other subjects; the page of the bird has a suffix in brackets.
    "Merlin": "'''Merlin''' is a wizard in the legends of King Arthur; no picture of him is known.",
    "Merlin (bird)": "{{Speciesbox\n| name = Merlin\n| taxon = Falco columbarius\n}}\n"
    "The '''merlin''' (''Falco columbarius'') is a small [[falcon]].\n\n== Description ==\nMales are blue-grey above.",
    "Falco columbarius": "#REDIRECT [[Merlin (bird)]]",
    "Kea": "'''Kea''' may refer to:\n* [[Kea (island)]], in Greece\n* [[Kea (parrot)]]\n\n{{disambiguation}}",
    "Kea (parrot)": "{{Speciesbox | genus = Nestor | species = notabilis | authority = [[John Gould|Gould]], 1856 }}\n"
    "The '''kea''' is a large species of parrot of New Zealand.",
    "Ruff": "A '''ruff''' is a pleated collar of the sixteenth century; birds of fashion wore it in black and white.",
    "Black swan": "'''Black Swan''' is a film about a dancer in a ballet.",
    # Titles in other spellings.
    "NORTHERN CARDINAL": "{{Speciesbox|taxon=Cardinalis cardinalis}}\nThe '''northern cardinal''' is red.",
    "Rüppell’s vulture": "{{Speciesbox|genus=Gyps|species=rueppelli}}\n'''Rüppell's vulture''' is a large bird of prey.",
    "Gray Heron": "The '''gray heron''' (''Ardea cinerea'') is a wading bird.\n\n== Appearance ==\nLong-necked and grey.",
    "Great Indian bustard": "{{Speciesbox|genus=Ardeotis|species=nigriceps}}\nA tall bustard of India.",
    # A title outside any checklist; only the binomial identifies the species.
    "Starling of our gardens": "{{Speciesbox\n| genus = [[Sturnus]]<!-- only one -->\n| species = vulgaris<ref>A book.</ref>\n}}\n"
    "A glossy black bird with white spots.",
    "Hoopoe of the old world": "The '''hoopoe of the old world''' (''Upupa epops'') has a crest like a fan.",
    # The genus has moved since the page was written.
    "Northern goshawk": "{{Taxobox\n| name = Northern goshawk\n| binomial = ''Accipiter gentilis''\n| classis = [[Bird|Aves]]\n}}\n"
    "The '''northern goshawk''' is a raptor.",
    # A genus and its species; a subspecies; a redirect to a redirect.
    "Struthio": "{{Automatic taxobox|taxon=Struthio}}\n'''''Struthio''''' is the genus of the ostriches, "
    "such as ''Struthio camelus''.",
    "Common ostrich": "{{Speciesbox|taxon=Struthio camelus}}\nThe largest bird.",
    "Struthio camelus": "#REDIRECT [[Ostrich]]",
    "Ostrich": "#REDIRECT [[Common ostrich]]",
    "Florida cardinal": "{{Subspeciesbox|genus=Cardinalis|species=cardinalis|subspecies=floridanus}}\nA subspecies.",
    # Not birds.
    "Common toad": "{{Taxobox|binomial = ''Bufo bufo''|classis=[[Amphibia]]}}\nThe '''common toad''' is a toad.",
    "Bird bath": "A '''bird bath''' is a basin in which birds bathe.",
    "Bird & Co. 50% (brand)": "A brand of seeds.",
    "List of odd birds": "The birds of the oddity.\n\n== Birds ==\n* [[Merlin (bird)|Merlin]], [[falcon]]\n* [[Kea]]\n"
    '{| class="wikitable"\n! Name !! Binomial\n|-\n| [[gray Heron]] || \'\'Ardea cinerea\'\'\n|-\n| [[NORTHERN CARDINAL]] || x\n|}\n'
    "* [[Struthio camelus]]\n* [[Common ostrich]]\n* [[Common toad]]\n* [[Dodo of nowhere]]\n* [[Bird & Co. 50% (brand)]]\n\n"
    "== See also ==\n* [[Bird bath]]\n* [[Help:Contents]]\n",
    "Category:Odd birds": "Odd. [[Category:Animals]]",
    "Category:Animals": "All.",
}  # fmt: skip
for _title in ("Kea (parrot)", "Gray Heron"):
    PAGES[_title] += "\n\n[[Category:Odd birds]]"
PAGES["Common toad"] += "\n[[Category:Animals]]"
