"""The command `kb`: verbs, which are loaded when they are called, and exit codes of errors."""

from __future__ import annotations

import errno
import importlib
import io
import keyword
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn, get_args

import click

from cli.common import exit_codes, options, output
from cli.common.settings import Invocation, hint_of
from data.errors import FieldmarkError, did_you_mean

VERBS: Final = {
    "demo": "Build a small knowledge base and identify birds with it.",
    "build": "Build a knowledge base from a wiki or a folder of articles.",
    "update": "Fetch what changed in the wiki: texts, pages and photos.",
    "add": "Add a species, a term, texts and photos, or web pages.",
    "remove": "Remove species and terms, with their texts and photos.",
    "export": "Write a knowledge base as Parquet tables and images.",
    "import": "Make a knowledge base from a folder that kb export wrote.",
    "identify": "Identify the species in photos.",
    "learn": "Learn from the birds that you confirmed or corrected.",
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
    "serve": "Open a page to identify photos, with an HTTP API.",
    "eval": "Measure results, with intervals and paired tests.",
    "doctor": "Check the installation and the models of the settings.",
    "bench": "Measure speed on this machine.",
}
"""Verb -> its line in `kb --help`, and its short help, in the order in which a user meets them: the list loads no verb.

The module `cli.verbs.VERB` holds a click command of the verb's name.
"""


class CommandGroup(click.Group):
    """The group of all verbs; `--help` of one imports that one alone, and that of the group none."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order in which a user meets them."""
        return list(VERBS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line for each verb."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the verb's command with the options that all verbs have, or None for an unknown verb."""
        if cmd_name not in VERBS:
            return None
        command = _command_of(cmd_name)
        command.short_help = VERBS[cmd_name]
        return with_shared_options(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command in `args`; an unknown one fails with the nearest verb."""
        names = self.list_commands(ctx)
        if args and args[0] not in names and not args[0].startswith("-"):
            near = did_you_mean(args[0], names)
            ctx.fail(f'Unknown command "{args[0]}".' + (f" {near}" if near.startswith("Did") else ""))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401  # click's own signature
        """Run the verb and flush its output, so that a closed pipe is noticed here and not at exit."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # The interpreter flushes stdout once more at exit, and would complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(exit_codes.BROKEN_PIPE)
        return result

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,  # noqa: ANN401  # click's own signature
    ) -> NoReturn:
        """Run `kb` and exit with the code of the error; each becomes two lines on stderr."""
        invocation = Invocation(arguments=[*map(str, sys.argv[1:] if args is None else args)])
        try:
            with output.log_to_stderr():
                code = super().main(
                    args, prog_name or "kb", complete_var, standalone_mode=False, obj=invocation, **extra
                )
            sys.exit(code if isinstance(code, int) else 0)
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            sys.exit(error.exit_code)
        except click.ClickException as error:
            usage = error.ctx.get_usage() if isinstance(error, click.UsageError) and error.ctx else None
            output.fail(error.format_message(), usage and f"{usage.removeprefix('Usage: ')} (more with --help)")
            sys.exit(error.exit_code)
        except (click.Abort, KeyboardInterrupt):
            output.fail("Stopped.", "Finished work is kept; run the same command again to resume.")
            sys.exit(exit_codes.INTERRUPTED)
        except FieldmarkError as error:
            _print_traceback(invocation)
            output.fail(str(error), error.hint)
            sys.exit(error.exit_code)
        except OSError as error:
            _print_traceback(invocation)
            output.fail(f"{error.strerror or error}: {error.filename}" if error.filename else str(error), _hint(error))
            sys.exit(3)
        except Exception as error:
            _print_traceback(invocation)
            output.fail(f"{type(error).__name__}: {error}", "This is a bug in Fieldmark; --debug shows the traceback.")
            sys.exit(exit_codes.DEFECT)


def with_shared_options(command: click.Command) -> click.Command:
    """Add the options that all verbs have to a command, and to the commands of a group, unless they have them."""
    for each in (command, *(command.commands.values() if isinstance(command, click.Group) else ())):
        known = {parameter.name for parameter in each.params}
        own = [] if isinstance(each, click.Group) else _settings_options()
        each.params.extend(option for option in (*own, *_common_options()) if option.name not in known)
    return command


def _command_of(verb: str) -> click.Command:
    """Return the click command of a verb, loaded now. Its module has "_" for "-", and `import_` for a keyword."""
    name = f"{verb}_" if keyword.iskeyword(verb) else verb.replace("-", "_")
    module = importlib.import_module(f"cli.verbs.{name}")
    if not hasattr(module, name):
        module = importlib.import_module(f"cli.verbs.{name}.command")
    command: click.Command = getattr(module, name)
    return command


def _hint(error: OSError) -> str | None:
    """Return the remedy for a full disk, such as the one stdout is redirected to, or one that cannot be written."""
    from pathlib import Path

    from data.files import MAKE_ROOM, hint_to_allow_writing

    if error.errno == errno.ENOSPC:
        return MAKE_ROOM
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM) and isinstance(error.filename, str):
        return hint_to_allow_writing(Path(error.filename), "Allow access, or use another folder.")
    return None


def _print_traceback(invocation: Invocation) -> None:
    if invocation.debug:
        import traceback

        click.echo(output.printable(traceback.format_exc()), err=True)


def _store(ctx: click.Context, parameter: click.Parameter, value: object) -> None:
    if value:
        setattr(ctx.ensure_object(Invocation), str(parameter.name), value)


def _common_options() -> list[click.Option]:
    texts = {("-q", "--quiet"): "No progress on stderr.", ("--debug",): "Show tracebacks."}
    log = click.Option(
        ["--log-level"], type=click.Choice(get_args(hint_of("log"))), expose_value=False, callback=_set_log_level,
        help="Least level of the log on stderr; info shows requests and waits.  [default: FIELDMARK_LOG, else warning]",
    )  # fmt: skip
    flags = (
        click.Option(names, is_flag=True, expose_value=False, callback=_store, help=text)
        for names, text in texts.items()
    )
    return [*flags, log]


def _settings_options() -> list[click.Option]:
    return [
        options.SetOption(
            ["--set"], multiple=True, expose_value=False, callback=options.read_set, metavar="KEY=VALUE",
            help="Change a setting for this run; may be repeated.",
        ),
        click.Option(
            ["--settings"], type=options.FILE, expose_value=False, callback=_store, metavar="FILE",
            help="Settings of this run, a TOML file; wins over fieldmark.toml and the environment.",
        ),
        click.Option(
            ["--language"], expose_value=False, callback=_set_language, metavar="CODE",
            help="Language of the names that come first, and of the Wikipedia to read: de.  "
            "[default: that of the knowledge base, else en]",
        ),
    ]  # fmt: skip


def _set_log_level(ctx: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    """Put the level into the settings of this run, over `--set log`."""
    if value is not None:
        ctx.ensure_object(Invocation).set["log"] = value


def _set_language(ctx: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    """Put the language into the settings of this run, over `--set language`."""
    if value is None:
        return
    code = value.strip().lower().replace("_", "-")
    if not re.fullmatch(r"[a-z]{2,3}(?:-[a-z]+)*", code):
        raise click.BadParameter(f"expected the code of a language, such as de or pt, got {value!r}.")
    ctx.ensure_object(Invocation).set["language"] = code


def _show_version(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        from fieldmark import fieldmark_version

        click.echo(f"kb, fieldmark {fieldmark_version(otherwise='(not installed)')}")
        ctx.exit()


commands = CommandGroup(
    name="kb",
    help="Build a knowledge base of species from Wikipedia and the web, and identify the species in photos.",
    epilog="Exit codes: 0 done, 1 findings, 2 usage, 3 something needed is missing, 5 bad input, 6 a provider failed, "
    "7 done in part. Settings: flag > --set > --settings FILE > FIELDMARK_* > fieldmark.toml > default.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    params=[
        click.Option(["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_show_version,
                     help="Show the version."),
        *_common_options(),
    ],
)  # fmt: skip


def main() -> NoReturn:
    """Run `kb` with the arguments of this process; the entry point of the console script."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="surrogateescape")  # file names that are not UTF-8 are printed unchanged
    try:
        commands.main()
    except SystemExit as ended:
        if ended.code != exit_codes.INTERRUPTED:
            raise
        # The interpreter would wait for threads that wait for a slow wiki. What a kill leaves is safe, and so is this.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(exit_codes.INTERRUPTED)


if __name__ == "__main__":
    main()
