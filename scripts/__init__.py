"""Programs for people who work on sidecar; README.md says what is in which folder."""

import sidecar.no_telemetry  # noqa: F401
