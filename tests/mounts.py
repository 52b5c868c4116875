"""Private mounts for tests of full and read-only disks; `root` ignores file modes, but not mounts."""

import subprocess

import pytest


def can_mount() -> bool:
    """Return whether `unshare -rm` can give a process its own mounts."""
    try:
        command = ["unshare", "-rm", "sh", "-c", "mount -t tmpfs none /mnt"]
        return subprocess.run(command, capture_output=True, check=False, timeout=20).returncode == 0
    except OSError:
        return False


needs_mounts = pytest.mark.skipif(not can_mount(), reason="unshare -rm cannot mount on this machine")
