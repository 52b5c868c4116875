"""The verbs of `kb`, in the order in which a user meets them."""

from __future__ import annotations

from typing import Final

# The module or folder `cli/verbs/VERB` holds a click command of the verb's name.
VERBS: Final = {
    "demo": "Build a small knowledge base and identify birds with it.",
    "build": "Build a knowledge base from a wiki or a folder of articles.",
    "update": "Fetch what changed in the wiki: texts, pages and photos.",
    "add": "Add a species, a term, texts and photos, or web pages.",
    "remove": "Remove species and terms, with their texts and photos.",
    "export": "Write a knowledge base as Parquet tables and images.",
    "import": "Make a knowledge base from a folder that kb export wrote.",
    "identify": "Identify the species in photos.",
    "calibrate": "Fit the confidence of kb identify to your knowledge base.",
    "context": "Explain the species and terms in a query, with sources.",
    "rerank": "Rank photos by queries, with each question and answer.",
    "feedback": "Search a folder of photos in turns, by relevant photos.",
    "index-images": "Encode a folder of photos for kb find, once.",
    "find": "Find the photos of a folder by words or by a photo.",
    "search": "Find the species nearest to a description.",
    "show": "Show a species or a term, with its evidence.",
    "species": "List the species of a knowledge base.",
    "taxa": "Find a taxon by its name, and its lineage.",
    "checklist": "Add, list, show and remove checklists of species.",
    "status": "Count species, photos, terms and failures.",
    "verify": "Check a knowledge base, and repair it where possible.",
    "lint": "Check every sentence of a summary against its evidence.",
    "credits": "Print the attribution of every article and photo.",
    "eval": "Measure results, with intervals and paired tests.",
    "doctor": "Check the installation and the models of the settings.",
    "bench": "Measure speed and memory, beside other vector indexes.",
}
"""Verb -> its line in `kb --help`, and its short help; thus the list loads no verb."""
