"""The page: everything is in it, hostile names stay text, and it needs nothing from outside."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import precall
from precall import report
from precall.report.page import render_page, write_page
from precall.report.protocol_tables import protocol_tables
from precall.report.protocols import protocol_differences
from precall.report.sections import PARTS, SECTIONS
from precall.report.tables import score_table_in_words, summary_tables
from precall.report.thumbnails import as_thumbnails
from precall.report.words import difference_in_words, in_words, names_in_words
from precall.results import page_writer
from precall.results.differences import most_telling
from precall.scores import HEADLINE, METRICS

RNG = np.random.default_rng(0)
REAL, GENERATED = RNG.normal(0, 1, (300, 5)), RNG.normal(0.6, 1, (250, 5))
HOSTILE = '</script><script>alert(1)</script><img src=x onerror="alert(2)"> & {{ 7*7 }}'


class Elements(HTMLParser):
    """Collects the elements of a page and the text of its tables."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text, self._skipped = [], [], False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._skipped = tag in ("script", "style")

    def handle_endtag(self, tag):
        self._skipped = self._skipped and tag not in ("script", "style")

    def handle_data(self, data):
        if not self._skipped and data.strip():
            self.text.append(data)


@pytest.fixture(scope="module")
def result():
    return precall.evaluate(
        REAL,
        GENERATED,
        estimators=["knn", "coverage"],
        intervals=True,
        modes=4,
        ceiling=True,
        labels_real=np.where(REAL[:, 0] > 0, HOSTILE, "b"),
    )


@pytest.fixture(scope="module")
def page(result):
    return render_page({"model": result})


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])


def test_everything_is_on_the_page(result, page):
    text = " ".join(Elements(page).text)
    warnings = map(names_in_words, result.warnings)
    for sentence in (*result.diagnosis(), *warnings, result.protocol.call):
        assert sentence in text
    for name, score in result.scores.items():
        assert in_words(name) in text
        assert f"{score.value:.3f}" in text
        assert score.ceiling is None or f"{score.ceiling.perfect:.3f}" in text
    for table in (score_table_in_words({"": result}), *summary_tables({"": result})):
        assert all(cell in text for row in table.rows for cell in row)
    assert result.protocol.fingerprints["real"] in text
    for sample in result.extremes.worst_generated[:12]:
        assert str(sample.row) in text


def test_charts_get_the_curves(result, page):
    data = data_of(page)
    (model,) = data["models"]
    assert [curve["name"] for curve in model["curves"]] == ["best", "knn", "coverage"]
    knn = model["curves"][1]
    middle = data["tradeOffs"].index("1")
    precision, recall = result.curves["knn"].at(1.0)
    assert knn["precision"][middle] == pytest.approx(precision, abs=1e-5)
    assert knn["recall"][middle] == pytest.approx(recall, abs=1e-5)
    assert knn["recall"][0] == pytest.approx(result.curves["knn"].max_recall, abs=1e-5)
    assert knn["precision"][-1] == pytest.approx(result.curves["knn"].max_precision, abs=1e-5)
    assert (data["tradeOffs"][0], data["tradeOffs"][-1]) == ("0", "∞")
    assert len(knn["band"]["recall"]) == len(knn["band"]["precision"])
    (scale,) = data["scales"]
    (points,) = scale["models"]
    assert scale["names"] == [in_words(name) for name in result.scores]
    recall_score = points[scale["names"].index("recall")]
    assert recall_score["interval"] == list(result.scores["recall"].interval)


def test_every_chart_has_a_table_and_a_name(page):
    elements = Elements(page)
    charts = [of for tag, of in elements.tags if "chart" in of.get("class", "").split()]
    assert len(charts) == 3
    assert all(of["role"] == "img" and "table" in of["aria-label"] for of in charts)
    assert sum(tag == "table" for tag, _ in elements.tags) >= 6
    assert elements.tags[:2] == [("html", {"lang": "en"}), ("head", {})]


def test_nothing_is_fetched_and_the_page_is_small(page):
    assert len(page.encode()) < 6_000_000
    outside = [of for _, of in Elements(page).tags if set(of) & {"src", "href"}]
    targets = [of.get("src", of.get("href")) for of in outside]
    assert targets
    assert all(target.startswith(("data:", "#")) for target in targets)
    assert "default-src 'none'; img-src data: blob:;" in page


def test_hostile_names_stay_text(result):
    protocol = replace(result.protocol, call=HOSTILE, sources={"real": HOSTILE, "generated": "g"})
    hostile = replace(result, warnings=(HOSTILE,), protocol=protocol)
    page = render_page({HOSTILE: hostile, "other": result}, title=HOSTILE)
    elements = Elements(page)
    assert sum(tag == "script" for tag, _ in elements.tags) == 3
    assert not any(tag == "img" for tag, _ in elements.tags)
    assert " ".join(elements.text).count(HOSTILE) > 5
    assert data_of(page)["models"][0]["name"] == HOSTILE


def test_results_made_differently_are_flagged(result):
    other = precall.evaluate(
        REAL[:200], GENERATED, estimators=[precall.KNN(k=9), "coverage"], score_k=4
    )
    sentences = protocol_differences({"one": result, "two": other})
    assert sentences[:2] == [
        "The number of real samples differs (one: 300, two: 200).",
        "The real samples differ.",
    ]
    assert "The k of the knn curve differs (one: 16, two: 9)." in sentences
    assert "The k of the score coverage differs (one: 5, two: 4)." in sentences
    page = render_page({"one": result, "two": other})
    text = " ".join(Elements(page).text)
    assert all(sentence in text for sentence in sentences)
    assert protocol_differences({"one": result, "again": result}) == []


@pytest.mark.parametrize(
    "options",
    [
        {"estimators": ()},
        {"scores": ()},
        {"estimators": (), "scores": ()},
        {"split": False},
        {"estimators": ["knn"], "scores": ["frechet_distance"]},
        {"scores": "all", "score_k": [2, 3]},
    ],
)
def test_pages_of_partial_results(options):
    result = precall.evaluate(REAL, GENERATED, **options)
    page = render_page({"model": result})
    assert result.diagnosis()[0] in page
    assert ('id="curves"' in page) == bool(result.curves)
    assert ('id="scores"' in page) == bool(result.scores)


def test_names_are_words():
    result = precall.evaluate(
        REAL,
        GENERATED,
        estimators=[precall.KNN(3), precall.KNN(7), "classifier"],
        scores=["precision_cover", "frechet_distance"],
        score_k=[2, 10],
        labels_real=np.where(REAL[:, 0] > 0, "a", "b"),
        labels_generated=np.where(GENERATED[:, 0] > 0, "a", "b"),
    )
    text = " ".join(Elements(render_page({"model": result})).text)
    shown = text[text.index("Precision–recall curves") :]
    before, _, after = shown.partition(result.protocol.call)
    for name in ("precision cover, k = 10", "Fréchet distance", "knn, k = 7", "classifier"):
        assert name in shown
    assert not re.search(r"[a-z]_[a-z]", before + after)
    assert "Trained(" not in after
    assert "None" not in after
    assert "numpy.ndarray" not in after


def test_the_protocol_tells_k(result):
    tables = protocol_tables({"model": result})
    facts = {row[0]: row[1] for row in tables[0].rows}
    assert facts["k of the curves"] == "16 (knn, coverage)"
    assert facts["k of the scores"] == (
        "3 (precision, recall, precision cover, recall cover); 5 (density, coverage)"
    )
    several = precall.evaluate(REAL, GENERATED, estimators=(), scores=["recall"], score_k=[2, 9])
    (table,) = protocol_tables({"model": several})
    assert ["k of the scores", "2, 9 (recall)"] in table.rows
    assert all(cell for row in table.rows for cell in row)  # nothing about what is not there


def test_the_protocol_has_a_date(result, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    tables = protocol_tables({"model": result})
    assert ["page written on", "1970-01-02"] in tables[0].rows


def test_the_protocol_of_several_models_tells_what_they_share_once(result):
    other = replace(result, protocol=replace(result.protocol, m=10, seed=3))
    shared, differing = protocol_tables({"one": result, "other": other})
    assert [row[0] for row in differing.rows] == ["generated samples", "seed"]
    assert shared.headings == ["what", "of all models"]
    assert ["features", "5, float64"] in shared.rows


def test_no_caption_repeats_what_stands_above(page):
    parts = re.findall(r"<(h[1-4]|summary|caption)\b[^>]*>(.*?)</\1>", page, re.S)
    titles = [words for tag, words in parts if tag != "caption"]
    assert not {words for tag, words in parts if tag == "caption"} & set(titles)


def test_only_what_is_there_is_explained():
    result = precall.evaluate(REAL, GENERATED, estimators=["knn"], scores=["precision"])
    page = render_page({"model": result})
    text = " ".join(Elements(page).text)
    assert "lower ones tell more" not in text
    assert "other curves" not in text
    assert "interval" not in text
    pixels = RNG.integers(0, 255, (250, 8, 8), dtype=np.uint8)
    page = render_page({"model": result}, images_generated={"model": pixels})
    assert "no picture" not in page


def test_summaries_of_many_curves_are_folded(result):
    models = {f"model {i}": result for i in range(7)}
    first, others = summary_tables(models)
    assert [row[0] for row in first.rows] == [f"model {i}: best" for i in range(7)]
    assert len(others.rows) == 14
    page = render_page(models)
    folded = re.search(
        r"<details><summary>Summaries of other curves</summary>.*?</details>", page, re.S
    )
    assert folded[0].count('<th scope="row">') == 14


def test_pages_of_comparisons(tmp_path):
    both = precall.compare(REAL, {"near": REAL[:250], "far": GENERATED}, estimators=["knn"])
    both.to_html(tmp_path / "page.html", title="Two models")
    text = " ".join(Elements((tmp_path / "page.html").read_text()).text)
    clear = [d for d in both.differences if d.is_clear]
    first = most_telling(both.differences)[0]
    assert f"near less far: {difference_in_words(first.what)} {first.value:+.3f} (" in text
    assert f"; {len(clear)} of {len(both.differences)} differences are clear of chance." in text
    assert "near dominates far: its knn curve is clearly higher at λ from 1/" in text
    assert "intervals and bands of these differences hold at once, with 95 % confidence." in text
    assert all(f"{d.value:+.3f}" in text for d in clear)


def test_a_page_from_json_is_the_same(result, tmp_path):
    again = precall.Evaluation.from_json(result.to_json())
    assert render_page({"model": again}) == render_page({"model": result})
    pixels = RNG.integers(0, 255, (300, 8, 8, 3), dtype=np.uint8)
    again.to_html(tmp_path / "page.html", images_real=pixels)
    page = (tmp_path / "page.html").read_text()
    assert page.count('src="data:image/png;base64,') >= 24


def test_pictures_stand_beside_their_nearest(result):
    pixels = {n: RNG.integers(0, 255, (n, 8, 8), dtype=np.uint8) for n in (300, 250)}
    page = render_page(
        {"model": result}, images_real=pixels[300], images_generated={"model": pixels[250]}
    )
    worst = result.extremes.worst_generated[0]
    own = as_thumbnails(pixels[250], 250, "generated").data_uri(worst.row)
    nearest = as_thumbnails(pixels[300], 300, "real").data_uri(worst.nearest)
    assert page.index(own) < page.index(nearest) < page.index(f"row {worst.row}, realism")
    assert f"nearest real sample, row {worst.nearest}" in page


def test_every_section_has_its_fragment():
    folder = Path(report.__file__).parent / "assets" / "sections"
    names = {section.__name__ for section in (*SECTIONS, *PARTS)}
    names.add("checkpoint_curves")  # of pages that follow results over time
    assert {path.stem for path in folder.iterdir()} == names


def test_importing_the_report_lets_results_write_pages(result, tmp_path, monkeypatch):
    monkeypatch.setattr(page_writer, "_registered", [])
    with pytest.raises(RuntimeError, match=r"^nothing can write pages yet; import precall\.report"):
        result.to_html(tmp_path / "page.html")
    page_writer.register_page_writer(write_page)
    result.to_html(tmp_path / "page.html", title="Again")
    assert "<h1>Again</h1>" in (tmp_path / "page.html").read_text()


def test_the_report_is_cheap_to_import():
    code = "import sys, precall.report.page; print(*sys.modules, sep='\\n')"
    modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"matplotlib", "jinja2", "plotly", "tabulate", "PIL"} & set(modules)


def test_every_score_is_explained(result):
    page = render_page({"model": result})
    sentences = HEADLINE | {name: metric.sentence for name, metric in METRICS.items()}
    for name in result.scores:
        assert f"<dt>{in_words(name)}</dt><dd>{sentences[name]}</dd>" in page


def test_pictures_that_cannot_be_read_are_counted(result, tmp_path):
    from PIL import Image

    shown = {sample.row for sample in result.extremes.worst_generated[:12]}
    shown |= {row for mode in result.modes for row in mode.nearest_generated[:5]}
    shown |= {sample.nearest for sample in result.extremes.least_covered_real[:12]}
    for row in range(len(GENERATED)):
        Image.new("L", (4, 4)).save(tmp_path / f"{row:03}.png")
    broken = result.extremes.worst_generated[1].row
    (tmp_path / f"{broken:03}.png").write_bytes(b"not a picture")
    text = f"1 of {len(shown)} pictures cannot be read: {tmp_path / f'{broken:03}.png'}."
    with pytest.warns(precall.PrecallWarning, match=f"^{re.escape(text)}$"):
        page = render_page({"model": result}, images_generated={"model": tmp_path})
    assert text in "".join(Elements(page).text)
    shown_by_two = {"a": result, "b": result}
    with pytest.warns(precall.PrecallWarning) as caught:  # real ones of both models: one line
        render_page(shown_by_two, images_generated={"a": tmp_path, "b": tmp_path})
    assert [str(warning.message) for warning in caught] == [text]
    (tmp_path / f"{result.extremes.worst_generated[0].row:03}.png").write_bytes(b"")
    with pytest.warns(precall.PrecallWarning, match=f"^2 of {len(shown)} pictures .*, the first "):
        render_page({"model": result}, images_generated={"model": tmp_path})


def test_checkpoints_of_a_model_have_a_time_line():
    result = precall.evaluate(REAL, GENERATED, estimators=["knn"], intervals=True)
    page = render_page({f"epoch-{i}": result for i in (10, 2, 3)})  # as a shell lists them
    assert "Highest area of the knn curve: epoch-2" in page
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])["timeLine"]
    assert (data["labels"], data["numbers"]) == (["epoch-2", "epoch-3", "epoch-10"], [2, 3, 10])
    page = render_page(dict.fromkeys(("gan", "vae", "flow"), result))
    assert 'id="timeline-title"' not in page
    assert '"timeLine"' not in page
