from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.conftest import built_kb, drawn_knowledge, toy_paper_profile
from tests.cli.verbs.feedback.conftest import coloured, kept_home, own_home, plain_encoders
from tests.cli.verbs.rerank.conftest import birds
from tests.conftest import CommandLine, Outcome

__all__ = [
    "birds",
    "built_kb",
    "coloured",
    "drawn_knowledge",
    "kept_home",
    "own_home",
    "plain_encoders",
    "toy_paper_profile",
]


@pytest.fixture
def papers(cli: CommandLine) -> Callable[..., Outcome]:
    """Return a function that runs `python -m papers`; with `check`, a nonzero exit code fails the test."""
    from papers.__main__ import commands

    def run(*arguments: str | Path, check: bool = False) -> Outcome:
        result = CliRunner().invoke(commands, [str(argument) for argument in arguments], prog_name="papers")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == 0 or not check, f"{arguments}: {result.stdout}{result.stderr}"
        return Outcome(exit_code=result.exit_code, stdout=result.stdout, stderr=result.stderr)

    return run
