"""The shared vocabulary: records, contracts, errors, and how they are stored and measured. No models, no network."""
