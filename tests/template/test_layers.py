"""The layers contain what the functions import, and everything is built for one version of Python."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Final

import pytest

from layers.fill import FOR_LAMBDA, PYTHON, add_bytecode, copy, leave_out_what_pip_adds
from requirements.lock import IN_THE_RUNTIME, LAMBDA
from requirements.lock import LOCKS as ALL_LOCKS
from stepwire.composition import EXTRAS
from tests.template.document import FUNCTION, ROOT, Resource, references, resources, template

VERSION: Final = ".".join(map(str, PYTHON))
LAYER: Final = ROOT / "layers/dependencies/requirements.txt"
LOCKS: Final = [
    lock
    for layer in resources("AWS::Serverless::LayerVersion")
    if (lock := ROOT / layer.properties["ContentUri"] / "requirements.txt").exists()
]
# Packages that are shipped although Lambda has them, with the reason for a newer version.
NEWER_THAN_LAMBDAS: Final[dict[str, str]] = {}
TOOLS: Final = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
# Imports a handler and the whole package, and prints the top-level modules that were then imported.
PROBE: Final = """
import sys
before = set(sys.modules)
import importlib, pkgutil
import app, stepwire
sys.modules.update(dict.fromkeys(sys.argv[1:]))  # who imports one of these is left out, too
for module in pkgutil.walk_packages(stepwire.__path__, "stepwire."):
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as missing:
        if missing.name not in sys.argv[1:]:
            raise
print(*{name.partition(".")[0] for name in set(sys.modules) - before})
"""
# Imported by function catalog only, which has its own layer for it.
OF_CATALOG: Final = (
    "stepwire.aws.catalog_function",
    *(f"stepwire.manifests.{name}" for name in ("manifest", "fields", "model", "reading", "registration", "yaml_text")),
    *(f"stepwire.extras.{name}.manifest" for name in EXTRAS),
)
# Imported with the layer of tokens only, as the import contracts say. What encrypts links is imported with the first.
OF_TOKENS: Final = tuple(
    one.partition(" -> ")[0]
    for contract in TOOLS["importlinter"]["contracts"]
    if "cryptography" in contract.get("forbidden_modules", ())
    for one in contract["ignore_imports"]
)
CATALOG_LAYER: Final = ROOT / "layers/catalog_dependencies/requirements.txt"
OURS: Final = {"stepwire"}
DIST_INFO: Final = ("INSTALLER", "METADATA", "RECORD", "REQUESTED", "WHEEL")
LAMBDA_LOCKS: Final = [
    name
    for name, arguments in ALL_LOCKS.items()
    if "--only-binary" in arguments and name.startswith("layers/") and (ROOT / name).exists()
]
CERTIFICATE: Final = "arn:aws:acm:us-east-1:123456789012:certificate/0123-4567"
OPTIONAL: Final = {"certifi"}  # botocore takes the certificates of its own where it is not there


def versions_in(lock: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", lock.read_text(encoding="utf-8"), re.MULTILINE))


def locked(lock: Path) -> set[str]:
    return set(versions_in(lock))


def in_the_layer() -> set[str]:
    return locked(LAYER)


@pytest.mark.parametrize(
    ("function", "left_out", "more"),
    [
        ("mcp", (*OF_CATALOG, *OF_TOKENS), set[str]()),
        pytest.param("execution_events", (*OF_CATALOG, *OF_TOKENS), set[str](), marks=pytest.mark.long),
        pytest.param("catalog", OF_TOKENS, locked(CATALOG_LAYER), marks=pytest.mark.long),
    ],
)
def test_a_function_imports_only_packages_of_its_layers_or_lambda(
    function: str, left_out: tuple[str, ...], more: set[str]
) -> None:
    assert imported_by(function, left_out) <= in_the_layer() | set(IN_THE_RUNTIME) | more


def imported_by(function: str, left_out: tuple[str, ...]) -> set[str]:
    """Return the packages that a function and all of stepwire import, without some of its modules."""
    folder = ROOT / "functions" / function

    probe = subprocess.run(
        [sys.executable, "-c", PROBE, *left_out], cwd=folder, check=True, capture_output=True, text=True
    )

    distributions = packages_distributions()
    imported = {
        re.sub(r"[._]", "-", distribution).lower()
        for name in probe.stdout.split()
        for distribution in distributions.get(name, [])
    }
    return imported - OURS - OPTIONAL


@pytest.mark.parametrize("layer", LOCKS, ids=lambda layer: layer.parent.name)
def test_a_layer_holds_nothing_that_another_has(layer: Path) -> None:
    others = [lock for lock in LOCKS if lock != layer]

    assert locked(layer)
    assert not any(locked(layer) & locked(other) for other in others)


def test_the_function_without_layers_imports_nothing_but_python() -> None:
    probe = "import sys; before = set(sys.modules); import app; print(*set(sys.modules) - before)"

    imported = subprocess.run(
        [sys.executable, "-c", probe], cwd=ROOT / "functions/metadata", check=True, capture_output=True, text=True
    )

    names = imported.stdout.split()
    assert {name.partition(".")[0] for name in names} - {"app", "pool"} <= sys.stdlib_module_names
    assert not {"http.client", "ssl", "urllib.parse"} & set(names), "only an instance that asks the pool needs them"


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.parent.name)
def test_a_layer_holds_nothing_that_lambda_has_unless_a_newer_one_is_needed(lock: Path) -> None:
    held = locked(lock)

    assert held
    assert held & set(IN_THE_RUNTIME) <= set(NEWER_THAN_LAMBDAS)


@pytest.mark.parametrize("lock", LAMBDA_LOCKS)
def test_a_layer_holds_the_versions_that_the_tests_run_with(lock: str) -> None:
    tested = versions_in(ROOT / "requirements/dev.txt")

    assert {name: tested.get(name) for name in locked(ROOT / lock)} == versions_in(ROOT / lock)


def test_every_layer_of_third_party_packages_has_a_lock() -> None:
    assert LAYER in LOCKS
    assert {lock.relative_to(ROOT).as_posix() for lock in LOCKS} == set(LAMBDA_LOCKS)


def test_the_layers_are_locked_and_filled_for_the_python_that_the_functions_run_on() -> None:
    assert template()["Globals"]["Function"]["Runtime"] == f"python{VERSION}"
    assert template()["Globals"]["Function"]["Architectures"] == ["arm64"]
    assert LAMBDA[LAMBDA.index("--python-version") + 1] == VERSION
    assert FOR_LAMBDA[FOR_LAMBDA.index("--python-version") + 1] == VERSION


@pytest.mark.parametrize("layer", resources("AWS::Serverless::LayerVersion"), ids=lambda layer: layer.logical_id)
def test_a_layer_is_made_for_what_the_functions_run_on(layer: Resource) -> None:
    assert layer.properties["CompatibleRuntimes"] == [f"python{VERSION}"]
    assert layer.properties["CompatibleArchitectures"] == ["arm64"]
    assert layer.body["Metadata"].items() >= {"BuildMethod": "makefile", "BuildArchitecture": "arm64"}.items()


def test_every_makefile_of_a_build_has_the_target_that_sam_calls() -> None:
    built = [found for found in resources() if "makefile" in str(found.body.get("Metadata"))]

    assert built
    for found in built:
        folder = ROOT / found.properties["CodeUri" if found.kind == FUNCTION else "ContentUri"]
        assert f"\nbuild-{found.logical_id}:" in (folder / "Makefile").read_text(encoding="utf-8")


def test_every_layer_of_a_function_is_in_the_template() -> None:
    layers = {layer.logical_id for layer in resources("AWS::Serverless::LayerVersion")}

    named = {name for function in resources(FUNCTION) for name in references(function.properties.get("Layers"))}
    assert named - {"AWS::NoValue", *template()["Conditions"]} == layers


def test_a_layer_holds_the_package_without_the_bytecode_of_this_machine(tmp_path: Path) -> None:
    package = tmp_path / "package"
    (package / "part" / "__pycache__").mkdir(parents=True)
    (package / "part" / "module.py").write_text("ANSWER = 42\n")
    (package / "part" / "__pycache__" / "module.cpython-311.pyc").write_bytes(b"")

    copy(package, tmp_path / "layer")

    held = [
        path.relative_to(tmp_path / "layer").as_posix() for path in (tmp_path / "layer").rglob("*") if path.is_file()
    ]
    assert held == ["package/part/module.py"]


def test_a_layer_holds_what_is_in_the_wheels_and_nothing_that_pip_adds(tmp_path: Path) -> None:
    for name in ("bin/tool", "thing/__init__.py", *(f"thing-1.dist-info/{name}" for name in DIST_INFO)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    leave_out_what_pip_adds(tmp_path)

    held = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert held == ["thing-1.dist-info/METADATA", "thing-1.dist-info/WHEEL", "thing/__init__.py"]


def test_a_layer_for_an_unknown_platform_is_not_filled(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "layers/fill.py"), str(tmp_path / "layer"), "--package", str(tmp_path)]

    ended = subprocess.run(
        command, env=os.environ | {"STEPWIRE_PLATFORM": "armv7"}, check=False, capture_output=True, text=True
    )

    assert ended.returncode == 2
    assert "'armv7'; it may be lambda or host" in ended.stderr
    assert not (tmp_path / "layer").exists()


def test_bytecode_is_the_same_for_the_same_sources_and_is_read_without_them(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "module.py").write_text("NAMES = {'a', 'b', 'c'}\n", encoding="utf-8")
        add_bytecode(tmp_path / name, sys.executable, sys.version_info[:2])
    (tmp_path / "one/module.py").write_text("raise AssertionError\n", encoding="utf-8")
    one, other = (next((tmp_path / name).rglob("*.pyc")) for name in ("one", "other"))

    read = "import module; print(sorted(module.NAMES))"
    ended = subprocess.run(
        [sys.executable, "-c", read], cwd=tmp_path / "one", check=True, capture_output=True, text=True
    )

    assert one.read_bytes() == other.read_bytes()
    assert ended.stdout == "['a', 'b', 'c']\n"


@pytest.mark.parametrize(
    ("python", "said"), [(sys.executable, "and the layer runs on 2.7"), ("/no/python", "No such file")]
)
def test_bytecode_of_another_python_is_refused(tmp_path: Path, python: str, said: str) -> None:
    (tmp_path / "module.py").touch()

    with pytest.raises((ValueError, OSError), match=said):
        add_bytecode(tmp_path, python, (2, 7))

    assert not list(tmp_path.rglob("*.pyc"))
