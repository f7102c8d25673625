"""From the command line: pictures in, a table, a page and features out."""

import json
import sys

import numpy as np
import pytest
from PIL import Image

import precall
from precall.cli import main

RNG = np.random.default_rng(0)


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("PRECALL_CACHE", str(tmp_path / "cache"))

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["precall", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        captured = capsys.readouterr()
        return end.value.code, captured.out, captured.err

    return run


@pytest.fixture
def folders(tmp_path):
    found = []
    for name, shade in (("real", 0), ("generated", 40)):
        (tmp_path / name).mkdir()
        for number in range(40):
            pixels = RNG.integers(shade, 216 + shade, (8, 8, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / name / f"{number:02d}.png")
        found.append(tmp_path / name)
    return found


QUICK = ("--no-curves", "--no-headline", "--no-modes", "--no-intervals")


def test_evaluate_folders(run, folders, tmp_path):
    page, document = tmp_path / "page.html", tmp_path / "result.json"
    code, out, err = run(
        "evaluate", *folders, "--features", "pixels:8", "--html", page, "--json", document, *QUICK
    )
    assert (code, err) == (0, "")
    assert out.startswith("40 real and 40 generated samples, 192 features of pixels:8,")
    assert page.read_text().count('<img src="data:image/png') > 20
    protocol = json.loads(document.read_text())["protocol"]
    assert protocol["extraction"]["real"]["model"] == "pixels:8"
    assert protocol["call"].endswith(
        " ".join(("--features", "pixels:8"))
        + " "
        + " ".join(("--no-curves", "--no-headline", "--no-intervals", "--no-modes"))
    )


def test_compare_folders(run, folders):
    code, out, _ = run(
        "compare",
        folders[0],
        f"a={folders[0]}",
        f"b={folders[1]}",
        "--features",
        "pixels:8",
        *QUICK,
    )
    assert code == 0
    assert "2 models against 40 real samples" in out


def test_extract_and_evaluate_what_was_extracted(run, folders, tmp_path):
    targets = [tmp_path / f"{folder.name}.npy" for folder in folders]
    for folder, target in zip(folders, targets, strict=True):
        code, out, _ = run("extract", folder, "--features", "pixels:8", "--out", target)
        assert (code, out) == (0, f"wrote {target}: 40 x 192 features of pixels:8\n")
    code, out, _ = run("evaluate", *targets, *QUICK)
    assert code == 0
    assert "192 features of pixels:8" in out
    run(
        "extract",
        folders[1],
        "--features",
        "pixels:8",
        "--resize",
        "legacy-pytorch",
        "--out",
        targets[1],
    )
    _, out, _ = run("evaluate", *targets, *QUICK)
    assert "warning: real and generated were extracted differently" in out


def test_features_are_listed(run):
    code, out, _ = run("features")
    assert code == 0
    for name in ("efficientnet-lite0 *", "minilm *", "resemblyzer *", "inception-fid", "vgg16"):
        assert name in out


def test_texts_and_pictures_need_a_model(run, folders, tmp_path):
    code, _, err = run("evaluate", *folders)
    assert code == 2
    assert err.endswith(
        "is a folder without .npy files. If it holds pictures, texts or sounds, add --features "
        "auto, or features='auto'.\n"
    )
    code, _, err = run("extract", tmp_path / "none", "--features", "pixels", "--out", "a.npy")
    assert (code, err.split(": ", 1)[1]) == (
        2,
        f"inputs: cannot read {tmp_path / 'none'}: No such file or directory.\n",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--skip-broken",), "--skip-broken needs --features MODEL, which it is about."),
        (("--features", "none"), "there is no extractor 'none'; choose from"),
        (
            ("--features", "pixels", "--cache", "x", "--no-cache"),
            "only one of --cache and --no-cache may be given.",
        ),
        (
            ("--features", "pixels", "--images-real", ".", "--html", "a.html"),
            "with --features the page shows the inputs themselves;",
        ),
    ],
)
def test_wrong_options_are_refused(run, folders, options, message):
    code, _, err = run("evaluate", *folders, *options)
    assert code == 2
    assert err.startswith(f"precall: {message}")


def test_broken_files(run, folders):
    (folders[0] / "07.png").write_bytes(b"x")
    code, _, err = run("evaluate", *folders, "--features", "pixels:8", *QUICK)
    assert code == 2
    assert err.startswith(f"precall: real: {folders[0] / '07.png'} is not a picture of a known")
    code, out, _ = run("evaluate", *folders, "--features", "pixels:8", "--skip-broken", *QUICK)
    assert code == 0
    assert out.startswith("39 real and 40 generated samples")
    assert "warning: real: 1 inputs cannot be read and are left out: " in out


def test_tables_by_their_columns(run, tmp_path):
    for name, shift in (("real", 0), ("generated", 1)):
        rows = RNG.normal(shift, (1, 100), (50, 2))
        np.savetxt(tmp_path / f"{name}.csv", rows, delimiter=",", header="a,b", comments="")
    files = [tmp_path / "real.csv", tmp_path / "generated.csv"]
    code, out, _ = run("evaluate", *files, "--features", "columns", *QUICK)
    assert (code, out.split(",")[1]) == (0, " 2 features of columns")
    found = precall.extract(files[0], "columns")
    np.testing.assert_allclose(np.asarray(found).std(axis=0), 1, rtol=1e-5)
    code, out, _ = run("evaluate", *files, "--features", "pca:1", *QUICK)
    assert (code, out.split(",")[1]) == (0, " 1 features of pca:1")


def test_components_of_pictures(folders):
    found = precall.extract(folders[0], precall.Features("pca:5", cache=False))
    rows = np.asarray(found)
    assert rows.shape == (40, 5)
    covariance = np.cov(rows.T)
    np.testing.assert_allclose(covariance, np.diag(np.diag(covariance)), atol=1e-4)
    assert (np.diff(np.diag(covariance)) <= 0).all()
    with pytest.raises(
        precall.InputError, match="pca:50 needs at least 50 features and 51 samples"
    ):
        precall.extract(folders[0], precall.Features("pca:50", cache=False))
