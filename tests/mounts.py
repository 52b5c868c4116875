"""Mounts of one's own, for tests of full and read-only disks; `root` ignores the mode of a file, but not a mount."""

from __future__ import annotations

import subprocess

import pytest


def can_mount() -> bool:
    """Return whether `unshare -rm` gives a process its own mounts here."""
    try:
        command = ["unshare", "-rm", "sh", "-c", "mount -t tmpfs none /mnt"]
        return subprocess.run(command, capture_output=True, check=False, timeout=20).returncode == 0
    except OSError:
        return False


needs_mounts = pytest.mark.skipif(not can_mount(), reason="unshare -rm cannot mount on this machine")
