"""The page that `chaosctl trace --html` writes, as a browser shows it: nothing else is asked for, all is seen."""

from __future__ import annotations

import json
import re
import subprocess
from html import escape, unescape
from itertools import pairwise

import pytest

from chaos import waterfall_page
from chaos.handoff import handoffs, waterfall
from component.tracing.waterfall import Row, Waterfall
from tests.harness.browser import browser
from tests.harness.terms import NEW, new_term, old_term

HOSTILE = '<img src=x onerror="document.title=1">&"'
LOOK = """
<script>
const box = (one) => { const b = one.getBoundingClientRect(); return [b.left, b.right, b.top, b.bottom]; };
const bars = [...document.querySelectorAll(".lane i")];
const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const luminance = (text) => { const [r, g, b] = text.match(/[\\d.]+/g).map((v) => linear(v / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const contrast = (one, other) => { const [a, b] = [luminance(one), luminance(other)].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05); };
const page = getComputedStyle(document.body).backgroundColor;
document.body.dataset.seen = JSON.stringify({
  bars: bars.map(box), lanes: bars.map((bar) => box(bar.parentElement)),
  texts: Math.min(...[...document.querySelectorAll("h1,h2,p,li,.what,.what small,.axis span")]
    .map((one) => contrast(getComputedStyle(one).color, page))),
  colours: Math.min(...bars.map((bar) => contrast(getComputedStyle(bar).backgroundColor, page))),
  page, width: document.documentElement.scrollWidth, window: innerWidth,
  asked: performance.getEntriesByType("resource").map((one) => one.name),
  images: document.images.length, title: document.title,
});
</script>
"""


def made():
    (found,) = handoffs([*old_term(), *new_term(107.0)])
    other = Row(what=HOSTILE, start=1.0, end=2.0, who=HOSTILE, note=HOSTILE, failed=True)
    strange = Waterfall(title=HOSTILE, origin=1.0, rows=(other,), facts=(HOSTILE,), parts=((HOSTILE, 1.0),))
    return waterfall_page.page("hand-offs", [waterfall(found, 1), strange])


def test_it_needs_nothing_else():
    page = made()
    assert not re.search(r"//|\bsrc=|\bhref=|@import|url\(|<script", page.replace(escape(HOSTILE), ""))
    assert "<img" not in page
    assert f"-&gt; {NEW}" in page


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (420, True)], ids=["light", "dark and narrow"])
def test_a_browser_shows_all_of_it(tmp_path, width, dark):
    program = browser()
    allowed = made().replace("default-src 'none';", "default-src 'none'; script-src 'unsafe-inline';")
    path = tmp_path / "page.html"
    path.write_text(allowed.replace("</body>", f"{LOOK}</body>"), encoding="utf-8")
    done = subprocess.run(
        [
            *(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
            *(f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={width},900", "--dump-dom"),
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
            path.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=110,
        check=True,
    )
    (told,) = re.findall(r'data-seen="([^"]*)"', done.stdout)
    seen = json.loads(unescape(told))
    assert (seen["asked"], seen["images"], seen["title"]) == ([], 0, "hand-offs")
    assert (seen["page"] == "rgb(255, 255, 255)") is (not dark)
    assert seen["texts"] >= 4.5
    assert seen["colours"] >= 3.0
    assert seen["width"] <= seen["window"]
    assert len(seen["bars"]) == 7
    for (left, right, top, bottom), (first, last, above, below) in zip(seen["bars"], seen["lanes"], strict=True):
        assert right - left >= 2
        assert bottom > top
        assert first - 8 <= left
        assert right <= last + 8
        assert above <= top
        assert bottom <= below
    starts = [bar[0] for bar in seen["bars"][1:-1]]
    assert all(later >= earlier - 8 for earlier, later in pairwise(starts))  # a point's middle is its moment
