"""The package keeps the shape that CONTRIBUTING.md describes.

Imports are read from the source, those inside functions included, so a circle cannot
hide there.
"""

import ast
import collections
import copy
import functools
import graphlib
import itertools
import pathlib
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pytest

ROOT = pathlib.Path(__file__).parents[1]
PACKAGE = "mccfr_spiel"

MOST_MODULES_AT_THE_TOP = 10
LONGEST_FUNCTION, LONGEST_FILE, MEDIAN_FILE = 160, 500, 250
MOST_PRIVATE_ARGUMENTS = 12
MOST_PAIRS, MOST_LAYERS = 124, 11
"""Of folders that import each other, the rooms of `arenas/` counted singly. These may
fall, and never rise."""

OF_OTHERS = {
    "_cache",  # numba
    "_asdict",  # of a NamedTuple, public in spite of the name
    "_codegen",  # numba
    "_data_layout",  # numba
    "_exit",  # os
    "_fields",  # of a NamedTuple
    "_finalize_dynamic_globals",  # numba
    "_finalized",  # numba
    "_getvalue",  # numba
    "_make",  # of a NamedTuple
    "_processes",  # concurrent.futures
    "_random_state",  # OpenSpiel's TabularPolicy
    "_rebuild",  # numba
    "_reduce",  # numba
    "_replace",  # of a NamedTuple
}
"""Names that begin with an underscore and that other packages have made."""


class Module(NamedTuple):
    """A module: its dotted name and its source as a tree."""

    name: str
    source: ast.Module

    @property
    def folder(self) -> str:
        """The folder it is in, or the room of `arenas/`; a module at the top of the
        package is its own."""
        first, *parts = self.name.split(".")[1:] or [""]
        folder = first
        for part in parts if first == "arenas" else ():
            if not (ROOT / PACKAGE / folder / part).is_dir():
                break
            folder += f"/{part}"
        return folder


def read(top: str) -> Iterator[Module]:
    """The modules of a folder; a package's stub, if it has one, counts with it."""
    for path in sorted((ROOT / top).rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        name = name.removesuffix(".__init__")
        source = ast.parse(path.read_text(encoding="utf-8"))
        if path.with_suffix(".pyi").exists():
            source.body += read_stub(path.with_suffix(".pyi"), name)
        yield Module(name, source)


def read_stub(path: pathlib.Path, package: str) -> list[ast.stmt]:
    """The statements of a package's stub, whose imports are relative to the package."""
    statements = ast.parse(path.read_text(encoding="utf-8")).body
    for node in statements:
        if isinstance(node, ast.ImportFrom):
            assert node.level == 1, f"{path}: lazy_loader reads `from .` only"
            assert not any(alias.asname for alias in node.names), f"{path}: `as`"
            node.module, node.level = f"{package}.{node.module or ''}".strip("."), 0
    return statements


@functools.cache
def modules() -> dict[str, Module]:
    return {module.name: module for module in read(PACKAGE)}


def imports(module: Module) -> Iterator[tuple[str, str | None]]:
    """The package's modules that a module imports, and the name that it takes there.

    The name is None where the module as a whole is imported.
    """
    for node in ast.walk(module.source):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in modules():
                    yield alias.name, None
        elif isinstance(node, ast.ImportFrom):
            is_inside = module.name.startswith(PACKAGE)
            assert not (is_inside and node.level), f"{module.name}: a relative import"
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                if inside in modules():
                    yield inside, None
                elif node.module in modules():
                    yield str(node.module), alias.name


def test_the_source_has_been_read():
    assert {
        f"{PACKAGE}.solving.solver",
        f"{PACKAGE}.arenas.tree.game_tree",
    } < modules().keys()
    solver = modules()[f"{PACKAGE}.solving.solver"]
    assert (f"{PACKAGE}.arenas.choosing", "choose_arena") in set(imports(solver))
    assert (f"{PACKAGE}.common.refusals", None) in set(imports(solver))


def test_modules_do_not_import_each_other_in_a_circle():
    graph = {
        name: {imported for imported, _ in imports(module)}
        for name, module in modules().items()
    }
    check_no_circle(graph)


def folders_of_repository() -> dict[str, set[str]]:
    """Which folders each one imports: those of the package, each module at its top,
    and what lies beside the package."""
    graph: dict[str, set[str]] = defaultdict(set)
    beside = [*read("games"), *read("benchmarks")]
    script = ROOT / "run_experiments.py"
    beside.append(Module(script.stem, ast.parse(script.read_text(encoding="utf-8"))))
    for module in [*modules().values(), *beside]:
        inside = module.name.startswith(PACKAGE)
        folder = module.folder if inside else module.name.partition(".")[0]
        graph[folder] |= {modules()[name].folder for name, _ in imports(module)}
        graph[folder].discard(folder)
    return graph


def layers_of(graph: dict[str, set[str]]) -> list[list[str]]:
    """The folders by layers: each imports from lower ones only, the first from none."""
    sorter, found = graphlib.TopologicalSorter(graph), []
    sorter.prepare()
    while sorter.is_active():
        found.append(sorted(sorter.get_ready()))
        sorter.done(*found[-1])
    return found


def test_folders_import_each_other_in_no_circle_and_less_and_less(capsys):
    graph = folders_of_repository()
    check_no_circle(graph)
    layers, pairs = layers_of(graph), sum(map(len, graph.values()))
    with capsys.disabled():
        print(f" {pairs} pairs of folders in {len(layers)} layers ", end="")
    assert pairs <= MOST_PAIRS
    assert len(layers) <= MOST_LAYERS, layers


def listed_floors() -> list[str]:
    """The modules and folders in the order in which CONTRIBUTING.md lists them."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    _, _, text = text.partition("## Where things belong")
    text, _, _ = text.partition("## To change")
    return re.findall(r"^    ([\w/]+?)(?:/|\.py) ", text, re.MULTILINE)


def test_imports_go_down_the_list_in_contributing_and_it_is_complete():
    floors = listed_floors()
    # The package itself, whose names come from everywhere, and the program.
    unlisted = {"", "__main__"}
    assert sorted(floors) == sorted({m.folder for m in modules().values()} - unlisted)
    for module in modules().values():
        if module.folder in unlisted:
            continue
        for name, _ in imports(module):
            floor, below = floors.index(module.folder), modules()[name].folder
            assert floors.index(below) >= floor, f"{module.name} imports {name}"


EXPANDS_NODES = ("arenas", "arenas/tree", "arenas/worlds", "arenas/rules/twins")
"""Rooms that expand nodes or find worlds."""


def test_policies_know_information_sets_and_nothing_that_expands_nodes():
    for module in modules().values():
        if module.folder == "policies":
            for name, taken in imports(module):
                below = modules()[name].folder
                assert below not in EXPANDS_NODES, f"{module.name} imports {taken}"


def check_no_circle(graph: dict[str, set[str]]) -> None:
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail(f"These import each other in a circle: {error.args[1]}")


def test_nothing_in_the_package_imports_from_its_top_or_from_games():
    for module in modules().values():
        for name, taken in imports(module):
            assert name != PACKAGE, f"{module.name} imports {taken} from {PACKAGE}"
        for node in ast.walk(module.source):
            if isinstance(node, ast.Import):
                assert all(alias.name != "games" for alias in node.names)
            if isinstance(node, ast.ImportFrom):
                assert str(node.module).partition(".")[0] != "games"


SATELLITES = ("exploring", "offline", "policies.online_bot")
"""Folders and a module beside the core, which works without them."""

PROGRAMS = {"", "__main__", "command_line", "experiments", "solutions"}
"""What may import satellites: programs, and the package itself, whose names come from
everywhere."""

OF_THE_PAPERS = {
    f"{PACKAGE}.experiments.{name}" for name in ("papers", "lanctot_table")
}
"""What only the command line imports."""


def satellite_of(name: str) -> str | None:
    return next(
        (s for s in SATELLITES if f"{name}.".startswith(f"{PACKAGE}.{s}.")), None
    )


def test_the_core_does_not_import_satellites_nor_they_each_other():
    for module in modules().values():
        for name, _ in imports(module):
            satellite = satellite_of(name)
            is_listed = name.startswith(f"{module.name}.")  # lazily, by a stub
            if satellite not in (None, satellite_of(module.name)) and not is_listed:
                assert module.folder in PROGRAMS, f"{module.name} imports {name}"
            if name in OF_THE_PAPERS and module.name not in OF_THE_PAPERS:
                is_stub = name.startswith(f"{module.name}.")  # of its own package
                is_program = is_stub or module.folder == "command_line"
                assert is_program, f"{module.name} imports {name}"


def is_private(name: str | None) -> bool:
    return name is not None and name.startswith("_") and not name.startswith("__")


def test_no_module_imports_a_private_name():
    found = [
        f"{module.name} imports {name}.{taken}"
        for module in modules().values()
        for name, taken in imports(module)
        if is_private(taken)
    ]
    assert not found


def private_attributes(module: Module) -> dict[str, int]:
    """The private attributes that a module uses, and the line of one use of each."""
    return {
        node.attr: node.lineno
        for node in ast.walk(module.source)
        if isinstance(node, ast.Attribute) and is_private(node.attr)
    }


def defined_in(module: Module) -> set[str]:
    """The names that a module defines, also as attributes of `self` or as slots."""
    names = set()
    for node in ast.walk(module.source):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id == "self":
                names.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value)  # as in `__slots__` and `setattr`
    return names


def test_no_module_uses_a_private_attribute_that_another_one_defines():
    """Not even one of a base class: a base that is meant to be built on says so."""
    found = []
    for module in modules().values():
        used = private_attributes(module)
        known = defined_in(module) | OF_OTHERS
        for name in used.keys() - known:
            found.append(f"{module.name}, line {used[name]}: {name}")
    assert not found


def test_a_private_attribute_that_is_set_is_also_read():
    """One that is only set would be meant for a class of another module."""
    found = []
    for module in modules().values():
        changed, read = set(), set()
        for node in ast.walk(module.source):
            if isinstance(node, ast.Attribute) and is_private(node.attr):
                (changed if isinstance(node.ctx, ast.Store) else read).add(node.attr)
            elif isinstance(node, ast.Constant):
                read.add(node.value)  # as in `getattr`
        found += [f"{module.name}: {name}" for name in changed - read - OF_OTHERS]
    assert not found


def test_one_module_reads_tables():
    """So that a damaged line is treated alike wherever it is met."""
    readers = {
        module.name
        for module in modules().values()
        for node in ast.walk(module.source)
        if isinstance(node, ast.Attribute) and node.attr in ("DictReader", "reader")
    }
    assert readers == {f"{PACKAGE}.common.csv_files"}


def test_the_top_of_the_package_has_few_modules():
    at_the_top = {path.name for path in (ROOT / PACKAGE).glob("*.py")} - {"__init__.py"}
    assert len(at_the_top) <= MOST_MODULES_AT_THE_TOP, sorted(at_the_top)


def length(function: ast.FunctionDef) -> int:
    return int(function.end_lineno or 0) - function.lineno + 1


def test_no_function_is_long():
    long = []
    for module in modules().values():
        for node in ast.walk(module.source):
            if isinstance(node, ast.FunctionDef):
                lines = length(node)
                if lines > LONGEST_FUNCTION:
                    long.append(f"{module.name}.{node.name} has {lines} lines")
    assert not long


def lines_of_files() -> dict[str, int]:
    """Number of lines of each module; `__init__.py` files do not count."""
    paths = (ROOT / PACKAGE).rglob("*.py")
    return {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in paths
        if path.name != "__init__.py"
    }


def test_files_are_short():
    lines = lines_of_files()
    long = {path: number for path, number in lines.items() if number > LONGEST_FILE}
    assert not long
    assert statistics.median(lines.values()) <= MEDIAN_FILE


def test_file_names_are_unique():
    names = collections.Counter(path.rpartition("/")[2] for path in lines_of_files())
    assert [name for name, number in names.items() if number > 1] == []


def test_class_names_are_unique():
    names = collections.Counter(
        node.name
        for module in modules().values()
        for node in ast.walk(module.source)
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, number in names.items() if number > 1] == []


def test_private_functions_have_few_arguments():
    many = []
    for module in modules().values():
        for node in ast.walk(module.source):
            if isinstance(node, ast.FunctionDef) and is_private(node.name):
                parts = node.args
                names = [*parts.posonlyargs, *parts.args, *parts.kwonlyargs]
                if len(names) > MOST_PRIVATE_ARGUMENTS:
                    many.append(f"{module.name}.{node.name}: {len(names)}")
    assert not many


def test_a_module_imports_another_in_one_style():
    """Either as a module or by name."""
    mixed = []
    for module in modules().values():
        as_module = {name for name, taken in imports(module) if taken is None}
        by_name = {name for name, taken in imports(module) if taken is not None}
        is_package = (ROOT / module.name.replace(".", "/")).is_dir()
        both = set() if is_package else as_module & by_name
        mixed += [f"{module.name} imports {name}" for name in both]
    assert not mixed


def pasted_names() -> set[str]:
    """Functions that numba pastes: those marked so, and `update`, which calls them."""
    names = {"update"}
    for module in modules().values():
        for node in ast.walk(module.source):
            if isinstance(node, ast.FunctionDef):
                marks = {ast.unparse(mark) for mark in node.decorator_list}
                names |= {node.name} if "pasted" in marks else set()
            elif isinstance(node, ast.Assign):
                is_pasted = ast.unparse(node.value).startswith("pasted(")
                names |= {ast.unparse(t) for t in node.targets if is_pasted}
    return names


def calls_in(function: ast.FunctionDef) -> set[str]:
    """What a function calls itself; not what functions call that it makes."""
    todo, found = list[ast.AST](function.body), set[str]()
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found.add(node.func.id)
        if not isinstance(node, ast.FunctionDef):
            todo += ast.iter_child_nodes(node)
    return found


def test_nothing_is_pasted_into_a_function_that_makes_records():
    """There numba drops what is stored in their arrays; see `kernels.jit.pasted`."""
    names, makers = pasted_names(), 0
    assert {"add_regrets", "pay_debt", "draw_action"} <= names
    for module in modules().values():
        for node in ast.walk(module.source):
            if not isinstance(node, ast.FunctionDef):
                continue
            calls = calls_in(node)
            if any(name.endswith("views") for name in calls):
                makers += 1
                pasted = calls & names
                assert not pasted, f"{module.name}.{node.name} calls {pasted}"
    assert makers >= 2


# --- nothing twice --------------------------------------------------------------------


class Shape(ast.NodeTransformer):
    """Takes names and literals out of a statement."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name("name", ast.Load())

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant(0)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        node.attr = "name"
        return self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        node.arg = "name"
        return self.generic_visit(node)


def statements(body: list[ast.stmt]) -> Iterator[tuple[int, str]]:
    """Of each statement of a function, in order, its lines and its shape; of one that
    holds others, of its head."""
    for node in body:
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_text or isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        head = copy.copy(node)
        inside = [getattr(node, part, []) for part in ("body", "orelse", "finalbody")]
        first = min((one.lineno for one in itertools.chain(*inside)), default=None)
        for part in {"body", "orelse", "finalbody", "handlers"} & {*node._fields}:
            setattr(head, part, [])
        end = int(node.end_lineno or 0) + 1 if first is None else first
        yield end - node.lineno, ast.dump(Shape().visit(copy.deepcopy(head)))
        for one in inside:
            yield from statements(one)


def runs_that_repeat(trees: Iterable[ast.AST], lines: int) -> set[str]:
    """Where runs of so many lines of statements stand a second time."""
    seen: set[tuple[str, ...]] = set()
    found = set()
    for tree in trees:
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef):
                steps = [*statements(function.body)]
                for first in range(len(steps)):
                    last, size = first, 0
                    while size < lines and last < len(steps):
                        size += steps[last][0]
                        last += 1
                    run = tuple(shape for _, shape in steps[first:last])
                    if size >= lines and run in seen:
                        found.add(function.name)
                    if size >= lines:
                        seen.add(run)
    return found


def test_no_run_of_eight_lines_stands_twice():
    sources = [module.source for module in modules().values()]
    assert runs_that_repeat(sources, 8) == set()
    assert "descend_mirror" in runs_that_repeat([*sources, *sources], 8)


def test_each_step_of_a_walk_stands_once():
    loops = [
        ast.unparse(module.source)
        for module in modules().values()
        if module.folder in ("kernels", "arenas/rules")
    ]
    for step in (
        "draw_chance(nodes.chance_cdf",  # at chance's nodes
        "draw_action(policy, ",  # at the others'
        "push_weighted_children(",
        "cursor[layout.ITERATION] += 1",
    ):
        calls = sum(text.count(step) - text.count(f"def {step}") for text in loops)
        assert calls == 1, step
