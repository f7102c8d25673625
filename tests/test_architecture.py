"""A room imports only from rooms above it on the road."""

import ast
from pathlib import Path

import precall

SOURCE = Path(precall.__file__).parent

ROAD = [
    "version",
    "errors",
    "parallel",
    "calls",
    "tie_rules",
    "conventions",
    "outputs",
    "readers",
    "inputs",
    "features",
    "centring",
    "conversion",
    "inspection",
    "labels",
    "split",
    "neighbors",
    "engines",
    "progress",
    "evidence",
    "hull",
    "error_rates",
    "classifiers",
    "estimators",
    "tuning",
    "divergences",
    "display",
    "curve",
    "combination",
    "bands",
    "weighing",
    "two_sample",
    "analytic_curve",
    "distributions",
    "theory",
    "moments",
    "kernel_distance",
    "hypersphere",
    "scores",
    "resampling",
    "uncertainty",
    "modes",
    "diagnosis",
    "score_tables",
    "samples",
    "documents",
    "results",
    "sample_size",
    "job",
    "ceilings",
    "evaluation",
    "comparison",
    "report",
    "experiments",
    "demo",
    "cli",
]
OUTSIDE_THE_ROAD = {"__init__", "__main__"}
# Methods of results that hand themselves over to the report, imported when called.
DOORS = {("results", "report"), ("comparison", "report")}


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            modules = [node.module or ""]
            if node.module == "precall":
                modules = [f"precall.{alias.name}" for alias in node.names]
        rooms |= {name.split(".")[1] for name in modules if name.startswith("precall.")}
    return rooms


def test_every_room_is_on_the_road():
    rooms = {room_of(path) for path in SOURCE.rglob("*.py")} - OUTSIDE_THE_ROAD
    assert rooms == set(ROAD)


def test_no_room_imports_from_below():
    offences = []
    for path in SOURCE.rglob("*.py"):
        room = room_of(path)
        if room in OUTSIDE_THE_ROAD:
            continue
        below = {r for r in ROAD[ROAD.index(room) + 1 :] if (room, r) not in DOORS}
        offences += [f"{path.relative_to(SOURCE)}: {r}" for r in imported_rooms(path) & below]
    assert offences == []


def test_engines_have_never_heard_of_precision():
    for path in (SOURCE / "engines").glob("*.py"):
        text = path.read_text(encoding="utf-8").lower()
        assert "precision" not in text, path
        assert "recall" not in text.replace("precall", ""), path
