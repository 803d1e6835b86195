"""Write figures to files: equal figures give equal bytes; PNGs have a small palette."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from tcpcc import plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 300
"""Dots per inch of a PNG."""

COLOURS = 256
"""Palette size of a PNG: enough for antialiased lines, and the file is a third as large."""

KINDS = ("png", "pdf", "svg")

ANONYMOUS: dict[str, dict[str, None]] = {
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "svg": {"Date": None},
}
"""Metadata settings that leave out date and program."""


def png(figure: Figure, dpi: float = DPI) -> bytes:
    """A figure as a PNG file with a palette.

    A narrow figure gets white margins: pages scale pictures to their width, so pictures of one
    width have type of one size.
    """
    from PIL import Image, ImageOps

    plain = io.BytesIO()
    figure.savefig(plain, format="png", dpi=dpi)
    with Image.open(plain) as image:
        solid = image.convert("RGB")
        margin = max(0, round(plots.WIDTH * dpi) - image.width)
        border = (margin // 2, 0, margin - margin // 2, 0)
        wide = ImageOps.expand(solid, border, "white") if margin else solid
        few = wide.quantize(COLOURS, dither=Image.Dither.NONE)
    packed = io.BytesIO()
    few.save(packed, format="png", optimize=True, dpi=(dpi, dpi))
    return packed.getvalue()


def save(figure: Figure, stem: Path, kinds: Iterable[str] = KINDS) -> list[Path]:
    """Write a figure to files.

    Args:
        figure: the figure.
        stem: path of the files without suffix.
        kinds: formats from `KINDS`; "pdf" and "svg" are vector graphics.

    Returns:
        The files written.

    Raises:
        ValueError: unknown format.
    """
    import matplotlib as mpl

    files = []
    for kind in kinds:
        if kind not in KINDS:
            raise ValueError(f"kind = {kind!r}: must be one of {', '.join(KINDS)}")
        files.append(stem.with_name(f"{stem.name}.{kind}"))
        if kind == "png":
            files[-1].write_bytes(png(figure))
            continue
        with mpl.rc_context({"svg.hashsalt": "tcpcc"}):  # otherwise ids in an SVG are random
            figure.savefig(files[-1], metadata=ANONYMOUS[kind])
    return files
