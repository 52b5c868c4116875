"""The commands of `kb`, one module or folder a verb."""
