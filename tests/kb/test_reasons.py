from pathlib import Path

from kb import reasons

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "build.md"


def test_every_reason_in_a_build_report_is_documented() -> None:
    words = {value for name, value in vars(reasons).items() if name.isupper()}
    section = PAGE.read_text(encoding="utf-8").partition("## Read the report")[2].partition("\n## ")[0]
    rows = [row.split("|")[1] for row in section.splitlines() if row.startswith("| ")]
    assert len(words) > 15
    assert {word for word in words if not any(f"`{word}`" in row for row in rows)} == set()
