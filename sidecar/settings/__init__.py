"""What the user can set: declared in `declare`, read in `load`."""

from .declare import DECLARATIONS, Declaration
from .load import Settings, data_home, default_config_text, load_settings, user_config_file

__all__ = [
    "DECLARATIONS",
    "Declaration",
    "Settings",
    "data_home",
    "default_config_text",
    "load_settings",
    "user_config_file",
]
