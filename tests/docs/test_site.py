"""What is shown on the site is run: by these tests, or when it is built."""

import re
import shlex
from pathlib import Path
from urllib.parse import urlsplit

import click
import pytest

from precall.cli import _cli

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATED = ("_build", "examples", "backreferences", "generated")
SHOWN = (
    "README.md",
    "CONTRIBUTING.md",
    *(f"benchmarks/{n}.md" for n in ("results", "gpu", "cluster")),
)
PAGES = [
    path
    for path in [*(ROOT / name for name in SHOWN), *sorted(DOCS.rglob("*.md"))]
    if not set(GENERATED) & set(path.relative_to(ROOT).parts)
]
IDS = [path.relative_to(ROOT).as_posix() for path in PAGES]
RUN_BY = {"docs/training-loop.md": "tests/integrations/test_training_loop_page.py"}  # needs torch
EXCUSE = re.compile(r"<!-- not run: \S.* -->$")
LINK = re.compile(r"\]\((https?:[^)\s]*)\)|<(https?:[^>\s]*)>")


def blocks(path):
    """Kind, text and the line before each block of code."""
    text = path.read_text(encoding="utf-8")
    pieces = re.split(r"^ *```", "\n" + text, flags=re.M)
    for before, block in zip(pieces[0::2], pieces[1::2], strict=False):
        info, _, code = block.partition("\n")
        last_line = before.rstrip().rpartition("\n")[2].strip()
        yield info.strip(), code, last_line


def is_notebook(path):
    return path.read_text(encoding="utf-8").startswith("---\nfile_format: mystnb")


def is_run_by_test(path):
    """Whether a test of its own runs what is on a page."""
    named = {ROOT / page: ROOT / test for page, test in RUN_BY.items()}
    return path in named and f'"{path.name}"' in named[path].read_text(encoding="utf-8")


@pytest.mark.parametrize("path", PAGES, ids=IDS)
def test_every_block_of_python_is_run(path):
    """By doctest, or as a cell of a page that is executed; or a comment above says why not."""
    for info, code, before in blocks(path):
        if info.startswith("{code-cell}"):
            assert is_notebook(path), f"{path}: cells are only run on pages of that format"
        elif info.split(" ")[0] in ("python", "py", "pycon", "ipython3", "{code-block} python"):
            has_example = code.lstrip().startswith(">>>")
            skipped = all("# doctest: +SKIP" in line for line in re.findall(">>> .*", code))
            is_run = (has_example and not skipped and not is_notebook(path)) or is_run_by_test(path)
            assert is_run or EXCUSE.match(before), f"{path}: nothing runs\n{code}"


def test_a_block_that_nothing_runs_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("Look:\n\n```python\nprecall.nonsense()\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="nothing runs"):
        test_every_block_of_python_is_run(page)


def commands(path):
    """Every call of precall in the shell blocks of a page."""
    for info, code, _ in blocks(path):
        if info.split(" ")[0] in ("sh", "bash", "console", "{code-block} sh") or not info:
            for line in code.replace("\\\n", " ").splitlines():
                for part in re.split(r"\s&&\s|\s\|\s|\s>\s", line.removeprefix("$ ")):
                    if part.strip().startswith("precall "):
                        yield part.strip()


@pytest.mark.parametrize("path", PAGES, ids=IDS)
def test_every_command_is_one(path):
    """Its command is known, and so are its options and the number of its arguments."""
    for line in commands(path):
        check_command(shlex.split(line, comments=True)[1:], line)


def check_command(words, line):
    context = click.Context(_cli)
    name = words[0] if words else ""
    if name.startswith("-"):
        return
    command = _cli.get_command(context, name)
    assert command is not None, f"no such command: {line}"
    parser = command.make_parser(click.Context(command, info_name=name))
    try:
        _, left, _ = parser.parse_args([word for word in words[1:] if word != "…"])
    except click.UsageError as error:
        pytest.fail(f"{line}: {error.format_message()}")
    assert not left, f"{line}: too many arguments {left}"


@pytest.mark.parametrize(
    "line", ["precall evalute a b", "precall evaluate a b --htlm r", "precall evaluate a b c"]
)
def test_a_command_that_is_none_is_found(line):
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check_command(line.split()[1:], line)


@pytest.mark.parametrize("path", PAGES, ids=IDS)
def test_links_to_elsewhere_are_well_formed(path):
    for pair in LINK.findall(path.read_text(encoding="utf-8")):
        parts = urlsplit(pair[0] or pair[1])
        assert parts.scheme == "https", parts
        assert "." in parts.netloc, parts


@pytest.mark.parametrize("path", PAGES, ids=IDS)
def test_links_within_the_repository_lead_somewhere(path):
    """The build checks those of the site, anchors included; README is read elsewhere."""
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.S)
    for target in re.findall(r"\]\(([^)\s#:]+)(?:#[^)\s]*)?\)", text):
        assert (path.parent / target).exists(), f"{path}: {target}"


def test_every_picture_is_in_the_gallery():
    from precall import report

    scripts = "".join(path.read_text(encoding="utf-8") for path in DOCS.glob("gallery/*/*.py"))
    plots = [name for name in vars(report) if name.startswith("plot_")]
    assert plots
    assert [name for name in plots if f" {name}" not in scripts] == []
