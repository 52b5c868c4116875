"""The `[llm.*]` tables of `fieldmark.toml` and their environment variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.common.language_models import key_of
from cli.common.settings import resolve
from data.errors import ConfigError, MissingRequirement
from kb.endpoints.endpoint import Endpoint, Prices

FILE = """
contact = "me@example.org"
[llm.text]
model = "small"
base_url = "http://127.0.0.1:8000/v1"
api_key_env = "MY_KEY"
price_in = 0.15
price_out = 1
max_concurrent = 4
[llm.search]
model = "sonar"
price_per_request = 0.005
"""


def settings_of(folder: Path, text: str, **environment: str) -> dict[str, Endpoint]:
    (folder / "fieldmark.toml").write_text(text)
    return dict(resolve({}, environment=environment, folder=folder).llm)


def test_an_llm_table_is_read_as_an_endpoint(tmp_path: Path) -> None:
    found = settings_of(tmp_path, FILE)
    assert found["text"] == Endpoint(
        model="small",
        base_url="http://127.0.0.1:8000/v1",
        api_key_env="MY_KEY",
        price_in=0.15,
        price_out=1.0,
        max_concurrent=4,
    )
    assert found["text"].prices == Prices(per_million_in=0.15, per_million_out=1.0)
    assert (found["text"].name, found["text"].address) == ("small@127.0.0.1", "small@127.0.0.1:8000")
    assert found["search"].prices is None
    assert sorted(found) == ["search", "text"]


def test_environment_variables_override_file_keys_or_replace_the_file(tmp_path: Path) -> None:
    found = settings_of(
        tmp_path, FILE, FIELDMARK_LLM_TEXT_MODEL="large", FIELDMARK_LLM_TEXT_MAX_CONCURRENT="9",
        FIELDMARK_LLM_VISION_MODEL="eye",
    )  # fmt: skip
    assert (found["text"].model, found["text"].max_concurrent, found["text"].price_in) == ("large", 9, 0.15)
    assert found["vision"].model == "eye"


@pytest.mark.parametrize(
    ("text", "complaint", "hint"),
    [
        (
            "[llm.txt]\nmodel = 'm'",
            r'Unknown setting "llm\.txt\.model" in .*fieldmark\.toml',
            'Did you mean "llm.text.model"?',
        ),
        ("[llm.text]\nmodle = 'm'", r'Unknown setting "llm\.text\.modle" in', 'Did you mean "llm.text.model"?'),
        ("[llm.text]\napi_key = 'sk-1'", r"API keys are not stored in settings", "api_key_env"),
        ("[llm.text]\nbase_url = 'http://x/v1'", r"The table \[llm\.text\] has no model", ""),
        ("[llm.text]\nmodel = 3", r'"llm\.text\.model" in .*: expected text', ""),
        ("[llm.text]\nmodel = 'm'\nprice_in = 'much'", r'price_in" in .*: expected a number', ""),
        ("[llm.text]\nmodel = 'm'\nmax_concurrent = 1.5", r'max_concurrent" in .*: expected a whole number', ""),
        ("[llm.text]\nmodel = 'm'\nprice_in = true", r'price_in" in .*: expected a number', ""),
        ("[llm.text]\nmodel = 'm'\nprice_in = -1", r"\[llm\.text\]: price_in: expected US dollars", ""),
        ("[llm.text]\nmodel = 'm'\nbase_url = 'https://k:sk-1@x/v1'", r"\[llm\.text\]: base_url: expected", "api_key"),
        ("[llm.text]\nmodel = 'm'\njson = 'yes'", r'json" in .*: expected one of schema, object, text', ""),
        ("llm = 'gpt'", r'Unknown setting "llm" in', ""),
    ],
)
def test_an_invalid_llm_table_fails_without_showing_the_api_key(
    tmp_path: Path, text: str, complaint: str, hint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint) as caught:
        settings_of(tmp_path, text)
    assert hint in (caught.value.hint or "")
    assert "sk-1" not in f"{caught.value} {caught.value.hint}"


def test_an_unknown_llm_variable_fails_with_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='Unknown setting "FIELDMARK_LLM_TXT_MODEL"') as caught:
        settings_of(tmp_path, "", FIELDMARK_LLM_TXT_MODEL="x")
    assert caught.value.hint == 'Did you mean "FIELDMARK_LLM_TEXT_MODEL"?'


def test_the_api_key_is_read_from_the_named_variable() -> None:
    named = Endpoint(model="m", api_key_env="MY_KEY")
    assert key_of(named, {"MY_KEY": " sk-1 "}, kind="text") == "sk-1"
    assert key_of(Endpoint(model="m"), {"OPENAI_API_KEY": "sk-1"}, kind="text") == ""
    with pytest.raises(MissingRequirement, match=r"\[llm\.text\] is read from MY_KEY, which is not set"):
        key_of(named, {}, kind="text")


@pytest.mark.parametrize("key", ["“sk-secret”", "sk-sec ret", "sk-secret…", "sk-\nsecret"])
def test_an_api_key_with_invalid_characters_is_refused(key: str) -> None:
    with pytest.raises(MissingRequirement, match=r"MY_KEY of \[llm\.text\] contains spaces or characters") as caught:
        key_of(Endpoint(model="m", api_key_env="MY_KEY"), {"MY_KEY": key}, kind="text")
    assert "sec" not in f"{caught.value} {caught.value.hint}"
