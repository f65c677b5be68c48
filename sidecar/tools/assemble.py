"""Builds the `Service` and the `Sessions` of a door. It is cheap to import: the first call that needs the engine
imports it.

`engine/wiring.py` builds the engine itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from sidecar.locks import Rank, make_lock
from sidecar.model.workspace import Workspace
from sidecar.settings.home import current_folder, with_paths_of
from sidecar.settings.load import Settings, data_home, load_settings, user_config_file
from sidecar.settings.remembered import RememberedSettings
from sidecar.tools.context import Workspaces
from sidecar.tools.registry import DEFAULT_TOOLSETS, tools_of
from sidecar.tools.service import Service
from sidecar.tools.sessions import Sessions
from sidecar.tools.word import Words

OpenEngine: TypeAlias = Callable[[Mapping[str, object], Mapping[str, object], Mapping[str, str]], Workspaces]
"""Opens the workspaces with these flags, editor settings and environment variables."""


def make_service(
    *,
    flags: Mapping[str, object] | None = None,
    editor: Mapping[str, object] | None = None,
    env: Mapping[str, str] | None = None,
    toolsets: str | Iterable[str] | None = None,
    unset_toolsets: str | Iterable[str] = DEFAULT_TOOLSETS,
    engine: OpenEngine | None = None,
    goes_on: bool = True,
    for_user: bool = False,
) -> Service:
    """Returns the service over the real engine, or over `engine`. `flags` and `editor` hold settings under
    config.json's keys.

    `goes_on` is False in a process that ends after one call. `for_user`: the process was started by the user, so its
    environment may loosen `confirm` from `auto`. If `toolsets` is None, the toolsets come from the settings, or from
    `unset_toolsets` if no layer sets them. Raises `ConfigInvalid` if SIDECAR_HOME is not an absolute path and
    `InvalidParams` for an unknown toolset.
    """
    flags, editor = flags or {}, editor or {}
    environment = own_environment() if env is None else env

    def open_engine() -> Workspaces:
        if engine is not None:
            return engine(flags, editor, environment)
        from sidecar.engine.wiring import open_workspaces

        return open_workspaces(flags, editor, environment)

    user_file = user_config_file(environment)

    def settings() -> Settings:
        return load_settings(None, user_file, environment, editor, flags)

    def words(root: str) -> Words:
        config = config_of(data_home(environment), root)
        user = load_settings(config, user_file, {}, {}, {}).confirm
        own = load_settings(config, user_file, environment, editor, flags).confirm
        return Words(own if for_user and user != "always" else user, own)

    if toolsets is None:
        found = settings()
        toolsets = unset_toolsets if found.origins["toolsets"] == "default" else found.toolsets
    return Service(
        LazyWorkspaces(open_engine),
        confirm=words,
        tools=tools_of(toolsets),
        question_seconds=lambda: settings().question_seconds,
        goes_on=goes_on,
    )


def config_of(home: Path, root: str) -> Path:
    """Returns the path of the config.json of this workspace's index."""
    from sidecar.engine.index.layout import IndexLayout

    return IndexLayout(home, root).config


def make_sessions(env: Mapping[str, str] | None = None) -> Sessions:
    """Returns the sessions of this process. The setting `activityLog` gives the capacity of their activity log."""
    environment = os.environ if env is None else env
    user_file = user_config_file(environment)
    remembered = RememberedSettings(user_file, lambda _: load_settings(None, user_file, environment, {}, {}))
    return Sessions(lambda: remembered(user_file).activity_log)


def own_environment() -> Mapping[str, str]:
    """Returns this process's environment, with the path of a model's folder made absolute."""
    return with_paths_of(current_folder(), os.environ)


class LazyWorkspaces:
    """`Workspaces` that opens the engine at the first `get`. Thread-safe."""

    def __init__(self, open_engine: Callable[[], Workspaces]) -> None:
        self._open_engine = open_engine
        self._opened: Workspaces | None = None
        self._lock = make_lock(Rank.LAZY_WORKSPACES)

    def get(self, root: str) -> Workspace:
        """Like `Workspaces.get`; the first call opens the engine."""
        with self._lock:
            if self._opened is None:
                self._opened = self._open_engine()
            opened = self._opened
        return opened.get(root)

    def problems(self, root: str) -> tuple[str, ...] | None:
        """Like `Workspaces.problems`; None while the engine is not open."""
        opened = self._opened
        return None if opened is None else opened.problems(root)

    def close(self) -> None:
        """Closes the engine if it is open. A later `get` opens it again."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()
