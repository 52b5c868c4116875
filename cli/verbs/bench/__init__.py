"""`kb bench`: speed of a knowledge base on this machine."""

from cli.verbs.bench.command import bench as bench
