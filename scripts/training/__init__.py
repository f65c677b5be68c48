"""What make-pairs and train-static share: extraction of training pairs, the training itself, and its evaluation."""

import sidecar.no_telemetry  # noqa: F401
