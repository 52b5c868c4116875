"""Structure and wording: imports point one way, replaceable libraries have one door, sizes have limits."""

import re
from collections import defaultdict
from collections.abc import Mapping
from fnmatch import fnmatch
from functools import cache
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.guards.sources import BESIDE, PACKAGES, ROOT, sources

# Which top folders a module may import.
LAYERS = {
    "data": {"data"},
    "kb": {"kb", "data"},
    "recognize": {"recognize", "data"},
    "rerank": {"rerank", "data"},
    "cli": {"cli", "kb", "recognize", "rerank", "data"},
    "training": {"training", "kb", "recognize", "data"},
    "papers": {"papers", "training", "cli", "kb", "recognize", "rerank", "data"},
}
# A library that could be replaced is imported in one module or folder, and where it is compared with; no signature has
# its types.
DOORS = {
    "chromadb": ("kb/store/chroma.py",),
    "wikipediaapi": ("kb/sources/mediawiki/wiki_client.py",),
    "ray": ("data/engines/ray_engine.py",),
    "birdnames": (),  # its tables are read, the package is not imported
    **dict.fromkeys(
        ("torch", "open_clip", "timm", "sentence_transformers", "transformers"), ("recognize/encoders/",)
    ),
}  # fmt: skip
MOST_LINES = 57_460
MOST_MODULES = 308
MOST_LINES_OF_THE_PAGE = 2_430  # cli/serve, beside the others
MOST_LINES_OF_TESTS = 35_850
MOST_LINES_OF_PAPERS = 6_000
MOST_LINES_OF_A_FUNCTION = 80
REASON = "# Long: "  # begins the comment that gives the reason for a longer function
CLAUSE = re.compile(r"(What|How|Which|Who|Whom|Whose)\b")
MODULE_CLAUSE = re.compile(r"(What|How|Which|Who|Whom|Whose|Whether|Where|When)\b")
PHRASES = (
    "those that", "of what", "as it is", "whom", "passed over", "what was", "whose is", "one of what", "the like",
    "may be so",
)  # fmt: skip
# Words of a phrase may stand in two lines of a comment or string.
CONVOLUTED = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b".replace(" ", r"\s+(?:#\s*|\"\s*\")?"), re.IGNORECASE)
EXEMPT = {"tests/guards/test_structure.py", "tests/cli/verbs/rerank/test_settings.py"}


def test_modules_import_only_lower_layers() -> None:
    offenders = []
    for source in sources(*LAYERS):
        tops = {(module.partition(".")[0], line) for module, line in source.imports}
        allowed = LAYERS[source.package]
        offenders += [f"{source.name}:{line}: {top}" for top, line in tops if top in LAYERS and top not in allowed]
    assert not offenders, "\n".join(offenders)


def test_a_replaceable_library_is_imported_in_one_place() -> None:
    outside = [
        f"{source.name}:{line}: {module}"
        for source in sources(*PACKAGES, "papers")
        for module, line in source.imports
        if not source.name.startswith(DOORS.get(module.partition(".")[0], ("",)))
    ]
    assert outside == []


@cache
def imports() -> dict[str, set[str]]:
    """Return module -> modules of ours that it imports."""
    ours = {source.module for source in sources(*LAYERS)}
    edges = {}
    for source in sources(*LAYERS):
        named = {name if name in ours else name.rpartition(".")[0] for name, _ in source.imports}
        edges[source.module] = (named & ours) - {source.module}
    return edges


def cycle(edges: Mapping[str, set[str]]) -> list[str]:
    """Return the nodes of a cycle, or an empty list."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_modules_have_no_import_cycle() -> None:
    assert cycle(imports()) == []


def test_folders_have_no_cycle_between_their_parts() -> None:
    """Within a folder each file counts by itself, and each folder as one."""
    between: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for module, imported in imports().items():
        parts = module.split(".")
        for depth in range(1, len(parts)):
            folder = ".".join(parts[:depth])
            others = {name.split(".")[depth] for name in imported if name.startswith(f"{folder}.")}
            between[folder][parts[depth]] |= others - {parts[depth]}
    assert {folder: found for folder, edges in between.items() if (found := cycle(edges))} == {}


def test_the_packages_and_their_tests_stay_small() -> None:
    """New ideas displace old ones: merge and delete before a limit is raised, which is the owner's decision."""
    page, packages = (
        [source for source in sources(*PACKAGES) if source.name.startswith("cli/serve/") is is_page]
        for is_page in (True, False)
    )
    assert sum(source.text.count("\n") for source in page) <= MOST_LINES_OF_THE_PAGE
    assert sum(source.text.count("\n") for source in packages) <= MOST_LINES
    assert len(packages) <= MOST_MODULES
    assert sum(source.text.count("\n") for source in sources("tests")) <= MOST_LINES_OF_TESTS
    assert sum(source.text.count("\n") for source in sources("papers")) <= MOST_LINES_OF_PAPERS


def test_long_functions_give_a_reason() -> None:
    long = [
        f"{source.name}: {function.name} has {function.n_lines} lines"
        for source in sources(*PACKAGES, "papers")
        for function in source.functions
        if function.n_lines > MOST_LINES_OF_A_FUNCTION and REASON not in function.text
    ]
    assert not long, "\n".join(long)


def test_pytest_collects_every_test_folder(pytestconfig: pytest.Config) -> None:
    skipped = pytestconfig.getini("norecursedirs")
    folders = {folder.name for folder in (ROOT / "tests").rglob("*") if folder.is_dir() and folder.name[0] != "."}
    assert {name for name in folders if any(fnmatch(name, pattern) for pattern in skipped)} == set()
    assert list((ROOT / "tests").rglob("__init__.py")) == [], "`import kb` would find the tests"


def test_folders_beside_the_packages_are_known() -> None:
    """The guards read every folder with code."""
    folders = {path.parent.name for path in ROOT.glob("*/*.py") if path.parent.name[0] != "."}
    assert folders - {*PACKAGES, *BESIDE, "tests"} == set()


def test_texts_are_plain_english() -> None:
    """Docstrings open with a noun phrase or a verb, and no text has a convoluted phrase."""
    offenders = []
    for source in sources(*PACKAGES, *BESIDE, "tests"):
        offenders += [f"{source.name}: {text}" for text in [source.module_docstring] if MODULE_CLAUSE.match(text)]
        offenders += [f"{source.name}: {text.splitlines()[0]}" for text in source.docstrings if CLAUSE.match(text)]
        if source.name not in EXEMPT:
            offenders += [f"{source.name}: {found}" for found in CONVOLUTED.findall(source.text)]
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        if "generated" not in page.parts:
            offenders += [f"{page}: {found}" for found in CONVOLUTED.findall(page.read_text(encoding="utf-8"))]
    assert not offenders, "\n".join(offenders)
