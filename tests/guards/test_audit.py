"""The dependency audit of CI finds what it should, and never passes in silence."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
AUDIT = ROOT / ".ci" / "audit.py"
HEADER = "date\t2026-01-01\npackage\tids\tintroduced\tfixed\tlast_affected\n"
OLD_CLICK = "click\tCVE-1-1 PYSEC-1\t0\t\t999\n"
ANSWERS = """#!{python}
import json, sys
lines = open(sys.argv[sys.argv.index("-r") + 1]).read().split()
known = json.loads({known!r})
print(json.dumps({{"dependencies": [
    {{"name": name, "version": version, "vulns": [{{"id": each, "aliases": []}} for each in known.get(name, [])]}}
    for name, version in (line.split("==") for line in lines)
]}}))
"""


def audit(
    folder: Path, *, rows: str = "", accepted: str = "", known: dict[str, list[str]] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the audit of this interpreter with a database of its own, and a service that knows these advisories."""
    (folder / "rows.tsv").write_text(HEADER + (rows or "nothing\tCVE-0\t0\t1\t\n"), encoding="utf-8")
    (folder / "accepted.toml").write_text(accepted, encoding="utf-8")
    command = [sys.executable, AUDIT, "--database", folder / "rows.tsv", "--accepted", folder / "accepted.toml"]
    if known is not None:
        service = folder / "service"
        service.write_text(ANSWERS.format(python=sys.executable, known=json.dumps(known)), encoding="utf-8")
        service.chmod(0o755)
        command += ["--service", service]
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, timeout=60)


def test_the_audit_of_this_installation_finds_nothing_unexplained() -> None:
    done = subprocess.run([sys.executable, AUDIT], capture_output=True, text=True, check=False, timeout=60)
    assert "FOUND" not in done.stdout
    assert done.returncode == 0, done.stdout + done.stderr
    n_packages, n_advisories = map(int, re.findall(r"(\d+) installed packages, (\d+) advisories", done.stdout)[0])
    assert n_packages > 40
    assert n_advisories > 150


def test_each_extra_is_installed_when_it_is_audited() -> None:
    """`models` and `draw` are audited in their own environment; `docs` is on no machine of a user."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert ".venv/bin/pip install -q '.[scale]'" in script.partition("\nintegration()")[2].partition("\n}")[0]
    steps = [line for line in script.splitlines() if line.startswith(("step ", "together "))]
    [installed] = [at for at, line in enumerate(steps) if line.endswith(" integration")]
    [audited] = [at for at, line in enumerate(steps) if "=dependency_audit" in line]
    assert installed < audited


def test_a_vulnerable_version_fails_the_audit(tmp_path: Path) -> None:
    done = audit(tmp_path, rows=OLD_CLICK)
    assert done.returncode == 1
    assert "FOUND: click" in done.stdout


def test_a_lower_bound_that_allows_a_vulnerable_version_fails_the_audit(tmp_path: Path) -> None:
    """Click 8.5 is allowed; what is installed here is newer than the made-up fix or equal to the bound."""
    done = audit(tmp_path, rows="wikipedia-api\tCVE-1-1\t0\t0.16.0.post1\t\n")
    assert "FOUND: wikipedia-api 0.16 (allowed by pyproject.toml): CVE-1-1" in done.stdout
    assert done.returncode == 1


@pytest.mark.parametrize(
    "row", ["click\tCVE-1-1\t0\t1.0\t\n", "click\tCVE-1-1\t999\t\t\n", "click\tCVE-1-1\t0\t\t1.0\n"]
)
def test_versions_outside_the_range_are_not_found(tmp_path: Path, row: str) -> None:
    assert audit(tmp_path, rows=row).returncode == 0


def test_an_accepted_advisory_is_shown_with_its_reason(tmp_path: Path) -> None:
    done = audit(tmp_path, rows=OLD_CLICK, accepted='"PYSEC-1" = "We never call the function that it is about."')
    assert done.returncode == 0
    assert "accepted: click" in done.stdout
    assert "We never call the function" in done.stdout


def test_an_exception_without_a_reason_is_refused(tmp_path: Path) -> None:
    done = audit(tmp_path, rows=OLD_CLICK, accepted='"PYSEC-1" = "later"')
    assert done.returncode == 2
    assert "needs a reason" in done.stdout


def test_an_empty_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.tsv").write_text(HEADER)
    command = [sys.executable, str(AUDIT), "--database", str(tmp_path / "empty.tsv")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, "holds no advisory" in done.stdout) == (2, True)


def test_without_a_service_the_audit_says_what_it_did_not_look_for(tmp_path: Path) -> None:
    assert "NO ADVISORY SERVICE ANSWERED" in audit(tmp_path).stdout


def test_a_service_that_knows_no_known_vulnerability_does_not_count(tmp_path: Path) -> None:
    """A registry without advisories answers that nothing was found."""
    done = audit(tmp_path, known={})
    assert "its silence means nothing" in done.stdout
    assert "NO ADVISORY SERVICE ANSWERED" in done.stdout


def test_findings_of_a_service_count(tmp_path: Path) -> None:
    done = audit(tmp_path, known={"jinja2": ["PYSEC-2019-217"], "click": ["PYSEC-9"]})
    assert "NO ADVISORY SERVICE" not in done.stdout
    assert "services: osv, pypi" in done.stdout
    assert re.search(r"FOUND: click \S+ \(installed\): PYSEC-9", done.stdout)
    assert done.returncode == 1


def test_every_accepted_advisory_is_in_the_database() -> None:
    """One that no version has any more goes."""
    import tomllib

    known = (ROOT / ".ci" / "advisories.tsv").read_text(encoding="utf-8")
    accepted = tomllib.loads((ROOT / ".ci" / "accepted.toml").read_text(encoding="utf-8"))
    assert [name for name in accepted if name not in known] == []


def test_ci_runs_the_audit() -> None:
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert '"dependency audit=dependency_audit"' in run
    assert run.count(".ci/audit.py") == 2  # the base with its extras, and those with torch
