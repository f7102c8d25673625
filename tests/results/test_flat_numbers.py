"""Numbers for loggers, tables and sentences for papers."""

from dataclasses import replace

import numpy as np
import pytest

import precall
from precall.results.flat_numbers import flat_numbers
from precall.results.protocol_sentence import protocol_sentence

RNG = np.random.default_rng(0)
REAL, GENERATED = RNG.normal(0, 1, (300, 3)), RNG.normal(0.5, 1, (250, 3))


@pytest.fixture(scope="module")
def result():
    return precall.evaluate(REAL, GENERATED, estimators=["knn", "coverage"], intervals=True)


def test_flat_numbers_are_those_of_the_result(result):
    flat = result.to_flat_dict()
    assert flat["recall"] == result.scores["recall"].value
    assert (flat["recall_low"], flat["recall_high"]) == result.scores["recall"].interval
    assert flat["knn_curve_area"] == result.curves["knn"].area
    assert flat["best_curve_f_8_low"] == result.bands["best"].summaries["f_8"][0]
    assert "best_curve_max_precision_low" not in flat  # has no interval
    assert all(type(value) is float for value in flat.values())


def test_a_prefix_stands_before_every_name_and_intervals_can_be_left_out(result):
    flat = result.to_flat_dict("val/", intervals=False)
    assert set(flat) == {f"val/{name}" for name in flat_numbers(result)}
    assert not any(name.endswith(("_low", "_high")) for name in flat)


def test_distances_are_known_as_such():
    scores = ["frechet_distance", "kernel_distance", "recall"]
    found = flat_numbers(precall.evaluate(REAL, GENERATED, estimators=["knn"], scores=scores))
    lower = {name for name, number in found.items() if number.is_distance}
    of_curve = {f"knn_curve_{key}" for key in ("total_variation", "jensen_shannon", "hellinger")}
    assert lower == {"frechet_distance", "kernel_distance", *of_curve}


def test_the_sentence_tells_the_whole_protocol(result):
    version = precall.__version__
    assert protocol_sentence(result) == (
        "250 generated samples were compared with 300 real ones by 3 features. Scores are as in "
        "precall, at k = 3 (precision, recall, precision_cover, recall_cover); 5 (density, "
        "coverage). Curves are at k = 16 (knn, coverage), split: 4 times hold-out 0.5. Intervals "
        f"have 95 % confidence, for these numbers of samples. Seed 0, precall {version}."
    )


def test_the_sentence_names_the_model_its_version_and_its_weights(result):
    how = {"model": "dinov2", "version": "2", "weights": "abcdef0123456789", "skipped": "0"}
    protocol = replace(result.protocol, extraction={"real": how, "generated": how})
    sentence = protocol_sentence(replace(result, protocol=protocol))
    assert "by 3 features of dinov2 (version 2, weights SHA-256 abcdef012345)." in sentence
    protocol = replace(
        result.protocol, extraction={"real": how, "generated": how | {"version": "3"}}
    )
    sentence = protocol_sentence(replace(result, protocol=protocol))
    assert "of dinov2 (version 2, weights SHA-256 abcdef012345) and dinov2 (version 3" in sentence


def test_preset_and_seed_are_told():
    result = precall.evaluate(REAL, GENERATED, estimators=(), convention="prdc", seed=7)
    sentence = protocol_sentence(result)
    assert "Scores are as in prdc, at k = 5 (precision, recall, density, coverage)." in sentence
    assert "Seed 7, " in sentence
    assert "Curves" not in sentence
    assert "Intervals" not in sentence


def test_markdown_has_scores_the_compared_curve_and_the_sentence(result, tmp_path):
    text = result.to_markdown(tmp_path / "card.md")
    assert (tmp_path / "card.md").read_text() == text
    table, sentence = text.rstrip("\n").split("\n\n")
    lines = table.splitlines()
    assert lines[0] == "| number | k | value | 95 % interval | if P = Q |"
    assert len(lines) == 2 + len(result.scores) + 5
    low, high = result.bands["best"].summaries["area"]
    area = (
        f"| area of the best curve |  | {result.best_curve.area:.3f} | {low:.3f} – {high:.3f} |  |"
    )
    assert area in lines
    assert sentence == protocol_sentence(result)


def test_latex_is_a_table_with_the_sentence_as_caption(result, tmp_path):
    text = result.to_latex(tmp_path / "table.tex")
    assert (tmp_path / "table.tex").read_text() == text
    assert text.startswith(
        "% needs \\usepackage{booktabs}\n\\begin{table}\n\\centering\n\\caption{"
    )
    assert "precision\\_cover, recall\\_cover" in text
    assert "95 \\% confidence" in text
    assert text.endswith("\\bottomrule\n\\end{tabular}\n\\end{table}\n")
    assert text.count("\\begin{") == text.count("\\end{") == 2


def test_without_scores_or_curves_there_is_a_sentence_all_the_same():
    result = precall.evaluate(REAL, GENERATED, estimators=(), scores=())
    assert result.to_flat_dict() == {}
    assert result.to_markdown().endswith(f"precall {precall.__version__}.\n")
