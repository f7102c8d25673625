"""The page in a real browser: drawn, switched, read off; no errors, no requests."""

import os
import shutil
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import precall
from precall.report.page import write_page
from precall.report.watch_page import write_watch_page

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
    follow = {"scores": ["recall"], "estimators": ["knn"], "intervals": True}
    epochs = {f"epoch-{i}": precall.evaluate(REAL, i + GENERATED, **follow) for i in range(4)}
    epochs[HOSTILE] = epochs["epoch-0"]
    write_watch_page(folder / "watch.html", epochs, refused={"x": HOSTILE})
    write_page(folder / "checkpoints.html", {f"epoch-{i}": epochs[f"epoch-{i}"] for i in range(4)})
    write_page(folder / "scales.html", {"near": _scored(1.2, 0.5), "far": _scored(3.2, -0.25)})
    return {path.stem: path.as_uri() for path in folder.glob("*.html")}


def _scored(density, alpha_precision):
    """A result with scores on and off their scales."""
    result = precall.evaluate(REAL, GENERATED, estimators=(), scores=["precision"])
    scores = {
        "precision": precall.Score(0.5, 3, interval=(0.4, 0.6)),
        "density": precall.Score(density, 5),
        "alpha_precision": precall.Score(alpha_precision),
        "frechet_distance": precall.Score(10 * density),
    }
    return replace(result, scores=scores)


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
        if url not in pages.values() and not url.startswith(("data:", "blob:")):
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


@pytest.mark.parametrize("name", ["watch", "checkpoints"])
@pytest.mark.parametrize("width", [1280, 800, 420])
def test_time_lines_are_drawn_and_fit(visit, name, width):
    tab = visit(name, width)
    charts = tab.locator(".chart.timeline .main-svg:first-child")
    assert charts.count() == 3
    for chart in charts.all():
        box = chart.bounding_box()
        assert box["width"] > 200
        assert box["x"] + box["width"] <= width
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate("window.hacked") is None


def test_a_slider_goes_from_result_to_result(visit):
    tab = visit("watch")
    name, lines = tab.locator("#checkpoint-name"), tab.locator("#checkpoint-curves path.js-line")
    assert name.inner_text() == HOSTILE
    assert lines.count() == 2  # beside the best
    tab.locator("#checkpoint").fill("1")
    assert name.inner_text() == "epoch-1"
    before = tab.locator("#checkpoint-reading tbody").inner_text()
    assert before.startswith("recall")
    tab.locator("#checkpoint").fill("0")  # the best, of equals the first
    assert lines.count() == 1
    assert tab.locator("#checkpoint-reading tbody").inner_text() != before


def test_curves_are_switched_on_and_off(visit):
    tab = visit("one")
    bands = tab.locator("#curves .scatterlayer .js-fill")
    shading = tab.get_by_role("checkbox", name="intervals, shaded")
    assert (n_lines(tab), bands.count()) == (1, 1)
    assert tab.locator("#reading tbody").inner_text().startswith("best")
    tab.get_by_role("checkbox", name="knn", exact=True).check()
    assert (n_lines(tab), bands.count()) == (2, 2)
    assert "knn" in tab.locator("#reading tbody").inner_text()
    tab.get_by_role("checkbox", name="coverage", exact=True).check()
    assert (n_lines(tab), bands.count()) == (3, 3)
    shading.uncheck()
    assert bands.count() == 0


@pytest.mark.parametrize("name", ["one", "several"])
def test_switches_look_like_their_lines(visit, name):
    tab = visit(name)
    for box in tab.locator("#curve-names input:enabled").all():
        box.check()
    group = "#models" if name == "several" else "#curve-names"
    keys = tab.locator(f"{group} label .key path").evaluate_all(
        "paths => paths.map((path) => getComputedStyle(path).stroke)"
    )
    lines = tab.evaluate(
        """() => [...new Set([...document.querySelectorAll("#curves .js-line")]
            .map((line) => getComputedStyle(line).stroke))]"""
    )
    assert keys == lines


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
    assert tab.locator("#scores .xaxislayer-above").count() == 1
    for width in (1200, 390):
        tab = visit("mixed", width)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_hovering_tells_trade_off_precision_and_recall(visit):
    tab = visit("one")
    tab.locator("#curves").scroll_into_view_if_needed()
    point = tab.evaluate(
        """() => {
            const chart = document.getElementById("curves"), full = chart._fullLayout;
            const line = chart.data.find((trace) => trace.name === "best"), i = 60;
            const box = chart.getBoundingClientRect();
            return [box.x + full.xaxis._offset + full.xaxis.d2p(line.x[i]),
                    box.y + full.yaxis._offset + full.yaxis.d2p(line.y[i])];
        }"""
    )
    tab.mouse.move(point[0] - 3, point[1] - 3)
    tab.mouse.move(*point)
    hover = tab.locator("#curves .hoverlayer .hovertext")
    hover.wait_for()
    shown = hover.text_content()
    assert all(word in shown for word in ("best", "λ =", "precision", "recall"))


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
    wide = tab.locator("#scores .main-svg").first.bounding_box()["width"]
    tab.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert legend.count() == 1
    for chart in ("#curves", "#scores", ".modes"):
        assert tab.locator(f"{chart} .main-svg").first.bounding_box()["width"] <= 680
    tab.emulate_media(media="print")
    for table in tab.locator("table:visible").all():
        assert table.evaluate("table => table.scrollWidth") <= 680
    tab.emulate_media(media="screen")
    assert tab.evaluate("document.documentElement.dataset.theme") == "light"
    assert tab.locator("details:not([open])").count() == 0
    tab.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert tab.evaluate("document.documentElement.dataset.theme") == "dark"
    tab.wait_for_timeout(500)  # charts are measured anew a moment later
    assert tab.locator("#scores .main-svg").first.bounding_box()["width"] == wide
    assert tab.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("chart", ["curves", "scores", "modes"])
def test_charts_are_saved_without_a_network(visit, chart, tmp_path):
    tab = visit("one", scheme="dark")
    tab.context.set_offline(True)
    for ending, head in (("png", b"\x89PNG"), ("svg", b"<svg")):
        button = tab.get_by_role("button", name=f"Save the chart of {chart} as {ending.upper()}")
        with tab.expect_download() as download:
            button.click()
        assert download.value.suggested_filename == f"{chart}.{ending}"
        download.value.save_as(tmp_path / f"chart.{ending}")
        assert (tmp_path / f"chart.{ending}").read_bytes().startswith(head)
    ground = Image.open(tmp_path / "chart.png").convert("RGB").getpixel((1, 1))
    assert ground == (255, 255, 255)  # on white, whatever the page is on
    drawn = (tmp_path / "chart.svg").read_text(encoding="utf-8")
    told = {"curves": "best", "scores": "if both distributions were the same", "modes": "generated"}
    assert told[chart] in drawn
    assert tab.evaluate("document.documentElement.dataset.theme") == "dark"


def test_scores_off_the_scale_are_arrows_with_numbers(visit):
    tab = visit("scales")
    numbers = tab.locator("#scores .textpoint text").all_text_contents()
    assert numbers == ["3.200", "-0.250"]
    legend = tab.locator("#score-legend li").all_inner_texts()
    assert [words.strip() for words in legend] == [
        "near",
        "far",
        "interval",
        "off the scale, with its number",
    ]
    scales = tab.evaluate(
        """() => Object.entries(document.getElementById("scores").layout)
            .filter(([key]) => key.startsWith("xaxis")).map(([, axis]) => axis.range[1] > 2)"""
    )
    assert scales == [False, True]  # of shares, of the distance


def test_wide_tables_show_that_there_is_more(visit):
    tab = visit("several", width=390)
    wide = tab.locator("#curves-title ~ .scroll")
    assert wide.evaluate("part => part.scrollWidth > part.clientWidth")
    assert "linear-gradient" in wide.evaluate("part => getComputedStyle(part).backgroundImage")


def test_neighbours_are_as_bright_as_samples(visit):
    tab = visit("one")
    opacities = tab.locator(".pair img").evaluate_all(
        "pictures => pictures.map((picture) => getComputedStyle(picture).opacity)"
    )
    assert set(opacities) == {"1"}
    assert len(opacities) == 48
