"""Checklists of any group, read from files of the usual formats and kept as SQLite files."""
