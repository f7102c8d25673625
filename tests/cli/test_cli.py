import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import precall
from precall.cli import main
from precall.scores import METRICS

RNG = np.random.default_rng(0)


@pytest.fixture
def files(tmp_path):
    for name, mean in (("real", 0.0), ("generated", 0.7)):
        np.save(tmp_path / f"{name}.npy", RNG.normal(mean, 1, size=(200, 3)))
    return str(tmp_path / "real.npy"), str(tmp_path / "generated.npy")


@pytest.fixture
def run(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["precall", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        captured = capsys.readouterr()
        return end.value.code, captured.out, captured.err

    return run


def test_evaluate_prints_a_table(run, files):
    code, out, err = run("evaluate", *files)
    assert code == 0
    assert err == ""
    result = precall.evaluate(*files, intervals=True, modes="auto")
    words = "\n".join(result.diagnosis())
    assert out == f"{result!r}\n\n{words}\n"
    code, out, _ = run("evaluate", *files, "--no-intervals", "--no-modes", "--no-curves")
    assert (code, out) == (0, f"{precall.evaluate(*files, estimators=())!r}\n")


def test_json_on_stdout_is_alone(run, files):
    code, out, err = run("evaluate", *files, "--json", "-", "--seed", "3")
    assert code == 0
    result = precall.evaluate(*files, seed=3, intervals=True, modes="auto")
    found, expected = json.loads(out), json.loads(result.to_json())
    command = found["protocol"].pop("call")
    assert command == shlex.join(["precall", "evaluate", *files, "--seed", "3"])
    assert expected["protocol"].pop("call").startswith("precall.evaluate(")
    assert found == expected
    assert err.startswith("200 real and 200 generated samples")


def test_json_to_a_file(run, files, tmp_path):
    path = tmp_path / "result.json"
    code, out, _ = run("evaluate", *files, "--json", str(path))
    assert code == 0
    assert "coverage" in out
    assert precall.Evaluation.from_json(path).protocol.n == 200


@pytest.mark.parametrize(
    ("options", "split", "curves"),
    [
        (["--split"], "hold-out 0.5", {"ipr": 14, "coverage": 14, "knn": 14, "parzen": 14}),
        (["--no-split", "--k", "4", "--estimator", "knn"], "none", {"knn": 4}),
        (
            ["--folds", "3", "--estimator", "ipr", "--estimator", "knn"],
            "cross-fit 3",
            {"ipr": 14, "knn": 14},
        ),
        (
            ["--k", "sqrt", "--engine", "reference", "--threads", "1"],
            "4 times hold-out 0.5",
            {"ipr": 14, "coverage": 14, "knn": 14, "parzen": 14},
        ),
    ],
)
def test_options(run, files, options, split, curves):
    code, out, _ = run("evaluate", *files, *options, "--json", "-")
    protocol = json.loads(out)["protocol"]
    assert code == 0
    assert protocol["split"] == split
    assert protocol["k"] == curves


def test_scores_and_samples(run, files, tmp_path):
    options = ["--no-curves", "--score", "all", "--score-k", "2", "--score-k", "4", "--no-modes"]
    path = tmp_path / "samples.csv"
    code, out, err = run("evaluate", *files, *options, "--samples", str(path))
    assert (code, err) == (0, "")
    result = precall.evaluate(*files, estimators=(), scores="all", score_k=[2, 4], intervals=True)
    assert out == f"{result!r}\n"
    assert (tmp_path / "samples-real.csv").read_text().startswith("index,nearest_generated,")
    assert len((tmp_path / "samples-generated.csv").read_text().splitlines()) == 201


def test_convention_and_labels(run, files, tmp_path):
    (tmp_path / "labels.txt").write_text("a\nb\n" * 100)
    options = ["--convention", "prdc", "--labels-generated", str(tmp_path / "labels.txt")]
    code, out, _ = run("evaluate", *files, *options, "--json", "-")
    document = json.loads(out)
    assert code == 0
    assert document["protocol"]["convention"] == "prdc"
    assert list(document["scores"]) == ["precision", "recall", "density", "coverage"]
    assert list(document["classes"]) == ["a", "b"]
    code, out, _ = run("evaluate", *files, "--score", "none", "--json", "-")
    assert json.loads(out)["scores"] == {}


def test_no_output_overwrites_an_input(run, files, tmp_path):
    labels = tmp_path / "labels.txt"
    labels.write_text("a\nb\n" * 100)
    arguments = ["evaluate", *files, "--labels-real", str(labels)]
    code, _, err = run(*arguments, "--json", str(labels))
    assert (code, err) == (2, f"precall: cannot write to {labels}: it is one of the inputs.\n")
    table = labels.rename(tmp_path / "s-real.csv")
    arguments = ["evaluate", *files, "--labels-real", str(table)]
    code, _, err = run(*arguments, "--samples", str(tmp_path / "s.csv"))
    assert (code, err) == (2, f"precall: cannot write to {table}: it is one of the inputs.\n")
    assert table.read_text().startswith("a\nb\n")
    both = ["--json", str(tmp_path / "t-real.csv"), "--samples", str(tmp_path / "t.csv")]
    code, _, err = run("evaluate", *files, *both)
    assert (code, err) == (2, "precall: --json and --samples would write the same file.\n")


def test_an_unwritable_folder_is_noticed_first(run, files, monkeypatch):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("precall.runtime.output_files.tempfile.TemporaryFile", refuse)
    monkeypatch.setattr(
        "precall.cli.evaluating.evaluate", lambda *_, **__: pytest.fail("worked in vain")
    )
    code, _, err = run("evaluate", *files, "--json", "out.json")
    assert (code, err) == (2, "precall: cannot write to out.json: Permission denied.\n")


def test_classifiers_and_clusters(run, files):
    options = ["--estimator", "classifier:kernel", "--estimator", "clusters:4", "--coin-flip"]
    code, out, _ = run("evaluate", *files, *options, "--score", "none")
    assert code == 0
    for text in ("split: coin flip", "classifier_kernel", "clusters", "test for P = Q"):
        assert text in out


def test_k_by_cross_validation(run, files):
    code, out, _ = run("evaluate", *files, "--k", "cv", "--estimator", "knn", "--json", "-")
    assert code == 0
    assert len(json.loads(out)["protocol"]["choices"]["knn"]) == 4


def test_ceiling(run, files):
    options = ["--no-curves", "--score", "recall", "--json", "-"]
    for option, m in ((["--ceiling"], 100), (["--held-out", files[0]], 200)):
        code, out, _ = run("evaluate", *files, *options, *option)
        assert code == 0
        assert json.loads(out)["scores"]["recall"]["ceiling"]["m"] == m


def test_convert_and_info(run, files, tmp_path):
    code, out, _ = run("convert", files[0], str(tmp_path / "shards"), "--shard-rows", "150")
    assert (code, out.split(":")[0]) == (0, "wrote 2 files")
    code, out, _ = run("info", str(tmp_path / "shards"))
    assert code == 0
    assert "samples            200" in out
    code, _, err = run("info", str(tmp_path / "none.npy"))
    assert (code, err) == (
        2,
        f"precall: file: cannot read {tmp_path / 'none.npy'}: No such file or directory.\n",
    )


def test_the_command_of_a_result_repeats_it(run, files, tmp_path):
    options = [
        "--estimator",
        "knn",
        "--k",
        "7",
        "--no-modes",
        "--score",
        "recall",
        "--score-k",
        "2",
    ]
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    assert run("evaluate", *files, *options, "--folds", "3", "--json", str(first))[0] == 0
    _, *words = shlex.split(precall.Evaluation.from_json(first).protocol.call)
    assert words == ["evaluate", *files, *options[:4], "--folds", "3", *options[5:], "--no-modes"]
    assert run(*words, "--json", str(second))[0] == 0
    assert first.read_text() == second.read_text()


def test_html(run, files, tmp_path):
    page = tmp_path / "report.html"
    options = ["--estimator", "knn", "--estimator", "ipr", "--html", str(page)]
    code, out, _ = run("evaluate", *files, *options)
    assert (code, out.splitlines()[-1]) == (0, f"report: {page}")
    assert "precall evaluate " in page.read_text()
    code, out, err = run("evaluate", *files, *options, "--json", "-")
    assert (code, json.loads(out)["format_version"]) == (0, 7)
    assert f"report: {page}" in err


def test_pictures_are_counted_before_the_work(run, files, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "precall.cli.evaluating.evaluate", lambda *_, **__: pytest.fail("worked in vain")
    )
    manifest = tmp_path / "pictures.txt"
    manifest.write_text("a.png\nb.png\n")
    with_pictures = ["evaluate", *files, "--images-generated", str(manifest)]
    code, _, err = run(*with_pictures)
    assert (code, err) == (
        2,
        "precall: --images-real and --images-generated need a page; add --html PATH.\n",
    )
    code, _, err = run(*with_pictures, "--html", str(tmp_path / "r.html"))
    assert (code, err) == (
        2,
        f"precall: images of generated: {manifest} has 2 lines, but there are 200 samples; give "
        "one for each row, in the order of the rows.\n",
    )
    code, _, err = run("evaluate", *files, "--html", files[0])
    assert (code, err) == (2, f"precall: cannot write to {files[0]}: it is one of the inputs.\n")
    models = [f"a={files[0]}", f"b={files[1]}"]
    page = ["--html", str(tmp_path / "r.html")]
    code, _, err = run("compare", files[0], *models, *page, "--images-generated", f"c={tmp_path}")
    assert (code, err) == (
        2,
        "precall: --images-generated names 'c', which is not a model; choose from a, b.\n",
    )
    folder = ["--subsample", "--images-generated", f"a={tmp_path}"]
    code, _, err = run("compare", files[0], *models, *page, *folder)
    assert (code, err) == (
        2,
        "precall: --images-generated cannot be combined with --subsample, which leaves rows out.\n",
    )


def test_two_outputs_are_two_files(run, files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    both = ["--json", "same.out", "--html", str(tmp_path / "same.out")]
    code, _, err = run("evaluate", *files, *both)
    assert (code, err) == (2, "precall: --json and --html would write the same file.\n")
    manifest = tmp_path / "pictures.txt"
    manifest.write_text("a.png\n")
    code, _, err = run("evaluate", *files, "--images-real", str(manifest), "--html", str(manifest))
    assert (code, err) == (2, f"precall: cannot write to {manifest}: it is one of the inputs.\n")
    assert manifest.read_text() == "a.png\n"


def test_arguments_that_look_like_options_are_repeated(run, files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(files[1]).rename("-g.npy")
    options = ["--no-curves", "--no-modes", "--no-intervals"]
    code, out, _ = run("evaluate", *options, "--json", "-", "--", files[0], "-g.npy")
    assert code == 0
    command = json.loads(out)["protocol"]["call"]
    assert command == shlex.join(
        [
            "precall",
            "evaluate",
            "--no-curves",
            "--no-intervals",
            "--no-modes",
            "--",
            files[0],
            "-g.npy",
        ]
    )
    assert run(*shlex.split(command)[1:])[0] == 0


def test_report_of_earlier_results(run, files, tmp_path):
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    quick = ["--estimator", "knn", "--estimator", "ipr", "--no-modes"]
    run("evaluate", *files, *quick, "--json", str(one))
    run("evaluate", *files, *quick, "--k", "5", "--no-intervals", "--json", str(other))
    page = tmp_path / "page.html"
    code, out, err = run("report", str(one), "--out", str(page))
    assert (code, out, err) == (0, f"report: {page}\n", "")
    code, _, err = run("report", str(one), f"old={other}", "--out", str(page), "--title", "Both")
    assert code == 0
    text = page.read_text()
    assert "<title>Both</title>" in text
    for sentence in (
        "The split differs (one: 4 times hold-out 0.5, old: cross-fit 2).",
        "The k of the knn curve differs (one: 14, old: 5).",
    ):
        assert f"warning: {sentence}\n" in err
        assert sentence in text


def test_report_of_a_comparison(run, files, tmp_path):
    models = [f"good={files[0]}", f"bad={files[1]}"]
    document, page = tmp_path / "c.json", tmp_path / "page.html"
    run("compare", files[0], *models, "--estimator", "knn", "--json", str(document), "--no-modes")
    code, _, err = run("report", str(document), "--out", str(page))
    assert (code, err) == (0, "")
    assert "hold at once, with 95 % confidence." in page.read_text()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("not json", "this is not a JSON document"),
        ('{"format_version": 3}', "this result has format_version 3; this version"),
        ('{"results": 3, "differences": []}', "this is not a comparison of precall"),
        (
            '{"results": {}, "differences": [], "format_version": 7}',
            "this is not a comparison of precall",
        ),
        ("[1]", "this is not a result of precall: expected a JSON object."),
    ],
)
def test_report_of_something_else(run, tmp_path, content, message):
    path = tmp_path / "odd.json"
    path.write_text(content)
    code, _, err = run("report", str(path), "--out", str(tmp_path / "page.html"))
    assert code == 2
    assert err.startswith(f"precall: {message}")
    assert not (tmp_path / "page.html").exists()


def test_compare(run, files, tmp_path):
    real, generated = files
    models = [f"good={real}", f"bad={generated}"]
    options = ["--estimator", "knn", "--score", "coverage"]
    code, out, _ = run("compare", real, *models, *options, "--json", str(tmp_path / "c.json"))
    assert code == 0
    (line,) = [line for line in out.splitlines() if line.startswith("good less bad: ")]
    assert "coverage +" in line
    assert precall.Comparison.from_json(tmp_path / "c.json").ranking("coverage") == ["good", "bad"]
    code, _, err = run("compare", real, generated)
    message = "compare needs two models or more; for one use precall evaluate."
    assert (code, err) == (2, f"precall: {message}\n")


def test_two_samples(run, files):
    code, out, _ = run("test", *files)
    assert (code, out.split()[0]) == (0, "accuracy")
    assert "(binomial)" in out
    code, out, _ = run("test", *files, "--folds", "2", "--permutations", "3", "--estimator", "knn")
    assert (code, out.rstrip()[-16:]) == (0, "(3 permutations)")


def test_frechet(run, files):
    code, out, _ = run("frechet", *files)
    assert code == 0
    assert float(out) == pytest.approx(precall.frechet_distance(*files), rel=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--score", "fid"],
            "scores names 'fid', which convention='precall' does not have; choose from "
            + ", ".join(METRICS)
            + ".",
        ),
        (["--no-curves", "--estimator", "knn"], "--estimator cannot be combined with --no-curves."),
        (
            ["--score", "all", "--score", "recall"],
            "--score all and --score none cannot be combined with others.",
        ),
        (
            ["--samples", "samples.xls"],
            "samples can only be written to a .csv or .parquet file; got samples.xls.",
        ),
        (
            ["--k", "0"],
            "Invalid value for '--k': '0' is neither a positive integer nor 'sqrt' or 'cv'.",
        ),
        (
            ["--estimator", "fid"],
            "estimator 'fid' is unknown; choose from 'ipr', 'coverage', 'knn', 'parzen', "
            "'classifier', 'clusters'.",
        ),
        (
            ["--k", "500"],
            "k=500 needs at least 501 samples to fit on; "
            "real has 200, of which the split leaves 100.",
        ),
        (
            ["--score-k", "3", "--score-k", "200", "--no-curves"],
            "score_k=200 is too large for every score: score 'precision' at k=200 needs at least "
            "201 samples; real has 200. Choose a smaller k.",
        ),
        (
            ["--split", "--folds", "3"],
            "only one of --split, --no-split, --folds and --coin-flip may be given.",
        ),
        (["--folds", "1"], "folds must be an integer of at least 2; got 1."),
        (["--seed", "-4"], "Invalid value for '--seed': -4 is not in the range x>=0."),
        (
            ["--engine", "warp"],
            "engine='warp' is unknown; choose from 'auto', 'cpu', 'gpu', 'dask', 'reference'.",
        ),
        (["--zzzzz"], "No such option '--zzzzz'."),
    ],
)
def test_bad_options_end_with_one_line(run, files, options, message):
    code, out, err = run("evaluate", *files, *options)
    assert (code, out) == (2, "")
    assert err == f"precall: {message}\n"


def test_bad_files_end_with_one_line(run, files, tmp_path):
    missing = str(tmp_path / "missing.npy")
    code, out, err = run("evaluate", missing, files[1])
    assert (code, out) == (2, "")
    assert err == f"precall: real: cannot read {missing}: No such file or directory.\n"
    folder = tmp_path / "no"
    code, out, err = run("evaluate", *files, "--json", str(folder / "result.json"))
    assert code == 2
    assert (
        err == f"precall: cannot write to {folder / 'result.json'}: there is no folder {folder}.\n"
    )
    code, out, err = run("evaluate", *files, "--json", files[0])
    assert err == f"precall: cannot write to {files[0]}: it is one of the inputs.\n"
    assert precall.FeatureSet.of(files[0], "real").n_features == 3
    code, out, err = run("evaluate", *files, "--json", str(tmp_path))
    assert err == f"precall: cannot write to {tmp_path}: it is a folder.\n"
    code, _, err = run("evaluate")
    assert (code, err) == (2, "precall: Missing argument 'REAL'.\n")
    code, _, err = run("frobnicate")
    assert (code, err) == (2, "precall: No such command 'frobnicate'.\n")


def test_help_shows_an_example(run):
    code, out, _ = run()
    assert code == 0
    assert "evaluate" in out
    for command in ("evaluate", "frechet", "demo"):
        code, out, _ = run(command, "--help")
        assert code == 0
        assert f"precall {command}" in out.split("Example:")[1]
    assert run("--version")[1] == f"precall {precall.__version__}\n"


@pytest.mark.slow
def test_demo(run, tmp_path):
    code, out, _ = run("demo", "--out", str(tmp_path / "demo"))
    assert code == 0
    left = sorted(path.name for path in (tmp_path / "demo").iterdir())
    assert left == ["curves.png", "demo.json", "report.html"]
    report = tmp_path / "demo" / "report.html"
    assert out.endswith(f"Report:  {report} (open it in a browser)\n")


# Several threads say so, each line in one piece: print() would write its end apart.
SAY_WHAT_IS_GOING_ON = """
import os, sys
from precall.cli import main
from precall.runtime.progress import Progress

advance = Progress.advance
Progress.advance = lambda self, work: (os.write(1, b"at work\\n"), advance(self, work))
sys.argv = ["precall", "evaluate", "real.npy", "generated.npy", "--json", "out.json"]
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")
def test_interruption_leaves_nothing_behind(tmp_path):
    for name in ("real", "generated"):
        np.save(tmp_path / f"{name}.npy", RNG.normal(size=(120_000, 32)).astype(np.float32))
    command = [sys.executable, "-c", SAY_WHAT_IS_GOING_ON]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=tmp_path, text=True, **pipes) as process:
        said = [process.stdout.readline() for _ in range(3)]  # in the midst of comparing samples
        process.send_signal(signal.SIGINT)
        try:
            _, err = process.communicate(timeout=20)
        finally:
            process.kill()  # no-op unless it goes on
    assert said == ["at work\n"] * 3
    assert process.returncode == 130
    assert err.strip() == "precall: interrupted"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["generated.npy", "real.npy"]


@pytest.mark.slow
def test_reproduce(run, tmp_path):
    code, out, _ = run("reproduce", "--list")
    assert code == 0
    assert "demo-scenarios" in out
    options = ["--quick", "--repeats", "1", "--out", str(tmp_path / "new")]
    code, out, err = run("reproduce", "mixture", *options)
    assert code == 0
    assert err.startswith("mixture: ")
    assert "verdict" in out
    assert out.splitlines()[-1] == f"page: {tmp_path / 'new' / 'README.md'}"
    assert {path.name for path in (tmp_path / "new").iterdir()} == {
        "README.md",
        "mixture.json",
        "mixture.png",
    }
    code, _, err = run("reproduce", "nothing", *options)
    assert code == 2
    assert err.startswith("precall: there is no experiment 'nothing'; choose from shift, mixture,")
