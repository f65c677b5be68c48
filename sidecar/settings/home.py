"""Where sidecar keeps its data. Cheap to import: the pipes need this before anything else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sidecar import shown
from sidecar.errors import ConfigInvalid


def data_home(env: Mapping[str, str]) -> Path:
    """The data folder: SIDECAR_HOME, else `sidecar` in the user's data folder.

    Raises ConfigInvalid when SIDECAR_HOME is not an absolute path.
    """
    home = own_home(env)
    if home is not None:
        return home
    from platformdirs import user_data_path

    return user_data_path("sidecar", appauthor=False)


def own_home(env: Mapping[str, str]) -> Path | None:
    """SIDECAR_HOME; None when it is not set. Raises ConfigInvalid when it is not an absolute path."""
    text = env.get("SIDECAR_HOME", "")
    if not text:
        return None
    home = Path(text).expanduser()
    if not home.is_absolute():
        raise ConfigInvalid(
            f"SIDECAR_HOME is {shown.place(text)}; give an absolute path, which means the same in every folder."
        )
    return home
