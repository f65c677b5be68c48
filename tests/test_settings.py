"""The layers of settings, which settings each may set, and how a wrong value is handled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from sidecar.errors import ConfigInvalid
from sidecar.settings.declare import DECLARATIONS, INDEX_CONFIG_KEYS
from sidecar.settings.load import (
    SET_IN_EDITOR,
    Settings,
    data_home,
    default_config_text,
    load_settings,
    user_config_file,
)

NONE: Mapping[str, str] = {}


def written(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def load(
    config: Path | None = None,
    user: Path | None = None,
    env: Mapping[str, str] = NONE,
    editor: Mapping[str, object] = NONE,
    flags: Mapping[str, object] = NONE,
) -> Settings:
    return load_settings(config, user, env, editor, flags)


def test_without_any_layer_the_declared_defaults_hold() -> None:
    settings = load()
    assert settings == Settings()
    assert settings.max_file_size == 1024 * 1024
    assert set(settings.origins.values()) == {"default"}
    declared = {d.attribute: d.default for d in DECLARATIONS if d.kind != "size"}
    assert {name: getattr(settings, name) for name in declared} == declared


def test_each_layer_overrides_the_one_below_and_origins_say_which(tmp_path: Path) -> None:
    user = written(tmp_path / "user.json", {"maxFiles": 1, "indexDocs": False, "device": "cpu", "threads": 1})
    config = written(tmp_path / "config.json", {"maxFiles": 2, "device": "cuda", "threads": 2})
    settings = load(
        config,
        user,
        {"SIDECAR_MAX_FILES": "3", "SIDECAR_THREADS": "3"},
        {"maxFiles": 4},
        {"maxFiles": 5, "model": None},
    )
    assert (settings.max_files, settings.threads, settings.device, settings.index_docs) == (5, 3, "cuda", False)
    wanted = {"maxFiles": "flag", "threads": "environment", "device": "index config", "indexDocs": "user file"}
    assert {key: settings.origins[key] for key in wanted} == wanted
    assert settings.origins["model"] == "default"
    assert settings.problems == ()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("indexingStrategy", "sometimes"),
        ("maxFileSize", "1 gigabyte"),
        ("maxFileSize", 1000),
        ("maxFileSize", "0KB"),
        ("maxFileSize", "101MB"),
        ("maxFiles", True),
        ("maxFiles", 0),
        ("maxFiles", 1.5),
        ("include", "**/*.py"),
        ("include", []),
        ("exclude", [1]),
        ("exclude", ["a\0b"]),
        ("respectGitignore", "true"),
        ("indexDocs", None),
        ("hybridSearch", True),
        ("hybridSearch.defaultAlpha", 1.1),
        ("hybridSearch.defaultAlpha", float("nan")),
        ("threads", -1),
    ],
)
def test_a_wrong_value_names_key_value_and_allowed_values_and_loses_nothing_else(
    tmp_path: Path, key: str, value: object
) -> None:
    user = written(tmp_path / "user.json", {"device": "cpu"})
    config = written(tmp_path / "config.json", {"chunkingStrategy": "character", key: value, "docPatterns": ["*.rst"]})
    settings = load(config, user)
    assert (settings.chunking_strategy, settings.doc_patterns, settings.device) == ("character", ("*.rst",), "cpu")
    assert settings.origins.get(key, "default") == "default"
    (problem,) = settings.problems
    assert key in problem
    assert json.dumps(value) in problem
    assert "allowed:" in problem
    assert str(config) in problem


def test_a_default_in_the_index_config_overrides_nothing(tmp_path: Path) -> None:
    user = written(tmp_path / "user.json", {"maxFiles": 9, "hybridSearch": {"enabled": False}})
    config = written(tmp_path / "config.json", default_config_text())
    settings = load(config, user)
    assert (settings.max_files, settings.hybrid_enabled) == (9, False)
    assert settings.origins["maxFiles"] == "user file"
    assert load(config, user, editor={"maxFiles": 50_000}).max_files == 50_000


def test_a_wrong_value_leaves_the_value_of_the_layer_below(tmp_path: Path) -> None:
    config = written(tmp_path / "config.json", {"maxFiles": 7})
    settings = load(config, env={"SIDECAR_MAX_FILES": "many"})
    assert settings.max_files == 7
    assert settings.origins["maxFiles"] == "index config"
    assert "many" in settings.problems[0]


def test_an_unknown_key_is_reported_with_the_nearest_known_one_and_notes_are_not(tmp_path: Path) -> None:
    config = written(
        tmp_path / "config.json",
        {
            "_comment": "x",
            "exlude": ["a"],
            "hybridSearch": {"_note": 1, "defaultAlpa": 0.3, "enabled": False, "ftsEngine": "js"},
            "zzz": 1,
        },
    )
    settings = load(config)
    assert settings.hybrid_enabled is False
    assert len(settings.problems) == 4
    assert "Did you mean exclude?" in settings.problems[0]
    assert "Did you mean hybridSearch.defaultAlpha?" in settings.problems[1]
    assert "Known keys: include" in settings.problems[2] or "Did you mean hybridSearch." in settings.problems[2]
    assert "Known keys: include" in settings.problems[3]


def test_malformed_json_is_reported_with_line_and_column_and_other_layers_still_count(tmp_path: Path) -> None:
    config = written(tmp_path / "config.json", '{\n  "maxFiles": 3,,\n}')
    user = written(tmp_path / "user.json", {"maxFiles": 9})
    settings = load(config, user)
    assert settings.max_files == 9
    (problem,) = settings.problems
    assert "line 2, column 17" in problem
    assert str(config) in problem


@pytest.mark.parametrize("content", ["[1]", "[" * 100_000, '{"maxFiles": ' + "1" * 5000 + "}", " " * 1_000_001])
def test_a_file_that_makes_no_sense_is_a_problem_and_never_a_crash(tmp_path: Path, content: str) -> None:
    settings = load(written(tmp_path / "config.json", content))
    assert settings.max_files == 200_000
    assert len(settings.problems) == 1


def test_a_file_that_is_not_text_or_a_folder_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00{")
    settings = load(tmp_path / "binary.json", tmp_path)
    assert len(settings.problems) == 2


def test_a_byte_order_mark_is_read_over(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(b'\xef\xbb\xbf{"maxFiles": 3}')
    assert load(tmp_path / "config.json").max_files == 3


def test_the_environment_writes_every_type_as_text() -> None:
    env = {
        "SIDECAR_INDEX_DOCS": "off",
        "SIDECAR_HYBRID_SEARCH_DEFAULT_ALPHA": "0.25",
        "SIDECAR_INCLUDE": "src/**/*.{ts,tsx}; lib/**",
        "SIDECAR_EXCLUDE": '["a;b"]',
        "SIDECAR_MAX_FILE_SIZE": "2mb",
        "SIDECAR_CONFIRM": "never",
    }
    settings = load(env=env)
    assert settings.problems == ()
    assert (settings.index_docs, settings.default_alpha, settings.confirm) == (False, 0.25, "never")
    assert settings.include == ("src/**/*.{ts,tsx}", "lib/**")
    assert settings.exclude == ("a;b",)
    assert settings.max_file_size == 2 * 1024 * 1024


def test_a_wrong_variable_that_an_editor_has_set_from_its_settings_is_said_of_the_setting() -> None:
    env = {
        "SIDECAR_IDLE_MINUTES": "soon",
        "SIDECAR_CONFIRM": "perhaps",
        SET_IN_EDITOR: "SIDECAR_MODEL,SIDECAR_IDLE_MINUTES",
    }
    idle, confirm = sorted(load_settings(None, None, env, {}, {}).problems, reverse=True)
    assert idle == 'idleMinutes in the editor\'s settings is "soon"; allowed: a whole number from 0 to 10080.'
    assert confirm.startswith('confirm in the environment (SIDECAR_CONFIRM) is "perhaps"; allowed:')


def test_a_misspelt_variable_is_reported_and_a_foreign_one_is_not() -> None:
    settings = load(env={"SIDECAR_MAX_FILE": "3", "SIDECAR_HOME": "/x", "SIDECAR_LOG": "1", "DEVICE": "cpu"})
    assert settings.problems == ('"SIDECAR_MAX_FILE" is not a setting; did you mean SIDECAR_MAX_FILES?',)


@pytest.mark.parametrize(("key", "value"), [("confirm", "never"), ("model", "./evil"), ("offline", False)])
def test_what_only_the_user_may_decide_is_refused_from_the_index_and_the_editor(
    tmp_path: Path, key: str, value: object
) -> None:
    config = written(tmp_path / "config.json", {key: value})
    settings = load(config, editor={key: value})
    assert settings.origins[key] == "default"
    assert len(settings.problems) == 2
    assert all(key in problem and "ignored" in problem for problem in settings.problems)
    assert load(user=config, flags={key: value}).origins[key] == "flag"


@pytest.mark.parametrize(
    ("user", "workspace", "counts"),
    [("auto", "always", "always"), ("never", "auto", "auto"), ("always", "never", "always"), ("auto", "never", "auto")],
)
def test_a_workspace_may_only_make_it_stricter_when_a_person_is_asked(
    tmp_path: Path, user: str, workspace: str, counts: str
) -> None:
    own = written(tmp_path / "user.json", {"confirm": user})
    config = written(tmp_path / "config.json", {"confirm": workspace})
    for settings in (load(config, user=own), load(user=own, editor={"confirm": workspace})):
        assert settings.confirm == counts
        assert bool(settings.problems) is (counts == user)
    assert load(config, env={"SIDECAR_CONFIRM": user}).confirm == counts


def test_editor_keys_may_be_nested_or_dotted() -> None:
    assert load(editor={"hybridSearch": {"enabled": False, "defaultAlpha": None}}).hybrid_enabled is False
    settings = load(editor={"hybridSearch.defaultAlpha": 1})
    assert settings.default_alpha == 1.0
    assert settings.problems == ()


def test_the_default_config_text_loads_back_as_the_defaults(tmp_path: Path) -> None:
    config = written(tmp_path / "config.json", default_config_text())
    settings = load(config)
    assert settings.problems == ()
    assert set(settings.origins.values()) == {"default"}
    assert {key.partition(".")[0] for key in INDEX_CONFIG_KEYS} <= json.loads(default_config_text()).keys()
    assert settings.as_config() == Settings().as_config()


def test_the_values_in_force_are_told_as_config_json_has_them(tmp_path: Path) -> None:
    config = written(tmp_path / "config.json", {"maxFileSize": "300KB", "hybridSearch": {"defaultAlpha": 0.7}})
    shown = load(config).as_config()
    assert shown["maxFileSize"] == "300KB"
    assert shown["hybridSearch"] == {"enabled": True, "defaultAlpha": 0.7}
    assert shown["include"] == ["**/*"]
    assert json.loads(json.dumps(shown)) == shown


def test_every_declaration_has_an_attribute_a_variable_of_its_own_and_a_description() -> None:
    assert {d.attribute for d in DECLARATIONS} == set(Settings.__slots__) - {"origins", "problems"}
    assert len({d.environment for d in DECLARATIONS}) == len(DECLARATIONS)
    assert all(d.description.endswith(".") and d.allowed for d in DECLARATIONS)


def test_sidecar_home_moves_everything_and_must_be_absolute(tmp_path: Path) -> None:
    env = {"SIDECAR_HOME": str(tmp_path)}
    assert data_home(env) == tmp_path
    assert user_config_file(env) == tmp_path / "config.json"
    assert data_home({}).is_absolute()
    assert data_home({}).name == "sidecar"
    with pytest.raises(ConfigInvalid, match="absolute"):
        data_home({"SIDECAR_HOME": "here"})


# ---------------------------------------------------------------- servers


@pytest.mark.parametrize("key", ["vectorStore", "vectorStoreHeaders", "sharedVectors", "sharedVectorsKey"])
def test_no_workspace_names_a_server(key: str, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({key: ["A: b"] if "Headers" in key else "https://stranger.example/of/vectors"}))
    settings = load(config)
    assert settings.as_config()[key] == Settings().as_config()[key]
    assert any(problem.startswith(f"{key} in ") and "only you may set it" in problem for problem in settings.problems)


@pytest.mark.parametrize(
    "address",
    [
        "ftp://host",
        "host:8000",
        "https://",
        "https://me:word@host",
        "https://h?tenant=a b",
        "https://h?x=1",
        "http://h#a",
    ],
)
def test_what_is_no_address_is_named_and_skipped(address: str) -> None:
    settings = load(env={"SIDECAR_VECTOR_STORE": address})
    assert settings.vector_store == "embedded"
    assert "allowed: embedded, or the address of a Chroma server" in settings.problems[0]


def test_what_is_secret_is_never_shown() -> None:
    env = {"SIDECAR_VECTOR_STORE_HEADERS": "Authorization: Bearer 3f9", "SIDECAR_SHARED_VECTORS_KEY": "short-3f9"}
    settings = load(env=env)
    assert settings.vector_store_headers == ("Authorization: Bearer 3f9",)
    assert settings.as_config()["vectorStoreHeaders"] == "(hidden)"
    assert settings.as_config()["sharedVectorsKey"] == ""
    assert "3f9" not in json.dumps([settings.as_config(), settings.problems])
    assert "(hidden)" in settings.problems[0]
