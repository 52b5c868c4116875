"""Help of a verb with its options in named groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click


class GroupedCommand(click.Command):
    """A command whose help lists options by group; options without a group come last."""

    def __init__(self, *args: Any, groups: Mapping[str, Sequence[str]], **kwargs: Any) -> None:  # noqa: ANN401
        """Keep the groups: title -> parameter names."""
        super().__init__(*args, **kwargs)
        self._groups = groups

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one section per group."""
        records = {
            str(parameter.name): record
            for parameter in self.get_params(ctx)
            if (record := parameter.get_help_record(ctx)) is not None
        }
        for title, names in self._groups.items():
            if found := [records.pop(name) for name in names if name in records]:
                with formatter.section(title):
                    formatter.write_dl(found)
        if records:
            with formatter.section("Other options"):
                formatter.write_dl(list(records.values()))
