"""Pages that are hard to match with a checklist, in wikitext as written by Wikipedia's editors, and lists of them."""

# ruff: noqa: E501 (wikitext stays as editors write it)
from __future__ import annotations

PAGES: dict[str, str] = {
    # Titles that belong to other subjects; the page of the bird has a suffix in brackets.
    "Merlin": "'''Merlin''' is a wizard in the legends of King Arthur; no picture of him is known.",
    "Merlin (bird)": "{{Speciesbox\n| name = Merlin\n| taxon = Falco columbarius\n}}\n"
    "The '''merlin''' (''Falco columbarius'') is a small [[falcon]].\n\n== Description ==\nMales are blue-grey above.",
    "Falco columbarius": "#REDIRECT Merlin (bird)",
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
    "Struthio camelus": "#REDIRECT Ostrich",
    "Ostrich": "#REDIRECT Common ostrich",
    "Florida cardinal": "{{Subspeciesbox|genus=Cardinalis|species=cardinalis|subspecies=floridanus}}\nA subspecies.",
    # Not birds.
    "Common toad": "{{Taxobox|binomial = ''Bufo bufo''|classis=[[Amphibia]]}}\nThe '''common toad''' is a toad.",
    "Bird bath": "A '''bird bath''' is a basin in which birds bathe.",
    "Bird & Co. 50% (brand)": "A brand of seeds.",
    "List of odd birds": "The birds of the oddity.",
}  # fmt: skip
CATEGORIES = {
    "Category:Odd birds": ["Gray Heron", "Kea (parrot)"],
    "Category:Animals": ["Common toad", "Category:Odd birds"],
}
LIST = """<p>The birds of the oddity.</p><h2>Birds</h2><ul>
<li><a href="/wiki/Merlin_(bird)">Merlin</a>, <a href="/wiki/Falcon">falcon</a></li><li><a href="/wiki/Kea">Kea</a></li></ul>
<table><tr><td><a href="/wiki/Gray_Heron">gray Heron</a></td><td><i>Ardea cinerea</i></td></tr>
<tr><td><a href="/wiki/NORTHERN_CARDINAL">NORTHERN CARDINAL</a></td><td>x</td></tr></table><ul>
<li><a href="/wiki/Struthio_camelus">Struthio camelus</a></li><li><a href="./Common_ostrich">Common ostrich</a></li>
<li><a href="/wiki/Common_toad#Looks">Common toad</a>, <a href="#Birds">above</a></li>
<li><a href="/w/index.php?title=Dodo_of_nowhere&amp;action=edit&amp;redlink=1">Dodo of nowhere</a></li>
<li><a href="/wiki/Bird_%26_Co._50%25_(brand)">Bird</a> <a href="http://other.example/wiki/Falcon">other</a></li></ul>
<h2>See also</h2><ul><li><a href="/wiki/Bird_bath">Bird bath</a></li><li><a href="/wiki/Help:Contents">Help</a></li></ul>"""
