"""Arguments of `kb build`: invalid combinations, and the default path."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.verbs.build_selection import BuildArguments
from data.errors import UsageError


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
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
    ],
)
def test_invalid_combinations_are_usage_errors(arguments: dict[str, object], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint) as error:
        BuildArguments(**arguments)  # type: ignore[arg-type]
    assert error.value.exit_code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        {"taxa": ("Aves",)},
        {"list_page": "List of owls"},
        {"list_page": "List of birds", "taxa": ("Strigiformes", "Picidae")},
        {"source": "starter"},
        {"source": "folder:articles", "names": Path("n.csv")},
        {"only": "encode"},
    ],
)
def test_valid_combinations_are_accepted(arguments: dict[str, object]) -> None:
    assert BuildArguments(**arguments).kind in {"wikipedia", "folder", "starter"}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"taxa": ("Aves",)}, "aves.kb"),
        ({"taxa": ("Snowy Owl",)}, "snowy-owl.kb"),
        ({"list_page": "List of birds of Iceland", "taxa": ("Anatidae", "Laridae")}, "list-of-birds-of-iceland.kb"),
        ({"category": "Category:Owls"}, "category-owls.kb"),
        ({"names": Path("surveys/may 2026.csv")}, "may-2026.kb"),
        ({"source": "starter"}, "starter.kb"),
    ],
)
def test_the_default_path_is_named_after_the_selection(arguments: dict[str, object], name: str) -> None:
    assert BuildArguments(**arguments).default_path == Path(name)  # type: ignore[arg-type]


@pytest.mark.parametrize("taxa", [("Anatidae", "Laridae"), ("/",)])
def test_an_ambiguous_selection_needs_a_path(taxa: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="The knowledge base has no name"):
        _ = BuildArguments(taxa=taxa).default_path
