"""What the scripts that make and judge models share: extraction of training pairs, training, export and evaluation."""

import sidecar.no_telemetry  # noqa: F401
