"""Readers of public benchmarks, as published, into the records that jobs are made of. No data set is shipped."""
