"""Prose repeats no number of a table: such numbers become wrong when the table changes.

`Book.text` and `Book.excerpt` compute numbers in notebooks; other pages refer to the table.
"""

import html
import json
import re
from pathlib import Path

import pytest

from experiments import expected_numbers, harness, published_numbers, reproduce_all

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PAPERS = harness.papers()
WRITTEN = {"coverage", "fields", "league", "names", "scorecard", "statements", "variants"}
"""Pages that a program writes as a whole; its texts and tables have the same numbers."""
PAGES = [
    page
    for folder in (ROOT, ROOT / "docs", ROOT / "docs" / "guides")
    for page in sorted(folder.glob("*.md"))
    if page.stem not in WRITTEN and page.name != "CHANGELOG.md"
]

NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?![\w]|\.\d)")
PLACE = re.compile(
    r"\b(?:tables?|figures?|sections?|criteri(?:on|a)) [\dIV.]+(?:(?:, | and | to )[\dIV.]+)*"
    r"|`[^`]*`|\]\([^)]*\)|RFCs? [\d, and]+|\b(?:19|20)\d\d\b",
    re.I,
)
"""Numbers that are no results: of places in a text, in code and links, years."""
COUNT = re.compile(r"\d+ of \d+")
OTHERS = re.compile(
    r"ns-2|published|test-bed|the (?:text|paper|thesis) (?:states|says|gives)", re.I
)
"""Sentences that give numbers of others."""
RULE = re.compile(r"\|[|:\- ]+\|")


def repeated(prose, ours, printed=(), digits=3):
    """Numbers in prose that a table of ours has, to the last digit.

    With fewer digits than `digits`, or than three in a whole number before its zeros, a number is
    equal to one of a table by chance.
    """
    found = []
    for sentence in re.split(r"(?<=[.;])\s|\n\n|\n(?=- )", prose):
        if OTHERS.search(sentence):
            continue
        for match in NUMBER.findall(PLACE.sub("", sentence)):
            told = match.replace(",", "")
            is_whole = "." not in told
            size = len(told.rstrip("0") if is_whole else told.replace(".", "").lstrip("0"))
            if size < (3 if is_whole else digits) or float(told) in printed:
                continue
            decimals = len(told.partition(".")[2])
            if any(f"{number:.{decimals}f}" == told for number in ours):
                found.append(match)
    return found


def numbers(text):
    return [float(number.replace(",", "")) for number in NUMBER.findall(text)]


def parts(page):
    """Prose of a page in Markdown, and the text of its tables' cells.

    First columns and headings have settings. Code is left out, and prose that a program writes,
    between two comments.
    """
    text = re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    lines = text.splitlines()
    rows = [
        line
        for line, following in zip(lines, [*lines[1:], ""], strict=True)
        if line.startswith("|") and not RULE.fullmatch(line) and not RULE.fullmatch(following)
    ]
    cells = [cell.strip() for row in rows for cell in row.strip("|").split("|")[1:]]
    by_hand = re.sub(r"<!-- \w+: written by.*?<!-- end of \w+ -->", "", text, flags=re.DOTALL)
    prose = [line for line in by_hand.splitlines() if not line.startswith(("|", "#"))]
    return "\n".join(prose), cells


def of_paper(paper):
    """The accepted numbers of a paper, and the published ones."""
    records = expected_numbers.records_of(paper)
    cells = published_numbers.of(paper).cells
    ours = [n for r in records for n in (r.packet, r.fluid) if n is not None]
    return ours, {float(cell.published) for cell in cells if cell.published}


def test_a_number_of_a_table_in_prose_is_found():
    ours, printed = [27.06, 0.5204, 118.04], {26.9}
    assert repeated("It takes 27.06 s.", ours, printed, 2) == ["27.06"]
    assert repeated("The ratio is 0.52, the rate 118 KB/s.", ours, printed, 2) == ["0.52", "118"]
    assert repeated("The ratio is 0.52, the rate 118 KB/s.", ours) == ["118"]
    assert repeated("In Table 0.52 and section 27.06 it is 0.5.", ours, printed, 2) == []
    assert repeated("The published value is 27.06. ns-2 gives 118.", ours, printed, 2) == []


def test_settings_code_and_generated_prose_are_no_numbers_of_a_page():
    page = """371 of 380 are near.

| flows | near |
|---|--:|
| 512 | 371 of 380 |

<!-- summary: written by a program -->
All 371.
<!-- end of summary -->

```sh
371
```
"""
    prose, cells = parts(page)
    assert cells == ["371 of 380"]
    assert repeated(prose, numbers(" ".join(cells))) == ["371"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_prose_of_a_page_has_no_number_of_its_tables(page):
    prose, cells = parts(page.read_text(encoding="utf-8"))
    assert repeated(prose, numbers(" ".join(cells))) == []
    assert set(COUNT.findall(prose)).isdisjoint(cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_prose_of_a_notebook_has_no_number_of_its_tables(path):
    """For the papers' notebooks with all digits of the accepted numbers."""
    book = json.loads(path.read_text(encoding="utf-8"))
    outputs = [output for cell in book["cells"] for output in cell.get("outputs", [])]
    shown = " ".join("".join(one.get("data", {}).get("text/html", "")) for one in outputs)
    cells = re.findall(r"<td[^>]*>(.*?)</td>", shown, flags=re.DOTALL)
    ours = numbers(html.unescape(re.sub(r"<[^>]*>", " ", " ".join(cells))))
    printed, digits = set(), 3
    if path.stem in PAPERS:
        (ours, printed), digits = of_paper(path.stem), 2
    for cell in book["cells"]:
        if cell["cell_type"] == "markdown":
            source = "".join(cell["source"])
            prose, _ = parts(source)
            assert repeated(prose, ours, printed, digits) == [], source
            if path.stem in PAPERS:
                assert re.search(r"^\|.*\b(packets|fluid) \|", source, re.MULTILINE) is None


def test_the_readme_says_how_long_make_reproduce_takes():
    minutes = sum(sum(step.minutes) for step in reproduce_all.STEPS)
    (line,) = re.findall("^make reproduce .*", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert f"about {minutes:.0f} minutes on 2 cores" in line


@pytest.mark.parametrize("paper", PAPERS)
def test_a_cause_has_no_number_of_a_table(paper):
    cells = published_numbers.of(paper).cells
    causes = {c.text for cell in cells for c in (cell.cause, cell.fluid_cause) if c}
    found = {text: repeated(text, *of_paper(paper)) for text in causes}
    assert {text: numbers for text, numbers in found.items() if numbers} == {}
