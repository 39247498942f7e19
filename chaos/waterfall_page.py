"""Waterfalls as one HTML page that needs nothing else: no network, no script, no other file; light and dark."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from component.tracing.waterfall import milliseconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from component.tracing.waterfall import Row, Waterfall

TICKS: Final = 4
"""Parts that the time axis has."""

HUES: Final = 6
"""Colours that tell processes apart."""

_STYLE: Final = """
:root { color-scheme: light dark; --page: #ffffff; --ink: #1b1f24; --soft: #59636e; --line: #d1d9e0; --bad: #b3261e;
  --c0: #0a66c2; --c1: #1a7f37; --c2: #8250df; --c3: #9a6700; --c4: #bf3989; --c5: #57606a; }
@media (prefers-color-scheme: dark) {
  :root { --page: #0d1117; --ink: #e6edf3; --soft: #9198a1; --line: #3d444d; --bad: #ff8a80;
    --c0: #58a6ff; --c1: #3fb950; --c2: #bc8cff; --c3: #d29922; --c4: #f778ba; --c5: #9198a1; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 80rem; padding: 1.5rem; background: var(--page); color: var(--ink);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 2.5rem 0 .25rem; overflow-wrap: anywhere; }
p { margin: .1rem 0; color: var(--soft); overflow-wrap: anywhere; }
.parts { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; margin: .5rem 0; padding: 0; list-style: none; }
.parts b { font-variant-numeric: tabular-nums; }
.grid { display: grid; grid-template-columns: minmax(12rem, 24rem) 1fr; margin-top: .75rem;
  border-top: 1px solid var(--line); }
.grid > * { padding: .3rem .4rem; border-bottom: 1px solid var(--line); min-width: 0; }
.what { overflow-wrap: anywhere; } .what small { display: block; color: var(--soft); }
.bad .what { color: var(--bad); }
.row { display: contents; } .row > * { padding: .3rem .4rem; border-bottom: 1px solid var(--line); min-width: 0; }
.lane { position: relative; min-height: 1.6rem; }
.lane i { position: absolute; top: .55rem; height: .8rem; min-width: 3px; border-radius: 2px; background: var(--c); }
.lane i.point { width: .8rem; margin-left: -.4rem; border-radius: 50%; transform: scale(.75); }
.axis span { position: absolute; top: .3rem; color: var(--soft); font-size: .8rem; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
@media (max-width: 50rem) {
  .grid { grid-template-columns: minmax(0, 1fr); } .row > .what { border-bottom: 0; }
  .axis span:not(:first-child):not(:last-child) { display: none; } }
"""


def page(title: str, waterfalls: Iterable[Waterfall]) -> str:
    """The page."""
    sections = "\n".join(_section(each) for each in waterfalls)
    colours = "\n".join(f".h{number} {{ --c: var(--c{number}); }}" for number in range(HUES))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{_STYLE}{colours}</style>
</head>
<body>
<h1>{escape(title)}</h1>
{sections}
</body>
</html>
"""


def _section(waterfall: Waterfall) -> str:
    people = list(dict.fromkeys(row.who for row in waterfall.rows if row.who))
    facts = "".join(f"<p>{escape(fact)}</p>" for fact in waterfall.facts)
    parts = "".join(f"<li>{escape(name)} <b>{milliseconds(seconds)}</b></li>" for name, seconds in waterfall.parts)
    rows = "\n".join(_row(waterfall, row, people) for row in waterfall.rows)
    return f"""<section>
<h2>{escape(waterfall.title)}</h2>
{facts}
{f'<ul class="parts">{parts}</ul>' if parts else ""}
<div class="grid">
<div class="row"><div class="what"></div><div class="lane axis">{"".join(_axis(waterfall))}</div></div>
{rows}
</div>
</section>"""


def _axis(waterfall: Waterfall) -> Iterator[str]:
    start, end = waterfall.window
    for number in range(TICKS + 1):
        moment = start + (end - start) * number / TICKS
        place = f"left:{100 * number / TICKS:.2f}%" if number < TICKS else "right:0"
        yield f'<span style="{place}">{(moment - waterfall.origin) * 1e3:+.1f} ms</span>'


def _row(waterfall: Waterfall, row: Row, people: list[str]) -> str:
    left, right = waterfall.place(row)
    hue = people.index(row.who) % HUES if row.who else HUES - 1
    offset = f"{(row.start - waterfall.origin) * 1e3:+.1f} ms"
    length = "" if row.end <= row.start else f", {milliseconds(row.end - row.start)} long"
    told = " · ".join(escape(part) for part in (row.who, row.note, f"{offset}{length}") if part)
    bar = (
        f'<i class="point" style="left:{100 * left:.3f}%"></i>'
        if row.end <= row.start
        else f'<i style="left:{100 * left:.3f}%;width:{100 * (right - left):.3f}%"></i>'
    )
    return (
        f'<div class="row h{hue}{" bad" if row.failed else ""}">'
        f'<div class="what" style="padding-left:{0.4 + row.depth:.1f}rem">{escape(row.what)}<small>{told}</small></div>'
        f'<div class="lane">{bar}</div></div>'
    )
