"""A room imports only from rooms above it."""

import ast
from pathlib import Path

import precall

SOURCE = Path(precall.__file__).parent

# Rooms of one layer do not know each other.
LAYERS = [
    {"errors", "version"},
    {"runtime"},
    {"data"},
    {"inputs"},
    {"extractors"},
    {"extraction"},
    {"engines"},
    {"neighbors"},
    {"curves"},
    {"estimators"},
    {"truth"},
    {"scores"},
    {"uncertainty"},
    {"headline"},
    {"findings"},
    {"results"},
    {"evaluation", "monitoring"},
    {"report"},
    {"integrations"},
    {"experiments"},
    {"cli"},
]
OUTSIDE = {"__init__", "__main__", "distributions", "theory"}  # imports and nothing else


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    """Every room that a module imports from, also inside of functions."""
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


def test_every_room_is_in_a_layer():
    rooms = {room_of(path) for path in SOURCE.rglob("*.py")} - OUTSIDE
    assert rooms == set().union(*LAYERS)


def test_no_room_imports_from_below():
    layer_of = {room: i for i, rooms in enumerate(LAYERS) for room in rooms}
    offences = []
    for path in SOURCE.rglob("*.py"):
        room = room_of(path)
        if room in OUTSIDE:
            continue
        offences += [
            f"{path.relative_to(SOURCE)} imports {other}"
            for other in imported_rooms(path) - {room}
            if other in OUTSIDE or layer_of[other] >= layer_of[room]
        ]
    assert offences == []


def test_engines_have_never_heard_of_precision():
    for path in (SOURCE / "engines").rglob("*.py"):
        text = path.read_text(encoding="utf-8").lower()
        assert "precision" not in text.replace("fp32_precision", ""), path  # a setting of torch
        assert "recall" not in text.replace("precall", ""), path


def test_no_module_takes_part_in_a_cycle():
    """Imports inside of functions count; those for type checkers alone are never executed."""
    modules = {module_of(path): path for path in SOURCE.rglob("*.py")}
    graph = {name: imported_modules(path, set(modules)) for name, path in modules.items()}
    while leaves := {name for name, others in graph.items() if not others - {name}}:
        graph = {name: others - leaves for name, others in graph.items() if name not in leaves}
    assert sorted(graph) == []


def test_folders_stay_small():
    assert len(list(SOURCE.glob("*.py"))) <= 6
    for folder in {path.parent for path in SOURCE.rglob("*.py")}:
        assert len(list(folder.glob("*.py"))) <= 15, folder


def module_of(path: Path) -> str:
    parts = ("precall", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(path: Path, modules: set[str]) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = [ast.Pass()]
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            below = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= below & modules or {node.module}
    return found & modules
