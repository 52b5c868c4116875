"""Settings: order of precedence, types, endpoints, and errors that name source, value and nearest key."""

from pathlib import Path
from typing import Any

import pytest

from cli.common.language_models import key_of
from cli.common.settings import (
    hint_of,
    of_table,
    read_values,
    resolve,
    set_keys,
    type_in_words,
)
from data.errors import ConfigError, MissingRequirement
from kb.endpoints.endpoint import Endpoint
from recognize.settings import IdentifySettings
from rerank.settings import DecomposeSettings


def write(folder: Path, text: str) -> Path:
    (folder / "fieldmark.toml").write_text(text, encoding="utf-8")
    return folder


def test_a_flag_beats_set_settings_file_environment_project_file_and_default(tmp_path: Path) -> None:
    write(tmp_path, 'language = "of the project"\n[identify]\nplace_odds = 2\n')
    (tmp_path / "run.toml").write_text('language = "of the run"\n[identify]\nplace_odds = 3\n')
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    layers: dict[str, Any] = {}

    def found(flag: Any = None) -> tuple[str | None, float]:
        values = read_values(**{"environment": {}, "folder": tmp_path / "nowhere", **layers})
        language = resolve({"language": flag}, values).language
        own = of_table("identify", IdentifySettings(place_odds=1.5), values, {"place_odds": flag and 9})
        return language, own.place_odds

    assert (resolve().language, of_table("identify", IdentifySettings(place_odds=1.5), {}).place_odds) == (None, 1.5)
    layers["folder"] = below
    assert found() == ("of the project", 2)
    layers["environment"] = {"FIELDMARK_LANGUAGE": "of the environment", "FIELDMARK_KB": "", "FIELDMARK_TEST_WIKI": "x"}
    assert found() == ("of the environment", 2)
    layers["file"] = tmp_path / "run.toml"
    assert found() == ("of the run", 3)
    layers["sets"] = {"language": "of --set", "identify.place_odds": "4"}
    assert found() == ("of --set", 4)
    assert found("of the flag") == ("of the flag", 9)


def test_paths_are_relative_to_their_file_and_those_of_flags_to_the_working_folder(tmp_path: Path) -> None:
    write(tmp_path, 'kb = "birds.kb"\nprompts = "~/prompts"\n[rerank]\nfirst_stage = "first.trec"')
    values = read_values(environment={}, folder=tmp_path)
    found = resolve({}, values)
    assert (found.kb, found.prompts) == (tmp_path / "birds.kb", Path.home() / "prompts")
    assert resolve({"kb": Path("x.kb")}, values).kb == Path("x.kb")
    assert values["rerank.first_stage"] == tmp_path / "first.trec"


def test_texts_are_parsed_by_the_type_of_the_field(tmp_path: Path) -> None:
    texts = {
        "identify.reader_candidates": ("3", 3), "identify.unknown_prior": ("none", None), "keep_names": ("true", True),
        "identify.progress": ("jsonl", "jsonl"), "context.order": ("web, kb,wiki", ("web", "kb", "wiki")),
        "identify.place_odds": ("1", 1.0), "contact": ("none", None),
        "llm.text.extra_body": ('{"top_k": 9}', {"top_k": 9}),
    }  # fmt: skip
    values = read_values(environment={}, folder=tmp_path, sets={key: text for key, (text, _) in texts.items()})
    assert values == {key: value for key, (_, value) in texts.items()}
    assert type(values["identify.place_odds"]) is float


def test_set_takes_keys_with_and_without_the_verb_and_borrowed_ones() -> None:
    assert set_keys("rerank")["decompose.chain"] == "rerank.decompose.chain"
    borrowed = set_keys("find")
    assert borrowed["visret.images"] == borrowed["rerank.visret.images"] == "rerank.visret.images"
    assert "decompose.chain" not in borrowed and borrowed["llm.text.model"] == "llm.text.model"


@pytest.mark.parametrize(
    ("text", "error", "hint"),
    [
        ('contcat = "x"', r'Unknown setting "contcat" in .*fieldmark\.toml', 'Did you mean "contact"?'),
        ("[identify]\nqqqqqqqq = 1", r"identify\.qqqqqqqq", "Known: identify.burst_seconds, "),
        ("[foo]\nfoo = 1", "Unknown", "Known tables: [context], [llm.text], "),
        ("profile = 3", "expected text, got 3", ""),
        ('licences = "all"', "\"licences\" in .*: expected one of free, any, got 'all'", ""),
        ("profile = ", "is not TOML", ""),
        ("[identify]\nunknown_prior = 1.0", "a number above 0 and below 1, got 1.0", ""),
        ("[rerank.decompose]\nmax_unscored = 2.0", r"\[rerank\.decompose\]: ", ""),
        ("[llm.txt]\nmodel = 'm'", r'Unknown setting "llm\.txt\.model"', 'Did you mean "llm.text.model"?'),
        ("[llm.text]\napi_key = 'sk-1'", "API keys are not stored in settings", "api_key_env"),
        ("[llm.text]\nbase_url = 'http://x/v1'", r"The table \[llm\.text\] has no model", "Add model = "),
        ("[llm.text]\nmodel = 'm'\nprice_in = 'sk-1'", r'price_in" in .*: expected a number from 0\.', ""),
        ("[llm.text]\nmodel = 'm'\nbase_url = 'https://k:sk-1@x/v1'", r"\[llm\.text\]: base_url: expected", "api_key"),
    ],
)
def test_an_invalid_file_fails_with_its_source_and_the_expected_value(
    tmp_path: Path, text: str, error: str, hint: str
) -> None:
    write(tmp_path, text)
    with pytest.raises(ConfigError, match=error) as caught:
        values = read_values(environment={}, folder=tmp_path)
        resolve({}, values)
        of_table("rerank.decompose", DecomposeSettings(), values)
    assert hint in (caught.value.hint or "")
    assert "sk-1" not in f"{caught.value} {caught.value.hint}"
    assert caught.value.exit_code == 2


def test_an_invalid_environment_variable_is_named_with_the_nearest_one(tmp_path: Path) -> None:
    for variable, text, error, hint in (
        ("FIELDMARK_CONTCAT", "x", 'Unknown setting "FIELDMARK_CONTCAT" in the environment.', "FIELDMARK_CONTACT"),
        ("FIELDMARK_PAGE_PAUSE_S", "-1", "in the environment (FIELDMARK_PAGE_PAUSE_S): expected a number from 0", ""),
        ("FIELDMARK_LLM_TEXT_EXTRA_BODY", "top_k=9", "expected a table; as text, a JSON object.", ""),
    ):
        with pytest.raises(ConfigError) as caught:
            read_values(environment={variable: text}, folder=tmp_path)
        assert error in str(caught.value)
        assert caught.value.hint == (f'Did you mean "{hint}"?' if hint else None)


def test_an_invalid_set_is_a_usage_error(cli: Any) -> None:
    for pair, message in (
        ("contcat=x", 'Unknown setting "contcat" in --set.\nhint: Did you mean "contact"?'),
        ("place_odds", 'Expected --set KEY=VALUE, got "place_odds".'),
        ("place_odds=0.9", "Setting \"identify.place_odds\" in --set: expected a number from 1, got '0.9'."),
        ("identify.burst_seconds=inf", "expected a number from 0, got 'inf'"),
        ("reader_candidates=27", "expected a whole number from 1 to 26, got '27'"),
    ):
        outcome = cli.call("identify", "a.jpg", "--set", pair)
        assert (outcome.exit_code, message in outcome.stderr) == (2, True), outcome.stderr


def test_help_lists_the_settings_of_the_command(cli: Any) -> None:
    words = " ".join(cli.call("rerank", "--help", check=True).stdout.split())
    assert "Settings: first_stage, within_subset, decompose.direct, " in words


def test_a_table_of_a_model_is_an_endpoint_and_the_environment_changes_it(tmp_path: Path) -> None:
    def models(**layers: Any) -> Any:
        return resolve({}, read_values(**{"environment": {}, "folder": tmp_path, **layers})).llm

    write(
        tmp_path,
        '[llm.text]\nmodel = "small"\nbase_url = "http://127.0.0.1:8000/v1"\napi_key_env = "MY_KEY"\nprice_in = 0.15\n'
        "price_out = 1\nmax_concurrent = 4\nextra_body = {a = {b = false}, top_k = 5}\n"
        '[llm.search]\nmodel = "sonar"\nprice_per_request = 0.005',
    )
    found = models()
    assert found["text"] == Endpoint(
        model="small", base_url="http://127.0.0.1:8000/v1", api_key_env="MY_KEY", price_in=0.15, price_out=1.0,
        max_concurrent=4, extra_body={"a": {"b": False}, "top_k": 5},
    )  # fmt: skip
    assert sorted(found) == ["search", "text"] and found["search"].cost_usd(1, 1) is None
    given = {"FIELDMARK_LLM_TEXT_MODEL": "large", "FIELDMARK_LLM_TEXT_MAX_CONCURRENT": "9"}
    changed = models(environment={**given, "FIELDMARK_LLM_VISION_MODEL": "eye"})
    assert (changed["text"].model, changed["text"].max_concurrent, changed["text"].price_in) == ("large", 9, 0.15)
    assert changed["vision"].model == "eye"
    assert models(sets={"llm.text.price_in": "2"})["text"].price_in == 2


def test_the_api_key_is_read_from_the_named_variable_and_never_shown() -> None:
    named = Endpoint(model="m", api_key_env="MY_KEY")
    assert key_of(named, {"MY_KEY": " sk-1 "}, kind="text") == "sk-1"
    assert key_of(Endpoint(model="m"), {"OPENAI_API_KEY": "sk-1"}, kind="text") == ""
    with pytest.raises(MissingRequirement, match=r"\[llm\.text\] is read from MY_KEY, which is not set"):
        key_of(named, {}, kind="text")
    for key in ("“sk-secret”", "sk-sec ret"):
        with pytest.raises(MissingRequirement, match=r"MY_KEY of \[llm\.text\] contains spaces or charac") as caught:
            key_of(named, {"MY_KEY": key}, kind="text")
        assert "sec" not in f"{caught.value} {caught.value.hint}"


def test_types_are_put_in_words() -> None:
    assert type_in_words(tuple[float, ...]) == "a list, each a number"
    assert type_in_words(Path | None) == "a path"
    assert type_in_words(hint_of("page_pause_s")) == "a number from 0"
