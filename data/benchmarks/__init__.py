"""Readers of public benchmarks in their published form. No dataset is shipped."""
