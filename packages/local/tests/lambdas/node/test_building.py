"""Functions that esbuild builds are built at the start, with the options that the template gives."""

from pathlib import Path
from typing import Any, Final

import pytest

from packages.local.tests.lambdas.node.conftest import function, template
from stepwire_local import FunctionError, LocalStack

# Stands for esbuild: what it makes of an entry point returns what it was asked.
ESBUILD: Final = """#!/usr/bin/env node
const fs = require("node:fs"), path = require("node:path");
const given = process.argv.slice(2), outdir = given.find((one) => one.startsWith("--outdir=")).slice(9);
const source = given.find((one) => one.endsWith(".ts"));
if (!fs.existsSync(source)) { console.error(`Could not resolve "${source}"`); process.exit(1); }
const options = given.filter((one) => !one.startsWith("--outdir="));
const told = JSON.stringify({ source: fs.readFileSync(source, "utf8"), given: options });
fs.writeFileSync(path.join(outdir, path.basename(source, ".ts") + ".js"), `exports.handler = async () => (${told});`);
"""
PROPERTIES: Final = {"Runtime": "nodejs20.x", "CodeUri": "src", "Handler": "app.handler"}


def built(folder: Path, place: str | None, files: dict[str, str] | None = None, **properties: Any) -> Path:
    """Write a template with one function that esbuild builds, and esbuild in a folder."""
    metadata = {"BuildMethod": "esbuild", "BuildProperties": {"EntryPoints": ["app.ts"], **properties}}
    code = {"src/app.ts": "the source"} if files is None else files
    path = template(folder, code, {"F": function(PROPERTIES, Metadata=metadata)})
    if place is not None:
        program = folder / place / "esbuild"
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(ESBUILD, encoding="utf-8")
        program.chmod(0o755)
    return path


@pytest.mark.parametrize("place", ["src/node_modules/.bin", "node_modules/.bin"])
def test_esbuild_is_that_of_the_function_or_of_the_project(node: str, tmp_path: Path, place: str) -> None:
    options: dict[str, Any] = {"Minify": False, "Target": "es2022", "External": ["@aws-sdk/*"], "Sourcemap": True}
    options |= {"Banner": [{"js": "// ours"}], "MainFields": ["module", "main"], "Loader": [".html=text"]}

    with LocalStack(built(tmp_path, place, Format="esm", OutExtension=[".js=.mjs"], **options)) as stack:
        told = stack.invoke("F", {})

    assert told["source"] == "the source"
    assert told["given"][0] == "app.ts"
    assert set(told["given"][1:]) == {
        "--bundle",
        "--external:@aws-sdk/*",
        "--format=esm",
        "--log-level=error",
        "--out-extension:.js=.mjs",
        "--platform=node",
        "--sourcemap",
        "--banner:js=// ours",
        "--main-fields=module,main",
        "--loader:.html=text",
        "--target=es2022",
    }


def test_esbuild_may_be_on_the_path_and_minifies_by_default(
    node: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")

    with LocalStack(built(tmp_path, "bin")) as stack:
        assert "--minify" in stack.invoke("F", {})["given"]


def test_a_change_of_the_source_is_built_and_runs(node: str, tmp_path: Path) -> None:
    with LocalStack(built(tmp_path, "node_modules/.bin")) as stack:
        before = stack.invoke("F", {})["source"]
        (tmp_path / "src/app.ts").write_text("the new source", encoding="utf-8")
        stack.update(stack.deployments[0])
        after = stack.invoke("F", {})["source"]

    assert (before, after) == ("the source", "the new source")


def test_code_that_is_built_already_runs_as_it_is(node: str, tmp_path: Path) -> None:
    with LocalStack(built(tmp_path, None, {"src/app.js": "exports.handler = async () => 'ready';"})) as stack:
        assert stack.invoke("F", {}) == "ready"


@pytest.mark.parametrize(
    ("place", "files", "why"),
    [
        (None, None, "esbuild builds it, and is not here: npm install --prefix "),
        ("src/node_modules/.bin", {"src/other.ts": ""}, 'esbuild fails: Could not resolve "app.ts"'),
    ],
)
def test_what_cannot_be_built_is_a_stub_and_a_line_says_why(
    node: str, tmp_path: Path, place: str | None, files: dict[str, str] | None, why: str
) -> None:
    with LocalStack(built(tmp_path, place, files)) as stack:
        missing = stack.coverage.missing
        with pytest.raises(FunctionError) as caught:
            stack.invoke("F", {})

    assert len(missing) == 1
    assert missing[0].startswith(f"the function F cannot run here: {why}")
    assert why in caught.value.message
