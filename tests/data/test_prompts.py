import shutil
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest

import kb.distill.prompts
import rerank.prompting
from data.errors import ConfigError
from data.prompts import Prompts

READERS: dict[str, tuple[Callable[[Path | None], Prompts], dict[str, tuple[str, ...]]]] = {
    "kb": (kb.distill.prompts.DistilPrompts, kb.distill.prompts.PLACEHOLDERS),
    "rerank": (rerank.prompting.Prompts, rerank.prompting.PLACEHOLDERS),
}


def test_every_prompt_file_is_known_and_can_be_filled() -> None:
    for package, (reader, placeholders) in READERS.items():
        there = {path.name for path in files(package).joinpath("prompts").iterdir() if path.name.endswith(".md")}
        assert there == {f"{name}.md" for name in placeholders}
        prompts = reader(None)
        for name, known in placeholders.items():
            filled = prompts.fill(name, **{key: f"<<{key}>>" for key in known})
            # Each shipped prompt uses one of its variables, if it has any.
            assert any(f"<<{key}>>" in filled for key in known) == bool(known), name


def test_a_custom_prompt_is_used_and_changes_only_its_own_digest(tmp_path: Path) -> None:
    (tmp_path / "direct.md").write_text("$question For $$1?\n")
    ours, theirs = rerank.prompting.Prompts(), rerank.prompting.Prompts(tmp_path)
    assert theirs.fill("direct", context="", question="A wren?") == "A wren? For $1?"
    assert theirs.digest("direct") != ours.digest("direct")
    assert theirs.digest("question") == ours.digest("question")


def test_invalid_prompts_are_refused_on_reading(tmp_path: Path) -> None:
    folder = tmp_path / "prompts"
    for reader, placeholders in READERS.values():
        first = f"{next(iter(placeholders))}.md"
        for name, content, why in (
            (None, b"", "No folder of prompts"),
            ("notes.txt", b"x", "contains no prompt"),
            ("derict.md", b"x", "Unknown prompt"),
            (first, b"$nobody", "contains an unknown placeholder"),
            (first, b"5 $ a day", "contains an unknown placeholder"),
            (first, b"\xff", "contains an unknown placeholder"),
        ):
            shutil.rmtree(folder, ignore_errors=True)
            if name is not None:
                folder.mkdir()
                (folder / name).write_bytes(content)
            with pytest.raises(ConfigError, match=why):
                reader(folder)
