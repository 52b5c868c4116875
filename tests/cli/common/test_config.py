"""Settings: sources, order of precedence, and errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.common.settings import resolve
from data.errors import ConfigError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "fieldmark.toml").write_text('contact = "of the file"\nkb = "birds.kb"\n')
    return tmp_path


def test_precedence_is_flag_environment_file_default(folder: Path) -> None:
    environment = {"FIELDMARK_CONTACT": "of the environment"}
    assert resolve({"contact": "of the flag"}, environment=environment, folder=folder).contact == "of the flag"
    assert resolve({"contact": None}, environment=environment, folder=folder).contact == "of the environment"
    assert resolve({}, environment={}, folder=folder).contact == "of the file"
    assert resolve({}, environment={}, folder=folder).licences == "free"


def test_paths_in_the_settings_file_are_relative_to_it(folder: Path) -> None:
    below = folder / "a" / "b"
    below.mkdir(parents=True)
    assert resolve({}, environment={}, folder=below).kb == folder / "birds.kb"


def test_a_flag_path_is_relative_to_the_working_folder(folder: Path) -> None:
    assert resolve({"kb": Path("x.kb")}, environment={}, folder=folder).kb == Path("x.kb")


def test_an_unknown_file_key_fails_with_a_suggestion(tmp_path: Path) -> None:
    (tmp_path / "fieldmark.toml").write_text('contcat = "x"\n')
    with pytest.raises(ConfigError, match=r'Unknown setting "contcat" in .*fieldmark\.toml') as error:
        resolve({}, environment={}, folder=tmp_path)
    assert error.value.hint == 'Did you mean "contact"?'
    assert error.value.exit_code == 2


@pytest.mark.parametrize(
    ("content", "start", "absent"),
    [
        ("foo = 1", "Known: kb, api_url, contact, ", "."),
        ("[identify]\nqqqqqqqq = 1", "Known: identify.burst_seconds, ", "rerank"),
        ("[foo]\nfoo = 1", "Known tables: [context], [llm.text], ", "model"),
        ("[ident]\nreader_candidates = 1", 'Did you mean "identify.reader_candidates"?', "Known"),
    ],
)
def test_the_hint_to_an_unknown_file_key_is_short(tmp_path: Path, content: str, start: str, absent: str) -> None:
    (tmp_path / "fieldmark.toml").write_text(content)
    with pytest.raises(ConfigError) as error:
        resolve({}, environment={}, folder=tmp_path)
    hint = str(error.value.hint)
    assert hint.startswith(start)
    assert absent not in hint.removesuffix(".")


def test_an_unknown_environment_variable_fails_with_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='Unknown setting "FIELDMARK_CONTCAT"') as error:
        resolve({}, environment={"FIELDMARK_CONTCAT": "x"}, folder=tmp_path)
    assert error.value.hint == 'Did you mean "FIELDMARK_CONTACT"?'


def test_test_variables_and_empty_variables_are_ignored(tmp_path: Path) -> None:
    environment = {"FIELDMARK_SHARED": "x", "FIELDMARK_TEST_WIKI": "y", "FIELDMARK_KB": ""}
    assert resolve({}, environment=environment, folder=tmp_path).kb is None


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("profile = 3", '"profile" in .* expected one of starter, general, paper, best, .*, got 3'),
        ('licences = "all"', "\"licences\" in .* expected one of free, any, got 'all'"),
        ('profile = "grand"', "\"profile\" in .* expected one of starter, general, paper, best, .*, got 'grand'"),
        ("profile = ", "is not TOML"),
    ],
)
def test_an_invalid_value_fails_and_lists_the_expected_values(tmp_path: Path, line: str, complaint: str) -> None:
    (tmp_path / "fieldmark.toml").write_text(line)
    with pytest.raises(ConfigError, match=complaint):
        resolve({}, environment={}, folder=tmp_path)


TABLES = """[llm.vision]
model = "m"
max_tokens = 8192
reasoning_effort = "low"
system_role = "user"
timeout = 300
extra_body = {chat_template_kwargs = {enable_thinking = false}, top_k = 5}
"""


def test_a_model_takes_fields_of_its_server_as_a_table_or_as_json(tmp_path: Path) -> None:
    (tmp_path / "fieldmark.toml").write_text(TABLES)
    model = resolve({}, environment={}, folder=tmp_path).llm["vision"]
    assert model.extra_body == {"chat_template_kwargs": {"enable_thinking": False}, "top_k": 5}
    assert (model.max_tokens, model.reasoning_effort, model.system_role, model.timeout) == (8192, "low", "user", 300)
    given = {"FIELDMARK_LLM_VISION_EXTRA_BODY": '{"top_k": 9}'}
    assert resolve({}, environment=given, folder=tmp_path).llm["vision"].extra_body == {"top_k": 9}
    with pytest.raises(ConfigError, match="expected a table; as text, a JSON object"):
        resolve({}, environment={"FIELDMARK_LLM_VISION_EXTRA_BODY": "top_k=9"}, folder=tmp_path)
    (tmp_path / "fieldmark.toml").write_text(TABLES.replace("top_k = 5", "messages = 5"))
    with pytest.raises(ConfigError, match=r"\[llm.vision\]: extra_body: messages cannot be set there"):
        resolve({}, environment={}, folder=tmp_path)
