"""The measurement of a release: it starts what the artifact's template names, and replaces native code alone."""

from pathlib import Path

import pytest

from benchmarks.cold.contenders import FLOOR, RELEASED, RELEASED_SOURCES, requests
from benchmarks.cold.pages import RELEASE, release_table
from benchmarks.cold.release import remove_bytecode, unpack, use_native_code
from benchmarks.cold.rounds import Result, Spread
from benchmarks.page import PAGE
from release.archive import contents_of, packed

TEMPLATE = """
Resources:
  Layer:
    Type: AWS::Serverless::LayerVersion
    Properties: {ContentUri: {Bucket: b, Key: {Fn::Sub: "${ArtifactPrefix}Layer-1.zip"}}}
  More:
    Type: AWS::Serverless::LayerVersion
    Properties: {ContentUri: {Bucket: b, Key: {Fn::Sub: "${ArtifactPrefix}More-1.zip"}}}
  McpFunction:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: {Bucket: b, Key: {Fn::Sub: "${ArtifactPrefix}McpFunction-1.zip"}}
      Layers: [{Ref: Layer}, {Ref: More}]
"""
FAST = {
    "fast/core.cpython-313-aarch64-linux-gnu.so": b"arm64",
    "fast/__init__.py": b"released",
    "fast-1.2.dist-info/METADATA": b"",
}


def files(folder: Path, contents: dict[str, bytes]) -> Path:
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def test_function_and_layers_are_unpacked_as_lambda_does(tmp_path: Path) -> None:
    artifact = tmp_path / "stepwire-1.0.0.zip"
    layer = {"python/ours/__init__.py": b"", "python/ours/__pycache__/__init__.cpython-313.pyc": b"bytecode"}
    artifact.write_bytes(
        packed(
            {
                "template.yaml": TEMPLATE.encode(),
                "files/McpFunction-1.zip": packed({"app.py": b"handler"}),
                "files/Layer-1.zip": packed(layer),
                "files/More-1.zip": packed({"python/theirs.py": b""}),
                "files/OtherFunction-1.zip": packed({"other.py": b""}),
            }
        )
    )

    task, packages = unpack(artifact, tmp_path / "unpacked")

    assert contents_of(task) == {"app.py": b"handler"}
    released = set(contents_of(packages))
    assert released == {"ours/__init__.py", "ours/__pycache__/__init__.cpython-313.pyc", "theirs.py"}
    remove_bytecode(packages)
    assert set(contents_of(packages)) == {"ours/__init__.py", "theirs.py"}


def test_native_code_alone_is_replaced(tmp_path: Path) -> None:
    packages = files(tmp_path / "packages", FAST)
    here = {
        "fast/core.cpython-313-x86_64-linux-gnu.so": b"here",
        "fast/__init__.py": b"",
        "fast-1.2.dist-info/METADATA": b"",
    }

    use_native_code(packages, files(tmp_path / "installed", here))

    assert contents_of(packages / "fast") == {
        "core.cpython-313-x86_64-linux-gnu.so": b"here",
        "__init__.py": b"released",
    }


def test_native_code_of_another_version_is_refused(tmp_path: Path) -> None:
    packages = files(tmp_path / "packages", FAST)
    installed = files(tmp_path / "installed", {"fast-1.3.dist-info/METADATA": b""})

    with pytest.raises(ValueError, match=r"has no fast-1\.2\.dist-info"):
        use_native_code(packages, installed)


def test_the_page_has_a_row_of_the_release_for_each_request_of_function_mcp() -> None:
    asked = [one for one in requests("a task") if one.goal is not None]
    one = Spread(1, 1, 1)
    results = [Result(name, one, one, 1, 1, ()) for name in (FLOOR, RELEASED, RELEASED_SOURCES)]
    head, *rows = release_table({request.name: (request, results) for request in asked}).splitlines()

    text = PAGE.read_text(encoding="utf-8").partition(f"<!-- {RELEASE} -->\n")[2].partition("<!-- end -->")[0]

    assert head in text
    assert all(row.partition(" | 1.00 |")[0] in text for row in rows[1:])
