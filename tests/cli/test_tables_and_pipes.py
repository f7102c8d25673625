"""What the command line says of tables, columns, standard input, and files it cannot take."""

import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import precall
from precall.cli import main

QUICK = ["--no-curves", "--no-modes", "--no-intervals", "--json", "-"]


@pytest.fixture
def sets(tmp_path, monkeypatch):
    """Two sets of features, saved in several ways in the working folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    found = {}
    for name, mean in (("real", 0.0), ("generated", 0.7)):
        found[name] = rng.normal(mean, 1, size=(200, 3))
        np.save(f"{name}.npy", found[name])
        np.savez(f"{name}.npz", feats=found[name])
        frame = pd.DataFrame(found[name], columns=["x", "y", "z"])
        frame.to_csv(f"{name}.csv")
        frame.assign(id=rng.permutation(200)).to_csv(f"{name}-id.csv", index=False)
        pd.DataFrame(found[name]).to_csv(f"{name}-numbered.csv", index=False)
    return found


@pytest.fixture
def run(monkeypatch, capsys):
    def run(*arguments, piped=b""):
        monkeypatch.setattr(sys, "argv", ["precall", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(piped)))
        with pytest.raises(SystemExit) as end:
            main()
        captured = capsys.readouterr()
        return end.value.code, captured.out, captured.err

    return run


def left_out(role, file, where="the column without a name"):
    return (
        f"{role}: {file} has row numbers in {where}, which is left out. To choose columns "
        f"yourself: {file}:NAME,NAME or {file}:FIRST-LAST."
    )


def names_line(role, file):
    return (
        f"{role}: the first line of {file}, 0 to 2, is read as the names of columns, not as a "
        "sample. If it is one, save the features as .npy."
    )


def test_tables_score_as_the_features_in_them_do(run, sets):
    expected = json.loads(run("evaluate", "real.npy", "generated.npy", *QUICK)[1])
    for ending, note in {
        ".csv": left_out,
        "-id.csv": lambda role, file: left_out(role, file, "column 'id'"),
        "-numbered.csv": names_line,
    }.items():
        files = f"real{ending}", f"generated{ending}"
        code, out, err = run("evaluate", *files, *QUICK)
        found = json.loads(out)
        assert code == 0
        assert found["scores"] == expected["scores"]
        notes = [note(role, file) for role, file in zip(("real", "generated"), files, strict=True)]
        assert found["warnings"] == [*notes, *expected["warnings"]]
        assert all(f"warning: {text}\n" in err for text in notes)


def test_columns(run, sets):
    chosen = ["--columns", "x,z"]
    code, out, _ = run("evaluate", "real.csv", "generated.csv", *chosen, *QUICK)
    found = json.loads(out)
    expected = precall.evaluate(
        sets["real"][:, [0, 2]], sets["generated"][:, [0, 2]], estimators=()
    )
    assert code == 0
    assert {name: score["value"] for name, score in found["scores"].items()} == {
        name: score.value for name, score in expected.scores.items()
    }
    assert found["warnings"] == list(expected.warnings)
    assert found["protocol"]["sources"] == {
        "real": "real.csv:x,z",
        "generated": "generated.csv:x,z",
    }
    assert found["protocol"]["call"].startswith(
        "precall evaluate real.csv generated.csv --columns x,z"
    )


def test_columns_of_held_out_samples(run, sets):
    options = ["--columns", "x-z", "--held-out", "real-id.csv", *QUICK]
    code, out, _ = run("evaluate", "real.csv", "generated.csv", *options)
    assert code == 0
    assert json.loads(out)["protocol"]["d"] == 3


def test_columns_of_other_files(run, sets):
    code, _, err = run("evaluate", "real.csv", "generated.npy", "--columns", "x")
    assert (code, err) == (
        2,
        "precall: --columns chooses columns of tables (.parquet, .arrow, .feather, .csv, .tsv, "
        ".txt); generated.npy is none. For one of several files write FILE:COLUMNS instead.\n",
    )
    code, _, err = run("evaluate", "real.csv", "generated.csv", "--columns", "x,t")
    assert (code, err) == (
        2,
        "precall: real: real.csv has no column 't'; it has '', 'x', 'y', 'z'.\n",
    )


def test_compare_tells_which_model(run, sets):
    models = ["a=real-id.csv", "b=generated.npy"]
    options = ["--estimator", "knn", "--no-modes", "--json", "c.json"]
    code, out, err = run("compare", "real.csv", *models, *options)
    notes = left_out("real", "real.csv"), left_out("model 'a'", "real-id.csv", "column 'id'")
    assert (code, err) == (0, "")
    assert f"warning: {notes[0]}\n" in out
    assert f"warning: a: {notes[1]}\n" in out
    results = precall.Comparison.from_json(Path("c.json")).results
    assert set(notes) <= set(results["a"].warnings)
    assert notes[0] in results["b"].warnings
    assert notes[1] not in results["b"].warnings


def test_short_commands_say_it_on_the_side(run, sets):
    note = left_out("file", "real.csv")
    code, out, err = run("info", "real.csv")
    assert (code, err) == (0, f"warning: {note}\n")
    assert "features           3\n" in out
    code, out, err = run("info", "real.csv", "--columns", "x-y")
    assert (code, err) == (0, "")
    assert "features           2\n" in out
    code, _, err = run("convert", "real.csv", "copy.npy")
    assert (code, err) == (0, f"warning: {left_out('source', 'real.csv')}\n")
    np.testing.assert_array_equal(np.load("copy.npy"), sets["real"])
    code, _, err = run("convert", "real.csv", "one.npy", "--columns", "y")
    assert (code, err) == (0, "")
    np.testing.assert_array_equal(np.load("one.npy"), sets["real"][:, 1:2])
    both = left_out("real", "real.csv"), left_out("generated", "generated.csv")
    said = "".join(f"warning: {text}\n" for text in both)
    expected = run("test", "real.npy", "generated.npy")[1]
    assert run("test", "real.csv", "generated.csv") == (0, expected, said)


def test_standard_input(run, sets):
    expected = json.loads(run("evaluate", "real.npy", "generated.npy", *QUICK)[1])
    for name in ("generated.npy", "generated.csv"):
        code, out, _ = run("evaluate", "real.npy", "-", *QUICK, piped=Path(name).read_bytes())
        found = json.loads(out)
        assert code == 0
        assert found["scores"] == expected["scores"]
        assert found["protocol"]["sources"]["generated"] == "standard input"
    assert found["warnings"][0] == (
        "generated: standard input has row numbers in the column without a name, which is left "
        "out. To choose columns yourself: -:NAME,NAME or -:FIRST-LAST."
    )
    piped = Path("real.csv").read_bytes()
    code, out, err = run("info", "-", "--columns", "z", piped=piped)
    assert (code, err) == (0, "")
    assert out.startswith("file               standard input\n")
    code, _, _ = run("convert", "-", "piped.npy", piped=piped)
    np.testing.assert_array_equal(np.load("piped.npy"), sets["real"])
    for command in (["evaluate", "-", "-"], ["compare", "-", "a=-", "b=real.npy"]):
        code, _, err = run(*command, piped=piped)
        assert (code, err) == (2, "precall: only one of the inputs can be -, standard input.\n")


def test_standard_input_with_pictures(run, sets):
    Path("pictures.txt").write_text("a.png\n")
    page = ["--html", "page.html", "--images-real", "pictures.txt"]
    code, _, err = run("evaluate", "-", "generated.npy", *page, piped=Path("real.npy").read_bytes())
    assert (code, err) == (
        2,
        "precall: images of real: pictures.txt has 1 lines, but there are 200 samples; give one "
        "for each row, in the order of the rows.\n",
    )


def test_frechet_of_features_in_archives(run, sets):
    expected = run("frechet", "real.npy", "generated.npy")
    assert expected[0] == 0
    assert run("frechet", "real.npz", "generated.npy") == expected
    assert run("frechet", "real.npz:feats", "generated.npz") == expected
    moments = {"mu": sets["real"].mean(axis=0), "sigma": np.cov(sets["real"].T)}
    np.savez("moments.npz", **moments)
    code, out, _ = run("frechet", "moments.npz", "generated.npz")
    assert (code, float(out)) == (0, pytest.approx(float(expected[1]), rel=1e-4))
    np.savez("half.npz", mu=moments["mu"])
    code, _, err = run("frechet", "half.npz", "generated.npz")
    assert (code, err) == (2, "precall: real: half.npz has no sigma; it holds mu.\n")
    np.savez("several.npz", one=sets["real"], two=sets["real"])
    code, _, err = run("frechet", "several.npz", "generated.npz")
    assert (code, err) == (
        2,
        "precall: real: several.npz holds several arrays, 'one', 'two'; name one: "
        "several.npz:one\n",
    )
    code, _, err = run("frechet", "none.npz", "generated.npz")
    assert (code, err) == (2, "precall: real: cannot read none.npz: No such file or directory.\n")


def test_a_page_is_a_file(run, sets):
    message = "a page is only written to a file; name one, such as report.html."
    for command in (["evaluate", "real.npy", "generated.npy"], ["compare", "real.npy", "a=x.npy"]):
        code, out, err = run(*command, "--html", "-")
        assert (code, out) == (2, "")
        assert err == f"precall: Invalid value for '--html': {message}\n"
    code, out, err = run("report", "result.json", "--out", "-")
    assert (code, out) == (2, "")
    assert err == f"precall: Invalid value for '--out': {message}\n"
    assert not Path("-").exists()


def test_no_array_of_an_archive_is_overwritten(run, sets):
    code, _, err = run("evaluate", "real.npz:feats", "generated.npy", "--json", "real.npz")
    assert (code, err) == (2, "precall: cannot write to real.npz: it is one of the inputs.\n")


def test_missing_labels(run, sets):
    code, _, err = run("evaluate", "real.npy", "generated.npy", "--labels-real", "none.txt")
    message = "precall: labels_real: cannot read none.txt: No such file or directory.\n"
    assert (code, err) == (2, message)
    Path("odd.txt").write_bytes(b"\xff\xfe\x00")
    code, _, err = run("evaluate", "real.npy", "generated.npy", "--labels-real", "odd.txt")
    message = "precall: labels_real: cannot read odd.txt: it is neither .npy nor text in UTF-8.\n"
    assert (code, err) == (2, message)


def test_conversion_to_another_format(run, sets):
    code, _, err = run("convert", "real.npy", "x.csv")
    assert code == 2
    assert re.match(r"precall: cannot write to x\.csv: features are only written as \.npy\. ", err)
    assert not Path("x.csv").exists()
