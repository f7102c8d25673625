"""compare takes what evaluate takes; plain files, tables, samples and silence."""

import json
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import precall
from precall.cli import main
from precall.cli.evaluating import compare_command, evaluate_command
from precall.data.labels import ClassShare

QUICK = ["--no-curves", "--no-modes", "--score", "coverage"]


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """Three sets of features in the working folder, one of them in a folder, too."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    Path("old").mkdir()
    for name, mean in (("real", 0.0), ("gan", 0.3), ("diffusion", 0.0), ("old/gan", 0.6)):
        np.save(f"{name}.npy", rng.normal(mean, 1, size=(120, 3)))


@pytest.fixture
def run(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["precall", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        captured = capsys.readouterr()
        return end.value.code, captured.out, captured.err

    return run


def test_both_commands_have_the_same_options():
    of_evaluate, of_compare = (
        {word for option in command.params for word in (*option.opts, *option.secondary_opts)}
        for command in (evaluate_command, compare_command)
    )
    assert of_evaluate - of_compare == {"generated"}
    assert of_compare - of_evaluate == {"models", "--subsample"}


def test_options_of_evaluate(run):
    options = ["--estimator", "knn", "--k", "7", "--folds", "3", "--score", "recall"]
    options += ["--score-k", "2", "--score-k", "4", "--no-intervals", "--no-modes", "--ceiling"]
    unseen = ["--threads", "1", "--quiet"]
    models = ["real.npy", "gan.npy", "diffusion.npy"]
    code, out, err = run("compare", *models, *options, *unseen, "--json", "-")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert list(found["results"]) == ["gan", "diffusion"]
    for result in found["results"].values():
        protocol = result["protocol"]
        assert (protocol["k"], protocol["split"]) == ({"knn": 7}, "cross-fit 3")
        assert list(result["scores"]) == ["recall_k2", "recall_k4"]
        assert result["scores"]["recall_k2"]["ceiling"]["m"] == 60
        assert (result["confidence"], result["modes"]) == (None, [])
        words = shlex.split(protocol["call"])
        assert sorted(words) == sorted(["precall", "compare", *models, *options])
    alone = precall.evaluate(
        "real.npy",
        "gan.npy",
        estimators=[precall.KNN(7)],
        split=precall.CrossFit(3),
        scores=["recall"],
        score_k=[2, 4],
    )
    of_gan = precall.Comparison.from_json(out).results["gan"]
    assert of_gan.curves["knn"].area == alone.curves["knn"].area
    assert {name: score.value for name, score in of_gan.scores.items()} == {
        name: score.value for name, score in alone.scores.items()
    }


def test_convention_held_out_and_engine(run):
    options = ["--convention", "prdc", "--no-curves", "--held-out", "real.npy"]
    options += ["--engine", "reference", "--no-modes", "--json", "-"]
    code, out, _ = run("compare", "real.npy", "gan.npy", "diffusion.npy", *options)
    assert code == 0
    for result in json.loads(out)["results"].values():
        assert result["protocol"]["convention"] == "prdc"
        assert result["protocol"]["engine"] == "reference"
        assert result["scores"]["recall"]["ceiling"]["m"] == 120


def test_labels_of_each_model(run):
    Path("r.txt").write_text("a\nb\n" * 60)
    Path("g.txt").write_text("a\nb\na\n" * 40)
    options = [*QUICK, "--no-intervals", "--labels-real", "r.txt", "--json", "c.json"]
    models = ["real.npy", "gan.npy", "diffusion.npy"]
    code, _, _ = run("compare", *models, *options, "--labels-generated", "gan=g.txt")
    results = precall.Comparison.from_json("c.json").results
    assert code == 0
    assert results["gan"].class_shares["a"] == ClassShare(0.5, 2 / 3)
    assert results["diffusion"].class_shares["a"] == ClassShare(0.5, None)
    assert set(results["diffusion"].classes) == {"a", "b"}
    code, _, _ = run("compare", *models, *options, "--labels-generated", "g.txt")
    assert code == 0  # one file for every model
    code, _, err = run("compare", *models, *options, "--labels-generated", "gen=g.txt")
    message = "--labels-generated names 'gen', which is not a model; choose from gan, diffusion."
    assert (code, err) == (2, f"precall: {message}\n")


def test_files_are_named_by_their_stems(run):
    def named(*models):
        code, out, err = run("compare", "real.npy", *models, *QUICK, "--json", "-")
        assert code == 0, err
        return list(json.loads(out)["results"])

    assert named("gan.npy", "diffusion.npy") == ["gan", "diffusion"]
    assert named("gan.npy", "best=diffusion.npy", "real.npy") == ["gan", "best", "real"]
    assert named("gan.npy", "old/gan.npy") == ["gan.npy", "old/gan.npy"]
    assert named("gan=old/gan.npy", "gan.npy") == ["gan", "gan.npy"]
    Path("a=b.npy").write_bytes(Path("gan.npy").read_bytes())
    assert named("a=b.npy", "gan.npy") == ["a=b", "gan"]
    code, _, err = run("compare", "real.npy", "gan.npy", "gan.npy")
    assert (code, err) == (2, "precall: gan.npy is given twice.\n")
    code, _, err = run("compare", "real.npy", "a=gan.npy", "a=diffusion.npy")
    message = "expected NAME=FILE, with a different NAME for each file; got 'a=diffusion.npy'."
    assert (code, err) == (2, f"precall: {message}\n")


def test_samples_of_every_model(run):
    models = ["real.npy", "gan.npy", "old/gan.npy"]
    code, _, _ = run("compare", *models, *QUICK, "--samples", "s.csv", "--quiet")
    assert code == 0
    written = sorted(path.name for path in Path().glob("s-*"))
    assert written == [
        *("s-gan.npy-generated.csv", "s-gan.npy-real.csv"),
        *("s-old_gan.npy-generated.csv", "s-old_gan.npy-real.csv"),
    ]
    run("evaluate", "real.npy", "old/gan.npy", *QUICK, "--samples", "t.csv", "--quiet")
    assert Path("t-generated.csv").read_text() == Path(written[2]).read_text()
    same = ["a/b=gan.npy", "a_b=old/gan.npy"]
    code, _, err = run("compare", "real.npy", *same, "--samples", "s.csv")
    assert (code, err) == (
        2,
        "precall: the samples of 'a_b' and of another model would be written to the same file; "
        "name them otherwise.\n",
    )
    code, _, err = run("compare", *models, "--samples", "s.csv", "--subsample")
    message = "--samples cannot be combined with --subsample, which leaves rows out."
    assert (code, err) == (2, f"precall: {message}\n")


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_tables_and_silence(run, command):
    models = ["real.npy", "gan.npy", "diffusion.npy"][: 2 if command == "evaluate" else 3]
    for ending in ("csv", "md", "tex"):
        written = ["--json", "r.json", "--html", "r.html", "--table", f"t.{ending}"]
        code, out, err = run(command, *models, *QUICK, *written, "--quiet")
        assert (code, out, err) == (0, "", "")
    kind = precall.Evaluation if command == "evaluate" else precall.Comparison
    table = kind.from_json("r.json").table()
    assert Path("t.csv").read_text() == table.to_csv()
    assert Path("t.md").read_text() == table.to_markdown()
    assert Path("t.tex").read_text() == table.to_latex()
    assert Path("r.html").stat().st_size > 1e6
    code, out, err = run(command, *models, *QUICK, "--json", "-", "--quiet")
    assert (code, err) == (0, "")
    assert kind.from_json(out).table().to_csv() == table.to_csv()
    code, _, err = run(command, "none.npy", *models[1:], "--quiet")
    message = "real: cannot read none.npy: No such file or directory."
    assert (code, err) == (2, f"precall: {message}\n")
    code, _, err = run(command, *models, "--table", "t.xls")
    message = "a table can only be written to a .csv, .md or .tex file; got t.xls."
    assert (code, err) == (2, f"precall: {message}\n")
    code, _, err = run(command, *models, "--table", "t.csv", "--json", "t.csv")
    assert (code, err) == (2, "precall: --json and --table would write the same file.\n")
    code, _, err = run(command, *models, "--table", "gan.npy")
    assert (code, err.split(":")[0]) == (2, "precall")


def test_pictures_that_cannot_be_read(run):
    Path("pictures").mkdir()
    for row in range(120):
        Image.new("L", (4, 4)).save(f"pictures/{row:03}.png")
    run("evaluate", "real.npy", "gan.npy", *QUICK, "--json", "r.json")
    worst = precall.Evaluation.from_json("r.json").extremes.worst_generated[0].row
    Path(f"pictures/{worst:03}.png").write_bytes(b"")
    page = ["--html", "r.html", "--images-generated", "pictures"]
    code, _, err = run("evaluate", "real.npy", "gan.npy", *QUICK, *page)
    assert (code, err.count("\n")) == (0, 1)
    assert err.startswith("warning: 1 of ")
    assert err.endswith(f" pictures cannot be read: pictures/{worst:03}.png.\n")
    said = err
    code, _, err = run("report", "r.json", "--images-generated", "pictures", "--out", "p.html")
    assert (code, err) == (0, said)
    code, _, err = run("evaluate", "real.npy", "gan.npy", *QUICK, *page, "--quiet")
    assert (code, err) == (0, "")
