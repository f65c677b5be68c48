"""A setting that is changed in any of its places while the index is open takes effect, or a notice says what is left.

The table has a row for each declared setting. A new setting fails here until somebody writes down how its effect is
seen.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from sidecar.errors import SidecarError, SnapshotUnusable
from sidecar.model.terms import no_progress
from sidecar.settings.declare import DECLARATIONS, Declaration
from sidecar.tools.assemble import make_service, make_sessions
from sidecar.tools.models import ModelList
from sidecar.tools.refresh import REFRESH
from sidecar.tools.service import Done, Service
from sidecar.tools.shared import SharedEngine
from tests.daemon.data_folder import eventually
from tests.engine.projects import FILES, SLOW

pytestmark = pytest.mark.process

BY_KEY: Mapping[str, Declaration] = {one.key: one for one in DECLARATIONS}
LARGE = "def large():\n" + "".join(f"    value_{n} = {n}\n" for n in range(200))
WORKSPACE = {**FILES, ".gitignore": "ignored.py\n", "ignored.py": "x = 1\n", "large.py": LARGE}


class Session:
    """One client of the shared engine, with its own environment, editor and command line."""

    def __init__(self, process: Process, **layers: Any) -> None:
        self.process, self.layers = process, layers
        self.env = {**process.env, **layers.get("env", {})}
        self.service: Service = make_service(
            flags=layers.get("flags"),
            editor=layers.get("editor"),
            env=self.env,
            toolsets=None,
            engine=process.shared.open,
        )

    def __call__(self, tool: str, /, **arguments: object) -> dict[str, Any]:
        done = self.service.call(tool, arguments, workspace=self.process.root)
        assert isinstance(done, Done)
        return done.value

    @property
    def paths(self) -> list[str]:
        matches: list[str] = self("search_by_path", pattern="**", limit=100)["matches"]
        return matches

    def again(self) -> Session:
        return self.process.session(**self.layers)


class Process:
    """A process that has one indexed workspace open for its sessions, like a daemon."""

    def __init__(self, folder: Path) -> None:
        work, home = folder / "work", folder / "home"
        for path, text in WORKSPACE.items():
            (work / path).parent.mkdir(parents=True, exist_ok=True)
            (work / path).write_text(text, encoding="utf-8")
        home.mkdir()
        self.root, self.home = str(work), home
        self.env = {"SIDECAR_HOME": str(home), "HOME": str(home)}
        self.shared = SharedEngine(self.env)
        self.activity = make_sessions(self.env)
        self.opened: list[Session] = []
        self.plain = self.session()
        self.plain.service.call(REFRESH, {}, workspace=self.root)
        # Without a watcher, every search looks over all files and would see any change.
        assert eventually(lambda: self.plain("get_index_status")["watcherActive"])
        self.config = Path(self.plain("get_config")["configPath"])
        self.written, self.paths = self.config.read_text(encoding="utf-8"), self.plain.paths

    def session(self, **layers: Any) -> Session:
        self.opened.append(Session(self, **layers))
        return self.opened[-1]

    def write(self, path: Path, key: str, value: object) -> None:
        content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        group, _, inner = key.rpartition(".")
        (content.setdefault(group, {}) if group else content)[inner] = value
        path.write_text(json.dumps(content), encoding="utf-8")

    def restore(self) -> None:
        """Ends all sessions but the first, and undoes what was written."""
        for session in self.opened[1:]:
            session.service.close()
        del self.opened[1:]
        (self.home / "config.json").unlink(missing_ok=True)
        self.config.write_text(self.written, encoding="utf-8")
        assert eventually(lambda: self.plain.paths == self.paths)

    def close(self) -> None:
        for session in self.opened:
            session.service.close()
        self.shared.close()


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    made = Process(tmp_path_factory.mktemp("lasting"))
    yield made
    made.close()


@pytest.fixture
def process(lasting: Process) -> Iterator[Process]:
    """A test's changes in it take effect, and so does undoing them."""
    yield lasting
    lasting.restore()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Process]:
    """Checks settings that make the index anew."""
    made = Process(tmp_path)
    yield made
    made.close()


def in_user_file(process: Process, key: str, value: object) -> Session:
    process.write(process.home / "config.json", key, value)
    return process.plain


def in_index_config(process: Process, key: str, value: object) -> Session:
    process.write(process.config, key, value)
    return process.plain


def in_environment(process: Process, key: str, value: object) -> Session:
    text = value if isinstance(value, str) else json.dumps(value)
    return process.session(env={BY_KEY[key].environment: text})


def in_editor(process: Process, key: str, value: object) -> Session:
    return process.session(editor={key: value})


def on_command_line(process: Process, key: str, value: object) -> Session:
    return process.session(flags={key: value})


Place: TypeAlias = Callable[[Process, str, object], Session]
EVERYWHERE: tuple[Place, ...] = (in_user_file, in_environment, on_command_line)
IN_A_WORKSPACE: tuple[Place, ...] = (in_index_config, in_editor)
Seen: TypeAlias = Callable[[Session], object]


@dataclass(frozen=True)
class Row:
    """`value`: what the setting is changed to; `seen`: whether a session sees it in force. `beside` are changes of the
    user's file that make it visible."""

    value: object
    seen: Seen
    beside: Mapping[str, object] = field(default_factory=dict)


def _mode(session: Session) -> str:
    mode: str = session("search_code", query="retry")["searchMode"]
    return mode


def _says_rebuild(session: Session, key: str) -> bool:
    """Checks that the status and the next search say so, until the index is rebuilt."""
    said = [session("get_index_status").get("warning", ""), session("search_code", query="retry").get("notice", "")]
    if not all(key in one and "reindex_project" in one for one in said):
        return False
    question = session.service.call("reindex_project", {}, workspace=session.process.root)
    assert not isinstance(question, Done)
    session.service.call("reindex_project", {}, workspace=session.process.root, answers={question.id: "accept"})
    status, answer = session("get_index_status"), session("search_code", query="retry")
    assert "warning" not in status
    assert "notice" not in answer
    return True


def _model_is_missed(session: Session) -> bool:
    with pytest.raises(SidecarError, match="reindex_project") as refused:
        session("search_code", query="retry")
    assert SLOW in refused.value.message
    return "reindex_project" in session("get_index_status")["warning"]


def _asks_to_rebuild(session: Session) -> bool:
    question = session.service.call("reindex_project", {}, workspace=session.process.root)
    assert not isinstance(question, Done)
    done = session.service.call("reindex_project", {}, workspace=session.process.root, answers={question.id: "nobody"})
    return isinstance(done, Done) and done.declined


def _refused_by(session: Session, word: str) -> bool:
    with pytest.raises(SidecarError) as refused:
        ModelList(session.layers.get("flags", {}), session.process.root, session.env).download(
            "bge-small-en-v1.5", no_progress, lambda: False
        )
    return word in refused.value.message


def _in_force(key: str) -> Seen:
    """Checks settings that are read when they are used and leave no other trace in a result. A secret's value is not
    shown."""

    def seen(session: Session) -> bool:
        found: Any = session("get_config")["config"]
        for part in key.split("."):
            found = found[part]
        return bool(found if BY_KEY[key].secret else found == TABLE[key].value)

    return seen


TABLE: Mapping[str, Row] = {
    "include": Row(["src/**"], lambda s: s.paths == [p for p in sorted(FILES) if p.startswith("src/")]),
    "exclude": Row(["docs/**"], lambda s: "docs/guide.md" not in s.paths),
    "respectGitignore": Row(False, lambda s: "ignored.py" in s.paths),
    "maxFileSize": Row("1KB", lambda s: "large.py" not in s.paths),
    "maxFiles": Row(2, lambda s: len(s.paths) == 2),
    "docPatterns": Row(
        ["**/*.ts"], lambda s: s("search_docs", query="parse query string")["results"][0]["path"] == "src/parse.ts"
    ),
    "indexDocs": Row(False, lambda s: "README.md" not in s.paths),
    "indexingStrategy": Row("lazy", lambda s: s("get_index_status")["indexingStrategy"] == "lazy"),
    "chunkingStrategy": Row("character", lambda s: _says_rebuild(s, "chunkingStrategy")),
    "hybridSearch.enabled": Row(False, lambda s: _mode(s) == "vector"),
    "hybridSearch.defaultAlpha": Row(0, lambda s: _mode(s) == "fts"),
    "model": Row(SLOW, lambda s: SLOW in json.dumps(s("get_index_status"))),
    "twoStage": Row(False, _model_is_missed, {"model": SLOW}),
    "device": Row("cuda", lambda s: _mode(s) and s("get_index_status").get("deviceNote")),
    "threads": Row(3, _in_force("threads")),
    "confirm": Row("always", _asks_to_rebuild),
    "questionSeconds": Row(7, lambda s: s.service.question_seconds() == 7),
    "offline": Row(True, lambda s: _refused_by(s, "offline")),
    "modelsSource": Row("https://127.0.0.1:9", lambda s: _refused_by(s, "127.0.0.1:9")),
    "snapshotSource": Row("/nowhere/of/a/team", lambda s: "There are no snapshots at /nowhere" in _start_refused(s)),
    "snapshotKey": Row("of-a-team", _in_force("snapshotKey")),
    "snapshotSignIn": Row("/home/of/mine", _in_force("snapshotSignIn")),
    "vectorStore": Row("http://127.0.0.1:9", _in_force("vectorStore")),
    "vectorStoreHeaders": Row(["Authorization: mine"], _in_force("vectorStoreHeaders")),
    "vectorMemoryMegabytes": Row(20, _in_force("vectorMemoryMegabytes")),
    "sharedVectors": Row("http://127.0.0.1:9", _in_force("sharedVectors")),
    "sharedVectorsKey": Row("k" * 32, _in_force("sharedVectorsKey")),
    "sharedVectorsHeaders": Row(["Authorization: mine"], _in_force("sharedVectorsHeaders")),
    "sharedVectorsWrite": Row(True, _in_force("sharedVectorsWrite")),
    "toolsets": Row("memory", lambda s: s.again().service.tools[0].name == "memory_save"),
    "idleMinutes": Row(3, _in_force("idleMinutes")),
    "vectorsMegabytes": Row(20, _in_force("vectorsMegabytes")),
    "activityLog": Row(9, lambda s: s.process.activity.log.capacity == 9),
}


def _start_refused(session: Session) -> str:
    """Returns why no snapshot of the configured source is used."""
    with pytest.raises(SnapshotUnusable) as refused:
        session.service.call(REFRESH, {"snapshot": ""}, workspace=session.process.root)
    return refused.value.detail


def cases(*, anew: bool) -> list[Any]:
    """`anew`: the rows of settings that make the index anew; otherwise the rows of the others."""
    return [
        pytest.param(key, place, id=f"{key} {place.__name__}")
        for key in sorted(TABLE.keys() & BY_KEY.keys())
        if (BY_KEY[key].effect in ("rebuild", "upgrade")) is anew
        for place in (*EVERYWHERE, *(IN_A_WORKSPACE if BY_KEY[key].scope == "workspace" else ()))
    ]


def test_the_table_has_a_row_for_every_setting() -> None:
    assert set(TABLE) == set(BY_KEY)


@pytest.mark.parametrize(("key", "place"), cases(anew=False))
def test_a_changed_setting_takes_effect_on_an_open_index(process: Process, key: str, place: Place) -> None:
    session = place(process, key, TABLE[key].value)
    if BY_KEY[key].decided_by == "process" and place is not in_user_file:
        assert any(f"{key} " in problem and "no effect" in problem for problem in session("get_config")["problems"])
        return
    assert eventually(lambda: TABLE[key].seen(session))


@pytest.mark.parametrize(("key", "place"), cases(anew=True))
def test_a_changed_setting_that_makes_the_index_anew_does_so_or_says_what_it_needs(
    fresh: Process, key: str, place: Place
) -> None:
    row = TABLE[key]
    for other, value in row.beside.items():
        in_user_file(fresh, other, value)
    session = place(fresh, key, row.value)
    assert eventually(lambda: row.seen(session))


@pytest.mark.parametrize("key", sorted(key for key, one in BY_KEY.items() if one.scope == "user"))
@pytest.mark.parametrize("place", IN_A_WORKSPACE)
def test_what_only_a_person_may_set_has_no_effect_from_a_workspace_and_that_is_said(
    process: Process, place: Place, key: str
) -> None:
    order = BY_KEY[key].strictness
    session = place(process, key, order[0] if order else TABLE[key].value)
    (problem,) = session("get_config")["problems"]
    assert problem.startswith(f"{key} in ")
    assert "only you may set it" in problem


def test_a_callers_wrong_environment_is_named_to_that_caller_alone(process: Process) -> None:
    wrong = {"SIDECAR_MAX_FILES": "many", "SIDECAR_INDEXING_STRATEGY": "sometimes", "SIDECAR_CONFRM": "never"}
    session = process.session(env=wrong)
    for answer in (session("get_config"), session("get_index_status")):
        files, strategy, confirm = sorted(answer["problems"], key=lambda said: ("CONFRM" in said, said.startswith("i")))
        assert files.startswith('maxFiles in the environment (SIDECAR_MAX_FILES) is "many"; allowed: a whole number')
        assert strategy.startswith('indexingStrategy in the environment (SIDECAR_INDEXING_STRATEGY) is "sometimes"')
        assert confirm == '"SIDECAR_CONFRM" is not a setting; did you mean SIDECAR_CONFIRM?'
    assert process.plain("get_config")["problems"] == []
    assert "problems" not in process.plain("get_index_status")


def test_a_setting_that_another_session_overrides_is_said_to_the_one_that_it_is_taken_from(process: Process) -> None:
    first, second = process.session(editor={"maxFiles": 3}), process.session(env={"SIDECAR_MAX_FILES": "4"})
    assert len(first.paths) == len(second.paths) == 3
    (problem,) = second("get_config")["problems"]
    assert problem.startswith("maxFiles is not 4 here: the workspace is open with 3")
    assert first("get_config")["problems"] == []


def test_a_size_that_grows_lets_the_larger_files_in(process: Process) -> None:
    in_index_config(process, "maxFileSize", "1KB")
    assert eventually(lambda: "large.py" not in process.plain.paths)
    in_index_config(process, "maxFileSize", "2MB")
    assert eventually(lambda: "large.py" in process.plain.paths)
    assert process.plain("search_code", query="large value_17")["results"][0]["path"] == "large.py"


def test_one_session_that_is_offline_has_the_network_forbidden_to_all(process: Process) -> None:
    other = process.session(env={"SIDECAR_MAX_FILES": "4", "SIDECAR_SNAPSHOT_SOURCE": "https://127.0.0.1:9/team"})
    assert "offline" not in _start_refused(other)
    strict = process.session(flags={"offline": True})
    strict("get_index_status")
    assert "The setting offline forbids every network call" in _start_refused(other)
    strict.service.close()
    assert "offline" not in _start_refused(other)
