"""Shared vocabulary: records, contracts, errors, files and metrics. No models, no network."""
