"""Subspecies of the checklist, which may be species on other lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

Row = list[str]


class SubspeciesNames:
    """Finds subspecies by trinomial, or by the binomial of a lumped species."""

    def __init__(self, rows: Iterable[Row], fold: Callable[[str], str]) -> None:
        """Read the rows of AviList's table whose rank is subspecies.

        Args:
            rows: scientific name first, rank third.
            fold: brings a name to the form in which names are compared.
        """
        self._fold = fold
        self._by_name: dict[str, set[str]] = {}
        for trinomial in _trinomials(rows):
            genus, epithet, last = trinomial.split()
            if epithet != last:  # the nominate one has the name of the species already
                for name in (trinomial, f"{genus} {last}"):
                    self._by_name.setdefault(fold(name), set()).add(trinomial)
            else:
                self._by_name.setdefault(fold(trinomial), set()).add(trinomial)

    def find(self, name: str) -> str | None:
        """Return the trinomial of the one subspecies with that name, or None."""
        found = self._by_name.get(self._fold(name), ())
        return next(iter(found)) if len(found) == 1 else None


def species_of(trinomial: str) -> str:
    """Return the binomial of a trinomial."""
    return " ".join(trinomial.split()[:2])


def _trinomials(rows: Iterable[Row]) -> Iterator[str]:
    return (row[0] for row in rows if row[2] == "subspecies" and len(row[0].split()) == 3)
