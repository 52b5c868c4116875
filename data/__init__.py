"""Shared vocabulary: records, contracts, errors, files and metrics. No models, no network."""

import fieldmark  # noqa: F401  # first: it switches off the telemetry of other packages
