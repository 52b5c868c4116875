"""Pages of several kingdoms in our own words, and pages that are no species."""

from __future__ import annotations

from tests.servers.saved_pages import taxonomy

NYMPHS = {"kingdom": "Animalia", "class": "Insecta", "order": "Lepidoptera", "family": "Nymphalidae"}
APPLES = {"kingdom": "Plantae", "clade": "Angiosperms", "order": "Rosales", "family": "Rosaceae"}
CAPS = {"kingdom": "Fungi", "division": "Basidiomycota", "class": "Agaricomycetes", "family": "Amanitaceae"}

PAGES = {
    **taxonomy("Vanessa", **NYMPHS, genus="Vanessa"),
    **taxonomy("Malus", **APPLES, genus="Malus"),
    **taxonomy("Amanita", **CAPS, genus="Amanita"),
    **taxonomy("Tiliqua", kingdom="Animalia", **{"class": "Reptilia"}, family="Scincidae", genus="Tiliqua"),
    "Red admiral": "{{Speciesbox|name=Red admiral|genus=Vanessa|species=atalanta|authority=([[Linnaeus]], 1758)}}\n"
    "The '''red admiral''' (''Vanessa atalanta'') is a butterfly.\n\n== Description ==\n"
    "The upperside of the wings is black with a red band. The antennae are black with white tips.\n"
    "[[Category:Oddities]]",
    "Vanessa (butterfly)": "{{Automatic taxobox|name=Vanessa|taxon=Vanessa}}\n'''''Vanessa''''' is a genus."
    "\n[[Category:Oddities]]",
    "Vanessa": "'''Vanessa''' may refer to:\n* [[Vanessa (butterfly)]]\n{{disambiguation}}\n[[Category:Oddities]]",
    "Apple": "{{Speciesbox|name=Apple|genus=Malus|species=domestica|authority=Borkh.}}\n"
    "The '''apple''' is a fruit tree.\n\n"
    "== Description ==\nThe flowers are white with pink streaks. The fruit is red or green.\n[[Category:Oddities]]",
    "Fly agaric": "{{mycomorphbox|name=Amanita muscaria}}\n"
    "{{Speciesbox|name=Fly agaric|genus=Amanita|species=muscaria}}\n"
    "The '''fly agaric''' is a mushroom.\n\n== Description ==\nThe cap is red with white warts. The gills are white.\n"
    "[[Category:Oddities]]",
    "Tiliqua": "{{Automatic taxobox|name=Blue-tongued skink|taxon=Tiliqua}}\n"
    "'''''Tiliqua''''' is a genus of lizards.\n\n"
    "== Description ==\nThe tongue is blue and the body is brown with dark bands.\n[[Category:Oddities]]",
    "Dark admiral": "{{Subspeciesbox|name=Dark admiral|genus=Vanessa|species=atalanta|subspecies=nigra}}\nA form.\n"
    "[[Category:Oddities]]",
    "Garden crab": "{{Hybridbox|name=Garden crab|genus=Malus|taxon=''Malus'' × ''hortensis''}}\nA hybrid.\n"
    "[[Category:Oddities]]",
    "Apple mosaic": "{{Virusbox|name=Apple mosaic|taxon=Ilarvirus appli}}\nA virus of apples.\n[[Category:Oddities]]",
    "Noctua pronuba": "'''''Noctua pronuba''''', the large yellow underwing, is a moth.\n\n"
    "== Description ==\nThe forewings are brown and the hindwings orange with a black band.\n[[Category:Oddities]]",
    "Copper underwing": "The '''copper underwing''' (''Amphipyra pyramidea'') is a moth.\n\n"
    "== Description ==\nThe forewings are brown and the hindwings copper red.\n[[Category:Oddities]]",
    "Apple scab": "'''Apple scab''' is a disease of ''[[Malus domestica]]''.\n[[Category:Oddities]]",
    "Frog legs": "{{Infobox food|name=Frog legs}}\n'''Frog legs''' are a dish.\n[[Category:Oddities]]",
    "The Swarm": "{{Infobox film|name=The Swarm}}\n'''The Swarm''' is a film about bees.\n[[Category:Oddities]]",
    "List of butterflies": "* [[Red admiral]]\n* [[Vanessa cardui]]\n* [[Apple scab]]\n[[Category:Oddities]]",
    "Vampyroteuthis infernalis": "#REDIRECT [[Vampire Squid]]",
    "Ariolimax": "#REDIRECT [[Banana slug]]",
    "Template:Infobox food": "<b>{{{name}}}</b>",
    "Template:Infobox film": "<b>{{{name}}}</b>",
}
