"""The text of a page: its parts in one file."""

from __future__ import annotations

import base64
import html
import json
import math
import re
import zlib
from importlib.resources import files
from typing import Any

from tcpcc.apps.browser.page_data import PageData

MODELS = ("simulation.js", "fluid.js", "measures.js", "map_worker.js")
"""Scripts that the page's workers run, too."""

OF_FLUID = ("fluid.js", "map_worker.js", "map.js")
"""Scripts that a page without the fluid model does not have."""

SCRIPTS = ("chart.js", "map.js", "page.js")


def page(data: PageData, title: str | None = None) -> str:
    from tcpcc import __version__

    n = len(data.choices.scenario.flows)
    title = title or f"{'One flow' if n == 1 else f'{n} flows'} at a bottleneck"
    content = {
        "title": html.escape(title),
        "version": html.escape(__version__),
        "style": _file("page.css"),
        "models": _scripts(MODELS, data),
        "script": _scripts(SCRIPTS, data),
        "config": json.dumps(plain(data.config), separators=(",", ":")).replace("<", "\\u003c"),
        "sizes": json.dumps([len(part) for part in data.parts], separators=(",", ":")),
        "parts": base64.b64encode(zlib.compress(b"".join(data.parts), 9)).decode(),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: content[match[1]], _file("page.html"))


def plain(value: Any) -> Any:
    """A value for JSON: infinities become the largest numbers."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, float) and math.isinf(value):
        return math.copysign(1e300, value)
    return value


def _scripts(names: tuple[str, ...], data: PageData) -> str:
    needed = [name for name in names if data.fluid or name not in OF_FLUID]
    return "".join(map(_file, needed)).replace('"use strict";\n', "")


def _file(name: str) -> str:
    return files("tcpcc.apps.browser").joinpath(name).read_text(encoding="utf-8")
