"""One engine for many sessions, each with its own settings. Decision: docs/decisions/0005-one-daemon.md.

The settings in `OWN` are always each session's own. The other settings shape the index, so one session decides them for
each workspace: the first session that sets any of them and, when it leaves, the next. A session without settings
therefore never overrides an editor's, and two sessions never switch one index back and forth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sidecar.locks import Rank, make_lock
from sidecar.model.workspace import Workspace
from sidecar.settings.declare import DECLARATIONS
from sidecar.settings.load import Settings, data_home, load_settings, user_config_file
from sidecar.settings.remembered import RememberedSettings
from sidecar.tools.context import Workspaces

if TYPE_CHECKING:
    from sidecar.engine.workspaces import OpenWorkspaces

OWN = frozenset(one.key for one in DECLARATIONS if one.decided_by == "session")
"""Keys of the settings that each session decides for itself."""
OF_THE_PROCESS = frozenset(one.key for one in DECLARATIONS if one.decided_by == "process")
"""Keys of the settings that no session decides."""


@dataclass(eq=False)
class _Claim:
    """One session's settings. `read` returns the settings as they would be if the session were alone; `sets` are the
    keys it sets, without `OWN` and `OF_THE_PROCESS`; `offline` is its own `offline`, None if it leaves that to the
    settings files."""

    read: Callable[[Path], Settings]
    sets: frozenset[str]
    offline: bool | None


class SharedEngine:
    """Makes `View`s: `Workspaces` that share the open indexes and the loaded models. Thread-safe."""

    def __init__(self, env: Mapping[str, str]) -> None:
        """`env` must not contain settings of the client that started this process."""
        self._env = env
        self._user_file = user_config_file(env)
        self._home = data_home(env)
        self._claims: dict[Path, list[_Claim]] = {}
        self._plain = self._reader({}, {}, env)
        self._lock = make_lock(Rank.SETTINGS_CLAIMS)
        self._opening = make_lock(Rank.OPENING_ENGINE)
        self._engine: OpenWorkspaces | None = None

    def open(self, flags: Mapping[str, object], editor: Mapping[str, object], env: Mapping[str, str]) -> View:
        """Returns the workspaces as a session with these settings sees them. Closing the view leaves the engine
        open."""
        read = self._reader(flags, editor, env)
        alone = load_settings(None, None, env, editor, flags)
        sets = frozenset(key for key, origin in alone.origins.items() if origin != "default")
        offline = alone.offline if "offline" in sets else None
        return View(self, _Claim(read, sets - OWN - OF_THE_PROCESS, offline))

    def get(self, root: str) -> Workspace:
        """Like `Workspaces.get`; the first call builds the engine."""
        with self._opening:
            if self._engine is None:
                self._engine = self._make()
            engine = self._engine
        return engine.get(root)

    def close(self) -> None:
        """Closes the engine if it is open."""
        with self._opening:
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def settings(self, config: Path, latest: _Claim | None = None) -> Settings:
        """Returns the settings in force for the index with this config.json, once `latest` has claimed it too.

        The index is offline as soon as one session that uses it is. Every search calls this, so the files are checked
        once, or twice if sessions differ about `offline`, however many sessions there are.
        """
        claims = self._claims_of(config, latest)
        held = next((claim.read for claim in claims if claim.sets), self._plain)(config)
        forbidden = not held.offline and self._is_offline(claims, config)
        return replace(held, offline=True) if forbidden else held

    def config_of(self, root: str) -> Path:
        """Returns the path of the config.json of this workspace's index."""
        from sidecar.engine.index.layout import IndexLayout

        return IndexLayout(self._home, root).config

    def claim(self, config: Path, claim: _Claim) -> None:
        """Adds a session's settings for an index, after those of earlier sessions."""
        with self._lock:
            claims = self._claims.setdefault(config, [])
            if claim not in claims:
                claims.append(claim)

    def yield_up(self, config: Path, claim: _Claim) -> None:
        """Removes a session's settings for an index."""
        with self._lock:
            claims = [other for other in self._claims.get(config, ()) if other is not claim]
            if claims:
                self._claims[config] = claims
            else:
                self._claims.pop(config, None)

    def _is_offline(self, claims: list[_Claim], config: Path) -> bool:
        own = {claim.offline for claim in claims}
        return True in own or (None in own and self._plain(config).offline)

    def _claims_of(self, config: Path, latest: _Claim | None) -> list[_Claim]:
        with self._lock:
            return [*self._claims.get(config, ()), *([latest] if latest is not None else [])]

    def _make(self) -> OpenWorkspaces:
        from sidecar.engine.wiring import real_parts
        from sidecar.engine.workspaces import OpenWorkspaces

        return OpenWorkspaces(self._home, replace(real_parts({}, {}, self._env), load_settings=self.settings))

    def _reader(
        self, flags: Mapping[str, object], editor: Mapping[str, object], env: Mapping[str, str]
    ) -> RememberedSettings:
        user_file = self._user_file
        return RememberedSettings(user_file, lambda config: load_settings(config, user_file, env, editor, flags))


class View(Workspaces):
    """The shared workspaces as one session sees them."""

    def __init__(self, shared: SharedEngine, claim: _Claim) -> None:
        self._shared = shared
        self._claim = claim
        self._used: set[Path] = set()

    def get(self, root: str) -> Workspace:
        """Like `Workspaces.get`; the first call for a workspace claims its settings."""
        config = self._shared.config_of(root)
        if config not in self._used:
            self._shared.claim(config, self._claim)
            self._used.add(config)
        return self._shared.get(root)

    def ignored(self, root: str) -> dict[str, tuple[object, object]]:
        """Returns the settings of this session that another session's override in a workspace: by key, its own value
        and the one in force."""
        config = self._shared.config_of(root)
        own = self._claim.read(config).as_config()
        held = self._shared.settings(config, self._claim).as_config()
        return {key: (_at(own, key), _at(held, key)) for key in self._claim.sets if _at(own, key) != _at(held, key)}

    def problems(self, root: str) -> tuple[str, ...]:
        """Returns the problems of this session's own settings, and which of them have no effect."""
        own = self._claim.read(self._shared.config_of(root))
        held = "in the daemon, for an attached editor or agent"
        return (
            *own.problems,
            *(
                f"{key} is not {mine} here: the workspace is open with {other} {held}."
                for key, (mine, other) in self.ignored(root).items()
            ),
            *(
                f"{key} of this client has no effect: it is set for the whole daemon, in your own settings file."
                for key in sorted(OF_THE_PROCESS)
                if own.origins[key] not in ("default", "user file")
            ),
        )

    def close(self) -> None:
        """Withdraws the session's claims on settings."""
        for config in self._used:
            self._shared.yield_up(config, self._claim)
        self._used.clear()


def _at(values: Mapping[str, object], key: str) -> object:
    found: object = values
    for part in key.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found
