"""Known vulnerabilities of the installed dependencies, and of the oldest versions that pyproject.toml allows.

`python .ci/audit.py [--service PIP_AUDIT]` looks at the interpreter that runs it. `advisories.tsv` is the offline
database; with a `pip-audit` program, its two services are asked too. A service counts as answering only if it reports
a version that is known to be vulnerable: one that is not there can look like one that found nothing. Exit codes: 0
nothing found that `accepted.toml` does not explain, 1 findings, 2 a wrong database or list of exceptions.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent / "pyproject.toml"
KNOWN_VULNERABLE = ("jinja2", "2.4.1")
"""Asked for with each request to a service; it has had advisories since 2019."""


@dataclass(frozen=True, kw_only=True)
class Advisory:
    """Versions of a package with a known vulnerability; without an end, all from `introduced` on."""

    package: str
    ids: tuple[str, ...]
    introduced: Version
    fixed: Version | None = None
    last_affected: Version | None = None

    def affects(self, version: Version) -> bool:
        """Return whether a version is vulnerable."""
        if version < self.introduced or (self.fixed is not None and version >= self.fixed):
            return False
        return self.last_affected is None or version <= self.last_affected


def read_advisories(path: Path) -> tuple[date, list[Advisory]]:
    """Return the date up to which the database is complete, and its advisories; raise `ValueError` if it is not one."""
    stamp, _header, *lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line[:2] != "# "]
    found = []
    for line in lines:
        package, ids, introduced, fixed, last = line.split("\t")
        found.append(
            Advisory(
                package=canonicalize_name(package),
                ids=tuple(ids.split()),
                introduced=Version(introduced),
                fixed=Version(fixed) if fixed else None,
                last_affected=Version(last) if last else None,
            )
        )
    if not found:
        raise ValueError(f"{path} holds no advisory")
    return date.fromisoformat(stamp.removeprefix("date\t")), found


def read_accepted(path: Path) -> dict[str, str]:
    """Return advisory -> reason of those that are accepted; raise `ValueError` for one without a reason."""
    accepted: dict[str, str] = tomllib.loads(path.read_text(encoding="utf-8"))
    for name, reason in accepted.items():
        if not isinstance(reason, str) or len(reason.split()) < 5:
            raise ValueError(f"{path}: {name} needs a reason of at least five words")
    return accepted


def installed(requirements: Iterable[str]) -> dict[str, Version]:
    """Return package -> version of all that the requirements bring, as far as this interpreter has it."""
    found: dict[str, Version] = {}
    waiting = [Requirement(each) for each in requirements]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        wanted = waiting.pop()
        name, chosen = canonicalize_name(wanted.name), frozenset(wanted.extras)
        if (name, chosen) in seen:
            continue
        seen.add((name, chosen))
        try:
            there = distribution(name)
        except PackageNotFoundError:
            continue  # of an extra or a platform that is not this one
        found[name] = Version(there.version)
        for line in there.requires or ():
            child = Requirement(line)
            if child.marker is None or any(child.marker.evaluate({"extra": extra}) for extra in ("", *wanted.extras)):
                waiting.append(child)
    return found


def lower_bounds(requirements: Iterable[str]) -> Iterator[tuple[str, Version]]:
    """Yield each requirement with the oldest version that it allows."""
    for line in requirements:
        requirement = Requirement(line)
        bounds = [Version(each.version) for each in requirement.specifier if each.operator in (">=", "==", "~=")]
        if bounds:
            yield canonicalize_name(requirement.name), max(bounds)


def ask(program: str, service: str, versions: Mapping[str, Version]) -> dict[tuple[str, str], set[str]] | str:
    """Return (package, version) -> advisories from a service, or why it gives no trustworthy answer."""
    listed = {**{name: str(version) for name, version in versions.items()}, KNOWN_VULNERABLE[0]: KNOWN_VULNERABLE[1]}
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder, "requirements.txt")
        wanted.write_text("".join(f"{name}=={version}\n" for name, version in sorted(listed.items())))
        command = [program, "-s", service, "-r", str(wanted), "--no-deps", "--disable-pip", "-f", "json"]
        try:
            done = subprocess.run(
                [*command, "--timeout", "10"], capture_output=True, text=True, timeout=240, check=False
            )
            answer = json.loads(done.stdout)
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return "not reachable"
    found: dict[tuple[str, str], set[str]] = {}
    for each in answer["dependencies"]:
        ids = {name for one in each.get("vulns", ()) for name in (one["id"], *one.get("aliases", ()))}
        if ids:
            found[canonicalize_name(each["name"]), each["version"]] = ids
    if found.pop(KNOWN_VULNERABLE, None) is None:
        return f"it does not know that {' '.join(KNOWN_VULNERABLE)} is vulnerable, so its silence means nothing"
    skipped = [each["name"] for each in answer["dependencies"] if "skip_reason" in each]
    return f"it skipped {', '.join(skipped)}" if skipped else found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the findings and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--service", help="the program pip-audit, to ask its services as well")
    parser.add_argument("--database", type=Path, default=HERE / "advisories.tsv")
    parser.add_argument("--accepted", type=Path, default=HERE / "accepted.toml")
    parser.add_argument("--project", type=Path, default=PROJECT)
    given = parser.parse_args(arguments)
    say = sys.stdout.write
    try:
        dated, advisories = read_advisories(given.database)
        accepted = read_accepted(given.accepted)
    except ValueError as error:
        say(f"error: {error}\n")
        return 2
    project = tomllib.loads(given.project.read_text(encoding="utf-8"))["project"]
    extras = project.get("optional-dependencies", {})
    declared = [*project["dependencies"], *(line for lines in extras.values() for line in lines)]
    versions = installed([line for line in declared if not line.startswith(project["name"])])
    places = [(name, version, "installed") for name, version in sorted(versions.items())]
    places += [(name, version, "allowed by pyproject.toml") for name, version in lower_bounds(declared)]
    findings = {
        (f"{name} {version} ({where})", each.ids)
        for name, version, where in places
        for each in advisories
        if each.package == name and each.affects(version)
    }
    answered = []
    for service in ("osv", "pypi") if given.service else ():
        answer = ask(given.service, service, versions)
        if isinstance(answer, str):
            say(f"!!! advisory service {service}: {answer}\n")
            continue
        answered.append(service)
        findings |= {(f"{name} {version} (installed)", tuple(sorted(ids))) for (name, version), ids in answer.items()}
    if not answered:
        age = (date.today() - dated).days
        say("!!! NO ADVISORY SERVICE ANSWERED: only the offline database was read; what it lacks was not looked for.\n")
        say(f"!!! It is complete up to {dated} ({age} days ago); .ci/advisories.tsv says how to renew it.\n")
    say(
        f"{len(versions)} installed packages, {len(advisories)} advisories, services: {', '.join(answered) or 'none'}\n"
    )
    used = set()
    failed = 0
    for where, ids in sorted(findings):
        known = [name for name in ids if name in accepted]
        used |= set(known)
        failed += not known
        reason = f": {accepted[known[0]]}" if known else ""
        say(f"{'accepted' if known else 'FOUND'}: {where}: {' '.join(ids)}{reason}\n")
    for name in sorted(set(accepted) - used):
        say(f"note: {name} in {given.accepted.name} was not found here\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
