"""The page in a real browser: drawn, switched, read off; no errors, no requests."""

import os
import shutil

import numpy as np
import pytest

import precall
from precall.report.page import write_page

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine"),
]

RNG = np.random.default_rng(0)
REAL, GENERATED = RNG.normal(0, 1, (300, 5)), RNG.normal(0.6, 1, (300, 5))
HOSTILE = '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 1"><b>bold</b>'


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    pixels = RNG.integers(0, 255, (300, 8, 8), dtype=np.uint8)
    options = {"estimators": ["knn", "coverage"], "modes": 4}
    one = precall.evaluate(REAL, GENERATED, intervals=True, **options)
    one.to_html(folder / "one.html", images_real=pixels, images_generated=pixels)
    several = precall.compare(REAL, {HOSTILE: GENERATED, "same": REAL}, **options)
    several.to_html(folder / "several.html")
    few = {"scores": ["frechet_distance"], "modes": None, "intervals": False}
    mixed = {
        f"%{{x}} {i}": precall.evaluate(REAL, GENERATED, **few, estimators=["knn"])
        for i in range(9)
    }
    mixed["W" * 200] = precall.evaluate(REAL, GENERATED, **few, estimators=["ipr"])
    write_page(folder / "mixed.html", mixed)
    return {name: (folder / f"{name}.html").as_uri() for name in ("one", "several", "mixed")}


@pytest.fixture(scope="module")
def browser():
    # Chromium's own sandbox is not to be had for root, as whom machines that test often run.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, pages):
    troubles, contexts = [], []

    def visit(name, width=1200, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: troubles.append(message.text))
        tab.on("pageerror", lambda error: troubles.append(str(error)))
        tab.on("request", lambda request: _note(request.url))
        tab.goto(pages[name])
        tab.wait_for_selector("html[data-drawn]")
        return tab

    def _note(url):
        if url not in pages.values() and not url.startswith("data:"):
            troubles.append(f"request of {url:.100}")

    yield visit
    for context in contexts:
        context.close()
    assert troubles == []


def n_lines(tab):
    return tab.locator("#curves .scatterlayer .trace .lines path.js-line").count()


@pytest.mark.parametrize("name", ["one", "several"])
@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_charts_are_drawn_and_fit(visit, name, width, scheme):
    tab = visit(name, width, scheme)
    for chart in ("#curves", "#scores"):
        box = tab.locator(f"{chart} .main-svg").first.bounding_box()
        assert box["width"] > 200
        assert box["x"] + box["width"] <= width
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(246, 247, 249)", "dark": "rgb(18, 22, 27)"}[scheme]


def test_curves_are_switched_on_and_off(visit):
    tab = visit("one")
    assert n_lines(tab) == 3
    tab.get_by_role("checkbox", name="knn", exact=True).uncheck()
    assert n_lines(tab) == 2
    assert "knn" not in tab.locator("#reading tbody").inner_text()
    tab.get_by_role("checkbox", name="knn", exact=True).check()
    assert n_lines(tab) == 3
    bands = tab.locator("#curves .scatterlayer .js-fill")
    assert bands.count() == 2
    tab.get_by_role("checkbox", name="intervals, shaded").uncheck()
    assert bands.count() == 0


def test_models_are_switched_on_and_off(visit):
    tab = visit("several")
    assert n_lines(tab) == 2
    tab.get_by_role("checkbox", name="same", exact=True).uncheck()
    assert n_lines(tab) == 1
    tab.get_by_role("checkbox", name="coverage", exact=True).check()
    assert n_lines(tab) == 2


def test_models_with_different_curves_are_all_drawn_and_told_apart(visit):
    tab = visit("mixed")
    assert n_lines(tab) == 10
    styles = tab.evaluate(
        """() => document.getElementById("curves").data.filter((trace) => trace.name)
            .map((trace) => trace.line.color + trace.line.dash)"""
    )
    assert len(set(styles)) == 10
    names = tab.evaluate("document.getElementById('curves').data.map((trace) => trace.name)")
    assert "&#37;{x} 0: knn" in names
    assert tab.locator("#scores").count() == 0  # a distance is no share
    for width in (1200, 390):
        tab = visit("mixed", width)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_hovering_tells_trade_off_precision_and_recall(visit):
    tab = visit("one")
    tab.locator("#curves").scroll_into_view_if_needed()
    point = tab.evaluate(
        """() => {
            const chart = document.getElementById("curves"), full = chart._fullLayout;
            const line = chart.data.find((trace) => trace.name === "knn"), i = 60;
            const box = chart.getBoundingClientRect();
            return [box.x + full.xaxis._offset + full.xaxis.d2p(line.x[i]),
                    box.y + full.yaxis._offset + full.yaxis.d2p(line.y[i])];
        }"""
    )
    for name in ("best", "coverage"):
        tab.get_by_role("checkbox", name=name, exact=True).uncheck()
    tab.mouse.move(point[0] - 3, point[1] - 3)
    tab.mouse.move(*point)
    hover = tab.locator("#curves .hoverlayer .hovertext")
    hover.wait_for()
    shown = hover.text_content()
    assert all(word in shown for word in ("knn", "λ =", "precision", "recall"))


def test_the_keyboard_reads_off_the_curve(visit):
    tab = visit("one")
    slider = tab.locator("#trade-off")
    slider.focus()
    before = tab.locator("#reading tbody").inner_text()
    assert tab.locator("#lambda").inner_text() == "1"
    slider.press("End")
    assert tab.locator("#lambda").inner_text() == "∞"
    assert slider.get_attribute("aria-valuetext") == "lambda ∞"
    assert tab.locator("#reading tbody").inner_text() != before
    tab.locator("#theme").focus()
    tab.keyboard.press("Enter")
    tab.keyboard.press("Enter")
    assert tab.locator("#theme").inner_text() == "Theme: dark"
    assert tab.evaluate("document.documentElement.dataset.theme") == "dark"


def test_hidden_charts_are_drawn_when_opened(visit):
    tab = visit("several")
    part = tab.locator("details.holds-chart").first
    assert part.locator(".main-svg").count() == 0
    part.locator("summary").click()
    part.locator(".main-svg").first.wait_for()
    assert part.locator(".bars .point").count() >= 4


def test_hostile_names_do_nothing(visit):
    tab = visit("several")
    assert tab.evaluate("window.hacked") is None
    assert HOSTILE in tab.locator("#summary").inner_text()
    assert tab.get_by_role("checkbox", name=HOSTILE).count() == 1
    assert tab.locator("#curves b, #curves img, main b").count() == 0


def test_it_prints_light_and_whole(visit):
    tab = visit("one", scheme="dark")
    legend = tab.locator("#curves .legend .traces")
    assert legend.count() == 0
    tab.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert legend.count() == 3
    assert tab.evaluate("document.documentElement.dataset.theme") == "light"
    assert tab.locator("details:not([open])").count() == 0
    tab.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert tab.evaluate("document.documentElement.dataset.theme") == "dark"
    assert tab.pdf().startswith(b"%PDF")
