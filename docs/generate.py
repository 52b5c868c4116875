"""Reference pages generated from the code: commands, settings, wire formats and exit codes."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import json
import textwrap
import types
import typing
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import click

from cli.common.settings import TABLES, hints_of, settings_class, type_in_words

GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "cli" / "golden"

# Command -> columns of its CSV: a sequence of names, or names with types.
CSV = {
    "kb identify --format csv": ("recognize.columns.COLUMNS", "One row per photo; the same in Parquet."),
    "kb identify --format csv --rows candidates": (
        "recognize.columns.CANDIDATE_COLUMNS",
        "One row per candidate; the same in Parquet.",
    ),
    "kb taxa --file FILE --format csv": ("cli.verbs.taxa.COLUMNS", "One row per name, in the order of the file."),
    "kb species --format csv": ("kb.lookup.entries.SPECIES", "One row per species, in the order of the checklist."),
    "kb lint --format csv": ("cli.verbs.lint.CSV_COLUMNS", "One row per finding."),
    "kb credits --format csv": ("kb.curate.credits.COLUMNS", "One row per article or photo."),
    "kb eval species --format csv": ("recognize.evaluation.report.COLUMNS", "One row per species and answer."),
    "kb eval rerank --format csv": ("rerank.evaluation.report.COLUMNS", "A row per run, stratum and measure."),
}
# Command -> the record that it prints, and the example that the tests hold still.
JSON = {
    "kb identify --format jsonl": ("data.records.Identification", "identify.json"),
    "kb calibrate --format json": ("recognize.confidence.fit.Quality", ""),
    "kb rerank --format jsonl": ("data.records.RankedImage", ""),
    "kb find --format jsonl": ("data.records.RankedImage", ""),
    "kb search --format json": ("data.records.TaxonMatch", ""),
    "kb context --format json": ("data.records.Context", ""),
    "kb status --format json": ("data.records.Status", ""),
    "kb verify --format json": ("data.records.Verification", ""),
    "kb update --format json": ("data.records.Update", ""),
    "kb add --format json": ("data.records.Added", ""),
    "kb remove --format json": ("data.records.Removed", ""),
    "kb export --format json": ("data.records.Exported", ""),
    "kb import --format json": ("data.records.Imported", ""),
    "kb species --format json": ("kb.lookup.entries.ListedSpecies", ""),
    "kb lint --format jsonl": ("kb.curate.lint.Finding", ""),
    "kb credits --format json": ("kb.curate.credits.Credits", ""),
    "kb eval species --format json": ("recognize.evaluation.report.SpeciesReport", ""),
    "kb eval rerank --format json": ("rerank.evaluation.report.Evaluation", ""),
    "Query set of kb rerank": ("rerank.jobs.QuerySet", ""),
    "Session file of kb feedback": ("rerank.feedback.session.Session", ""),
    "Jobs of kb rerank": ("data.records.Job", ""),
}
# Command -> keys that it adds to the record: key, type, meaning.
ADDED_KEYS = {
    "kb find --format jsonl": (("path", "text", "File of the photo."),),
    "kb credits --format json": (
        ("n_not_to_be_published", "integer", "Number of texts and photos without a free licence."),
        ("texts[].publishable", "boolean", "Whether the licence permits publication of the text."),
        ("photos[].publishable", "boolean", "Whether the licence permits publication of the photo."),
    ),
    "kb eval species --format json": (
        ("kb", "text", "Path of the knowledge base."),
        ("preset", "text", "Scoring preset."),
        ("n_copies", "integer", "Photos left out: copies of reference photos, or of training photos of the encoders."),
        ("n_unmatched", "integer", "Photos with a label that matches no species."),
        ("unmatched", "list of object", "These labels: `name`, `reason`, `suggestions`."),
    ),
}
# Meanings of keys that many records share, where a record says nothing itself.
SHARED_KEYS = {
    "n": "Number of items measured.",
    "n_species": "Number of species among the labels.",
    "name": "Name.",
    "title": "Title.",
    "url": "Address.",
    "revision": "Revision of the page.",
    "author": "Author.",
    "licence": "Licence, as stated.",
    "licence_url": "Address of the licence.",
    "freedom": "Kind of licence; `own` for your own texts and photos without one.",
    "file": "File name.",
    "sha256": "SHA-256 of the file.",
    "page_url": "Address of the file page.",
    "species": "Species that use it.",
    "kb": "Name of the knowledge base.",
    "texts": "Texts with their attribution.",
    "photos": "Photos with their attribution.",
    "baseline": "Setup or run to compare with.",
    "preset": "Scoring preset.",
    "measures": "Mean of each measure.",
    "measure": "Name of the measure.",
    "micro": "Mean over items.",
    "micro_interval": "95 % interval of `micro`.",
    "macro": "Mean over groups (species, or queries).",
    "macro_interval": "95 % interval of `macro`.",
    "test": "Paired test.",
    "difference": "Mean difference from the baseline.",
    "interval": "95 % interval of the difference.",
    "error": "Standard error of the difference.",
    "n_better": "Number of groups with a higher value than the baseline.",
    "n_worse": "Number of groups with a lower value than the baseline.",
    "p_value": "Two-sided p-value of a randomisation test.",
    "p_corrected": "p-value with Holm's correction.",
    "tests": "Paired tests against the first setup.",
    "input_tokens": "Tokens sent.",
    "output_tokens": "Tokens received.",
    "cost_usd": "Cost in US dollars.",
    "model": "Model.",
    "n_samples": "Model calls per photo.",
    "n_queries": "Number of queries measured.",
    "n_without_relevant": "Number of queries without a known relevant image; not measured.",
    "ties": "Order of equal scores.",
    "cutoffs": "Cutoffs of the measures.",
    "runs": "Figures of each run.",
    "comparisons": "Paired tests against the baseline.",
    "run": "Name of the run.",
    "labels": "Axis -> label of the stratum; empty for all queries.",
    "strata": "Figures over all queries and over each stratum.",
}
# Command -> an example, where the output joins several records.
EXAMPLES = {"kb show SPECIES --format json": "show.json", "kb show TERM --format json": "show-term.json"}
EXIT_CODES = {
    0: "Done.",
    1: "Findings of `lint` or `verify`, or a damaged knowledge base.",
    2: "Usage error: unknown option, contradicting arguments, unknown setting.",
    3: "Something needed is missing: a package, a knowledge base, a contact address, a cached reply, write access.",
    5: "Bad input: an unknown taxon, a damaged photo, a malformed file.",
    6: "A provider failed: a wiki, a model server, a Chroma server.",
    7: "Done in part: some items failed, or the cost limit was reached. Run the same command again to continue.",
    70: "A defect of Fieldmark.",
    130: "Stopped with Ctrl-C.",
    141: "The reader of a pipe went away.",
}


def write_reference(folder: Path) -> None:
    """Write all generated pages into `folder`, which is replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"commands": commands(), "settings": settings(), "wire-formats": wire_formats(), "exit-codes": exit_codes()}
    for name, text in pages.items():
        file = folder / f"{name}.md"
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def write_reproduction(folder: Path) -> None:
    """Write a page for each paper into `folder`, which is replaced: its tables, commands, data sets and costs."""
    from papers.catalogue import PAPERS
    from papers.pages import page_of

    folder.mkdir(parents=True, exist_ok=True)
    for name in PAPERS:
        (folder / f"{name}.md").write_text(page_of(name), encoding="utf-8")


def commands() -> str:
    """Return the page of all commands, with every option."""
    from cli.main import commands as group

    context = click.Context(group, info_name="kb")
    first = group.get_command(context, "demo")
    assert first is not None
    shared = {option.name for option in group.params} | {"set", "settings"}
    general = [option for option in first.params if option.name in shared]
    parts = ["# Commands", "", "## Options of every command", "", *_options(general, context)]
    parts += ["The keys of `--set` are on the page of [settings](settings.md).", ""]
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        below = click.Context(command, info_name=name, parent=context)
        parts += _command(command, below, level=2, shared=shared)
    return "\n".join(parts)


def _command(
    command: click.Command, context: click.Context, *, level: int, shared: Collection[str | None]
) -> Iterator[str]:
    yield from (f"{'#' * level} {context.command_path}", "", _prose(command.help or ""), "")
    yield from ("```text", " ".join([context.command_path, *command.collect_usage_pieces(context)]), "```", "")
    yield from _options([option for option in command.params if option.name not in shared], context)
    for child in command.commands.values() if isinstance(command, click.Group) else ():
        below = click.Context(child, info_name=child.name, parent=context)
        yield from _command(child, below, level=level + 1, shared=shared)


def _options(parameters: Iterable[click.Parameter], context: click.Context) -> list[str]:
    options = [each for each in parameters if isinstance(each, click.Option)]
    records = [record for option in options if (record := option.get_help_record(context)) is not None]
    rows = [(f"`{_cell(name)}`", _cell(text)) for name, text in records]
    return table(("option", "meaning"), rows) if rows else []


def settings() -> str:
    """Return the page of all settings: of every run, of endpoints, and of methods."""
    from cli.common.settings import PREFIX, Settings
    from kb.endpoints.endpoint import Endpoint
    from kb.lookup.context_settings import ContextSettings

    parts = [
        "# Settings",
        "",
        "A flag beats `--set`, which beats `--settings FILE`, the environment, `fieldmark.toml` and the default. "
        "`fieldmark.toml` is searched for in the working folder and above it. Unknown keys are errors.",
        "",
        "## For all commands",
        "",
    ]
    rows = [
        (f"`{field.name}`", f"`{PREFIX}{field.name.upper()}`", _default(field), _cell(text))
        for field, text in documented_fields(Settings)
        if field.name != "llm"
    ]
    parts += table(("key of fieldmark.toml", "environment variable", "default", "meaning"), rows)
    parts += [
        "## [context]",
        "",
        "For `kb context` and `kb rerank`; on the command line `--set context.KEY=VALUE`.",
        "",
    ]
    parts += table(("key", "type", "default", "meaning"), _rows(ContextSettings))
    parts += ["## Model endpoints", "", "Tables `[llm.text]`, `[llm.vision]`, `[llm.search]` and `[llm.image]`:", ""]
    parts += table(("key", "type", "default", "meaning"), _rows(Endpoint))
    for name in TABLES:
        command = _command_of(name)
        key = f"{name}.KEY".removeprefix(f"{command}.")
        parts += [
            f"## [{name}]",
            "",
            f"For `kb {command.replace('.', ' ')}`; on the command line `--set {key}=VALUE`.",
            "",
        ]
        kind = settings_class(name)
        rows = [
            (f"`{field.name}`", _cell(type_in_words(hints_of(kind)[field.name])), _default(field), _cell(text))
            for field, text in documented_fields(kind)
        ]
        parts += table(("key", "type", "default", "meaning"), rows)
    return "\n".join(parts)


def _command_of(table_name: str) -> str:
    """Return the command that a table of settings belongs to: itself, or the one above it."""
    from cli.main import commands as group

    verb, _, rest = table_name.partition(".")
    command = group.get_command(click.Context(group), verb)
    return table_name if isinstance(command, click.Group) and rest in command.commands else verb


def wire_formats() -> str:
    """Return the page of columns and keys for programs."""
    parts = ["# Wire formats", "", "Names and types of columns and keys change only with a note in the changelog.", ""]
    for command, (path, rows) in CSV.items():
        parts += [f"## {command}", "", rows, ""]
        found = columns(path)
        if command.startswith("kb identify"):
            cells = [(f"`{name}`", kind, f"`{_key_of(name)}`") for name, kind in found.items()]
            parts += table(("column", "type", "the same in JSON"), cells)
        else:
            parts += [f"Columns: {', '.join(f'`{name}`' for name in found)}.", ""]
    for command, (path, example) in JSON.items():
        parts += [f"## {command}", ""]
        for each in _with_parts(_load(path)):
            parts += [f"**{each.__name__}**: {_cell((inspect.getdoc(each) or '').partition(chr(10) * 2)[0])}", ""]
            rows_of = [
                (name, kind, text or SHARED_KEYS.get(name.strip("`"), "")) for name, kind, _, text in _rows(each)
            ]
            parts += table(("key", "type", "meaning"), rows_of)
        if command in ADDED_KEYS:
            parts += ["The command adds these keys:", ""]
            added = [(f"`{key}`", kind, text) for key, kind, text in ADDED_KEYS[command]]
            parts += table(("key", "type", "meaning"), added)
        parts += _example(example) if example else []
    for command, example in EXAMPLES.items():
        parts += [f"## {command}", "", *_example(example)]
    parts += [
        "## kb rerank --format trec",
        "",
        "`query_id Q0 image_id rank score tag`, one line per photo. Equal scores are set apart by a millionth, "
        "so that other programs keep the order.",
        "",
    ]
    return "\n".join(parts)


def _key_of(column: str) -> str:
    """Return the key of the JSON of `kb identify` that holds what a column of its CSV does."""
    special = {"rank": "candidates[]", "latitude": "place[0]", "longitude": "place[1]"}
    special |= dict.fromkeys(("first_candidate", "second_candidate"), "candidates[].common_name")
    special |= dict.fromkeys(("first_confidence", "second_confidence"), "candidates[].confidence")
    special |= {"answer_without_list": "answer_without_list.name"}
    special |= {"confidence_without_list": "answer_without_list.confidence"}
    special |= {"answer_scientific_name": "answer.name", "answer_taxon_id": "candidates[].taxon_id"}
    special |= {name: f"answer.{name}" for name in ("confidence", "family", "order")}
    special |= {"candidate_confidence": "candidates[].confidence", "photos": "photos[].image"}
    special |= {"answer_before": "correction.answer.name", "corrected_by": "correction.by"}
    special |= {"corrected_at": "correction.at"}
    special |= {"n_photos": "photos", "unreadable_photos": "photos[].error"}
    identification, answer, candidate, reading = (
        {field.name for field in dataclasses.fields(_load(f"data.records.{name}"))}
        for name in ("Identification", "Answer", "Candidate", "Reading")
    )
    if column in special or column in identification:
        return special.get(column, column)
    if column in candidate:
        return f"candidates[].{column}"
    prefix, _, rest = column.partition("_")
    if prefix == "score":
        return f"candidates[].scores.{rest}"
    if prefix == "reader" and rest in reading:
        return f"reader.{rest}"
    assert {column, rest} & answer, f"no key of the JSON for the column {column}"
    return f"answer.{rest if prefix == 'answer' else column}"


def columns(path: str) -> dict[str, str]:
    """Return column -> type of a CSV, by the place of its columns in the code; an empty type where none is given."""
    module, _, name = path.rpartition(".")
    found = getattr(importlib.import_module(module), name)
    return dict(found) if isinstance(found, Mapping) else dict.fromkeys(found, "")


def names_on_the_wire() -> dict[str, dict[str, list[str]]]:
    """Return command -> table -> its columns or keys, for the golden file that holds them still."""
    found = {command: {"columns": list(columns(path))} for command, (path, _) in CSV.items()}
    for command, (path, _) in JSON.items():
        records = _with_parts(_load(path))
        found[command] = {each.__name__: [field.name for field in dataclasses.fields(each)] for each in records}
        if command in ADDED_KEYS:
            found[command]["added"] = [key for key, _, _ in ADDED_KEYS[command]]
    return found


def exit_codes() -> str:
    """Return the page of exit codes and of the errors that end with them."""
    from data import errors

    found = [
        each for each in vars(errors).values() if inspect.isclass(each) and issubclass(each, errors.FieldmarkError)
    ]
    parts = ["# Exit codes", ""]
    parts += table(("code", "meaning"), [(str(code), text) for code, text in EXIT_CODES.items()])
    parts += ["## Errors in Python", "", "All derive from `data.errors.FieldmarkError`; `hint` names the remedy.", ""]
    rows = [
        (f"`{each.__name__}`", str(each.exit_code), "yes" if each.retryable else "", _cell(inspect.getdoc(each) or ""))
        for each in found
    ]
    parts += table(("error", "exit code", "worth a retry", "meaning"), rows)
    return "\n".join(parts)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table, followed by a blank line."""
    lines = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows), ""]


def documented_fields(record: type) -> Iterator[tuple[dataclasses.Field[object], str]]:
    """Yield each field of a dataclass with the string below it, or an empty text."""
    texts: dict[str, str] = {}
    for base in reversed([each for each in record.__mro__ if dataclasses.is_dataclass(each)]):
        texts |= field_docs(base)
    for field in dataclasses.fields(record):
        yield field, texts.get(field.name, "")


def field_docs(kind: type) -> dict[str, str]:
    """Return field -> the docstring below it in the source of a dataclass."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(body, ast.ClassDef)
    docs = {}
    for field, doc in zip(body.body, body.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
            and isinstance(doc, ast.Expr) and isinstance(doc.value, ast.Constant) and isinstance(doc.value.value, str)
        ):  # fmt: skip
            docs[field.target.id] = inspect.cleandoc(doc.value.value)
    return docs


def _rows(record: type) -> list[tuple[str, str, str, str]]:
    hints = typing.get_type_hints(record)
    return [
        (f"`{field.name}`", _cell(_type(hints[field.name])), _default(field), _cell(text))
        for field, text in documented_fields(record)
    ]


def _default(field: dataclasses.Field[object]) -> str:
    if field.default is not dataclasses.MISSING:
        return "" if field.default is None else f"`{field.default}`"
    if field.default_factory is not dataclasses.MISSING:
        value = field.default_factory()
        return f"`{str(value).replace(str(Path.home()), '~')}`" if value else ""
    return "required"


def _with_parts(record: type) -> list[type]:
    """Return the record and the records within it, each once, outermost first."""
    found = [record]
    for each in found:
        for hint in typing.get_type_hints(each).values():
            found += [part for part in _dataclasses_of(hint) if part not in found]
    return found


def _dataclasses_of(hint: object) -> list[type]:
    if inspect.isclass(hint) and dataclasses.is_dataclass(hint):
        return [hint]
    return [part for inner in typing.get_args(hint) for part in _dataclasses_of(inner)]


def _type(hint: object) -> str:
    if hint is types.NoneType:
        return "null"
    arguments = typing.get_args(hint)
    origin = typing.get_origin(hint)
    if origin in {types.UnionType, typing.Union}:
        return " or ".join(_type(each) for each in arguments)
    if origin is typing.Literal:
        return ", ".join(f'"{each}"' for each in arguments)
    if origin is tuple:
        return f"list of {_type(arguments[0])}" if arguments[-1] is Ellipsis else ", ".join(map(_type, arguments))
    if arguments:
        return "object" if len(arguments) > 1 or origin is Counter else f"list of {_type(arguments[0])}"
    known = {str: "text", int: "integer", float: "number", bool: "boolean"}
    return known.get(hint, getattr(hint, "__name__", str(hint)))  # type: ignore[call-overload,no-any-return]


def _example(name: str) -> list[str]:
    payload = json.loads((GOLDEN / name).read_text(encoding="utf-8"))
    shown = payload[0] if isinstance(payload, list) else payload
    return ["```json", json.dumps(shown, indent=2, ensure_ascii=False), "```", ""]


def _load(path: str) -> type:
    module, _, name = path.rpartition(".")
    loaded = getattr(importlib.import_module(module), name)
    assert isinstance(loaded, type)
    return loaded


def _prose(text: str) -> str:
    return inspect.cleandoc(text).replace("\b\n", "").replace("*", "\\*").replace("<", "\\<")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "\\<")


if __name__ == "__main__":
    click.echo(json.dumps(names_on_the_wire(), indent=1))
