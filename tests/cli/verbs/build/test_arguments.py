"""Arguments of `kb build`: invalid combinations, and the default path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cli.verbs.build_selection import BuildArguments
from data.errors import UsageError

COMPLAINTS: tuple[tuple[dict[str, Any], str], ...] = (
    ({}, "Specify --taxon, --list, --category or --names"),
    ({"list_page": "L", "category": "C"}, "--list and --category cannot be combined"),
    ({"category": "C", "names": Path("n.csv")}, "--category and --names cannot be combined"),
    ({"list_page": ""}, "--list is empty"),
    ({"category": ""}, "--category is empty"),
    ({"source": "starter", "list_page": "L"}, "--list needs a wiki"),
    ({"source": "starter", "names": Path("n.csv")}, "--names needs a wiki or a folder"),
    ({"source": "starter", "has_api_url": True}, "--api-url needs a wiki"),
    ({"source": "folder:x", "category": "C"}, "--category needs a wiki"),
    ({"source": "folder:"}, "has no folder"),
    ({"source": "encarta", "taxa": ("Aves",)}, "Unknown source 'encarta'"),
    ({"taxa": ("Aves",), "is_dry_run": True, "only": "fetch"}, "--dry-run and --only cannot be combined"),
    ({"source": "folder:x", "checklist": "wiki"}, "--checklist wiki needs a wiki"),
    ({"pages": Path("p.csv"), "is_dry_run": True}, "--pages and --dry-run cannot be combined"),
)


def test_invalid_combinations_are_usage_errors() -> None:
    for arguments, complaint in COMPLAINTS:
        with pytest.raises(UsageError, match=complaint):
            BuildArguments(**arguments)


def test_the_default_path_is_named_after_the_selection() -> None:
    for arguments, name in (
        (BuildArguments(taxa=("Aves",)), "aves.kb"),
        (BuildArguments(taxa=("Snowy Owl",)), "snowy-owl.kb"),
        (BuildArguments(list_page="List of birds of Iceland", taxa=("Anatidae", "Laridae")),
         "list-of-birds-of-iceland.kb"),
        (BuildArguments(category="Category:Owls"), "category-owls.kb"),
        (BuildArguments(names=Path("surveys/may 2026.csv")), "may-2026.kb"),
        (BuildArguments(source="starter"), "starter.kb"),
        (BuildArguments(source="folder:articles", taxa=("Aves",)), "aves.kb"),
    ):  # fmt: skip
        assert arguments.default_path == Path(name)
    for taxa in (("Anatidae", "Laridae"), ("/",)):
        with pytest.raises(UsageError, match="The knowledge base has no name"):
            _ = BuildArguments(taxa=taxa).default_path
