"""A release that somebody has changed, with its digests made anew: refused in a line, and unpacked nowhere."""

import io
import json
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from release.archive import digest_of, packed
from release.artifact import SUMS, sums_of
from stepwire_cli.app import run
from stepwire_cli.deployment.release import opened
from stepwire_cli.exits import CommandError, Exit
from tests.release.test_artifact import FILES, contents, made

Contents = dict[str, bytes]
_MEBIBYTE: Final = 1_048_576
_ENTRY: Final = 46  # bytes of an entry of the table of contents, before the name
_SIZE_AT: Final = 24  # of what the member unpacks to


def anew(found: Contents) -> bytes:
    """Return a release of these files, with a list of digests that fits."""
    rest = {name: content for name, content in found.items() if name != SUMS}
    return packed({**rest, SUMS: sums_of(rest)})


def said_of(folder: Path, archive: bytes) -> str:
    """Return why the command does not open a release."""
    file = folder / "changed.zip"
    file.write_bytes(archive)
    with pytest.raises(CommandError, match=r"changed\.zip is no release of Stepwire, or is damaged") as refused:
        opened(file)
    return str(refused.value)


def with_code(name: str, code: bytes) -> Callable[[Contents], None]:
    def change(found: Contents) -> None:
        found[name] = code

    return change


def with_about(*path: str, to: Any) -> Callable[[Contents], None]:
    """Change a member of release.json; without a path, all of it."""

    def change(found: Contents) -> None:
        about = json.loads(found["release.json"])
        holder = about
        for name in path[:-1]:
            holder = holder[name]
        if path:
            holder[path[-1]] = to
        found["release.json"] = json.dumps(about if path else to).encode()

    return change


def with_template(change: Callable[[Any], Any]) -> Callable[[Contents], None]:
    def changed(found: Contents) -> None:
        found["template.yaml"] = yaml.safe_dump(change(yaml.safe_load(found["template.yaml"]))).encode()

    return changed


def text_template(text: bytes) -> Callable[[Contents], None]:
    return with_code("template.yaml", text)


def without(name: str) -> Callable[[Contents], None]:
    def change(found: Contents) -> None:
        del found[name]

    return change


def with_part(change: Callable[[Any], Any]) -> Callable[[Contents], None]:
    def changed(found: Contents) -> None:
        name = "extras/colour/template.yaml"
        found[name] = yaml.safe_dump(change(yaml.safe_load(found[name]))).encode()

    return changed


_CODE: Final = packed({"app.py": b""})
_CHANGES: Final[dict[str, tuple[Callable[[Contents], None], str]]] = {
    "a path out of the folder": (with_code("files/../../evil.zip", _CODE), "'files/../../evil.zip'"),
    "an absolute path": (with_code("/files/evil.zip", _CODE), "'/files/evil.zip'"),
    "a path of Windows": (with_code("files\\evil.zip", _CODE), "evil.zip'"),
    "a folder": (with_code("files/", b""), "'files/'"),
    "a space": (with_code("files/e vil.zip", _CODE), "'files/e vil.zip'"),
    "a control character": (with_code("files/\x1b[2J.zip", _CODE), "[2J.zip'"),
    "code named after something else": (with_code(f"files/Evil-{'0' * 16}.zip", _CODE), "is not named after what"),
    "code in a folder": (with_code(f"files/a/Evil-{digest_of(_CODE)[:16]}.zip", _CODE), "is not named after what"),
    "no template": (without("template.yaml"), "it has no template.yaml"),
    "no release.json": (without("release.json"), "it has no release.json"),
    "a list for release.json": (with_about(to=[]), "Expected `object`, got `array`"),
    "no JSON": (with_code("release.json", b"{"), "truncated"),
    "JSON without an end": (with_code("release.json", b'{"a":' + b"[" * 100_000), "recursion"),
    "a version with an escape sequence": (with_about("version", to="1.0.0\x1b[2J\x1b]0;t\x07"), "$.version"),
    "a version with a line end": (with_about("version", to="1.0.0\n"), "$.version"),
    "a version that is written backwards": (with_about("version", to="1.0.0\u202e"), "$.version"),
    "a version that is a number": (with_about("version", to=1.0), "Expected `str`, got `float` - at `$.version`"),
    "a version of a million digits": (with_about("version", to="9" * 1_000_000 + ".0.0"), "$.version"),
    "another oldest version": (with_about("oldest", to="all"), "$.oldest"),
    "a cost that is a text": (with_about("idle", "dollars", to="free"), "Expected `float`, got `str`"),
    "a cost beyond all numbers": (with_about("idle", "dollars", to=1e300), "$.idle.dollars"),
    "costs that are texts": (with_about("idle", "more", to={"Alarms=all": "2"}), "Expected `float`, got `str`"),
    "costs that are a list": (with_about("idle", "more", to=[]), "Expected `object`, got `array`"),
    "a choice with an escape sequence": (with_about("idle", "more", to={"\x1b=1": 1.0}), "at `key` in `$.idle.more`"),
    "a template that is a list": (with_template(lambda _template: []), "template.yaml is no template"),
    "a template that is no YAML": (text_template(b"{"), "line 2"),
    "a template that is no text": (text_template(b"\xff"), "utf-8"),
    "a template nested too deeply": (text_template(b"[" * 500_000 + b"]" * 500_000), "nested"),
    "a template that stands for gigabytes": (
        text_template(b"a: &a [1,2,3,4,5,6,7,8,9]\n" + b"".join(
            b"%c: &%c [%s]\n" % (name, name, b",".join([b"*%c" % (name - 1)] * 9)) for name in range(98, 110)
        )),
        "aliases",
    ),
    "a template that is too large": (
        lambda found: found.update({"template.yaml": found["template.yaml"] + b"#" * _MEBIBYTE}),
        "1,048,576 bytes",
    ),
    "no parameters": (with_template(lambda template: {"Resources": template["Resources"]}), "`Parameters`"),
    "parameters that are a list": (with_template(lambda template: {**template, "Parameters": []}), "$.Parameters"),
    "a parameter that is a text": (
        with_template(lambda template: {**template, "Parameters": {"Alarms": "on"}}),
        "Expected `object`, got `str`",
    ),
    "a name of a parameter that is a path": (
        with_template(lambda template: {**template, "Parameters": {"../a": template["Parameters"]["Alarms"]}}),
        "at `key` in `$.Parameters`",
    ),
    "a pattern that is none": (
        with_template(
            lambda template: {
                **template, "Parameters": {"Alarms": {"Type": "String", "Description": "x", "AllowedPattern": "["}}
            }
        ),
        "the AllowedPattern of Alarms is no pattern",
    ),
    "a resource whose name is a path": (
        with_template(lambda template: {**template, "Resources": {"../../evil": {"Type": "x"}}}),
        "at `key` in `$.Resources`",
    ),
    "a part in another place": (with_code("extras/template.yaml", b"{}"), "extras/template.yaml is no part of"),
    "a part of another kind": (with_code("extras/colour/app.py", b""), "extras/colour/app.py is no part of an extra"),
    "a part deeper below": (with_code("extras/colour/a/template.yaml", b"{}"), "is no part of an extra"),
    "a part of an extra that nothing is said of": (
        with_code("extras/smell/template.yaml", b"Resources: {}"),
        "its list of extras does not fit",
    ),
    "an extra without a part": (without("extras/taste/template.yaml"), "its list of extras does not fit"),
    "no extras": (with_about("extras", to=None), "Expected `object`, got `null` - at `$.extras`"),
    "a name of an extra with a line end": (
        with_about("extras", to={"colour\n": {"description": "x", "idle": {"dollars": 0.0, "more": {}}}}),
        "at `key` in `$.extras`",
    ),
    "a description with an escape sequence": (
        with_about("extras", "colour", "description", to="Colours.\x1b[2J"), "$.extras[...].description"
    ),
    "a description of a million words": (
        with_about("extras", "colour", "description", to="word " * 1_000_000), "$.extras[...].description"
    ),
    "a cost of an extra that is a text": (
        with_about("extras", "colour", "idle", "dollars", to="free"), "$.extras[...].idle.dollars"
    ),
    "a part that is a list": (
        with_code("extras/colour/template.yaml", b"- a"), "extras/colour/template.yaml is no template"
    ),
    "a part that is no text": (with_code("extras/colour/template.yaml", b"\xff"), "utf-8"),
    "a part nested too deeply": (
        with_code("extras/colour/with_taste.yaml", b"[" * 500_000 + b"]" * 500_000), "nested"
    ),
    "parts that are too large together": (
        lambda found: found.update({"extras/taste/template.yaml": b"#" * (_MEBIBYTE - 100)}), "1,048,576 bytes"
    ),
    "a part with a pattern that is none": (
        with_part(
            lambda part: {
                **part, "Parameters": {"Colour": {"Type": "String", "Description": "x", "AllowedPattern": "["}}
            }
        ),
        "the AllowedPattern of Colour is no pattern",
    ),
    "a part that has no resources but a list": (
        with_part(lambda part: {**part, "Resources": []}), "Expected `object`, got `array` - at `$.Resources`"
    ),
    "a part with a resource whose name is a path": (
        with_part(lambda part: {**part, "Resources": {"../../evil": {"Type": "x"}}}), "at `key` in `$.Resources`"
    ),
    "a part that replaces the core's parameters": (
        with_part(lambda part: {**part, "Parameters": {"Fn::override": []}}), "$.Parameters"
    ),
    "what something is made of with an escape sequence": (
        with_about("creates", to=[{"name": "A", "type": "AWS::A::B", "of": "\x1b[2J"}]), "$.creates[0].of"
    ),
    "resources that are texts": (
        with_template(lambda template: {**template, "Resources": {"Evil": "x"}}),
        "Expected `object`, got `str`",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("change", "words"), _CHANGES.values(), ids=_CHANGES)
def test_a_changed_release_whose_digests_fit_is_refused_in_a_plain_line(
    tmp_path: Path, change: Callable[[Contents], None], words: str
) -> None:
    found = contents(made(tmp_path))
    change(found)

    said = said_of(tmp_path, anew(found))

    assert words in said
    assert said.isprintable()
    assert len(said) < 1_000


def of_same_name(found: Contents) -> bytes:
    archive = io.BytesIO(anew(found))
    with zipfile.ZipFile(archive, "a") as whole, pytest.warns(UserWarning, match="Duplicate"):
        whole.writestr("template.yaml", b"another")
    return archive.getvalue()


def packed_as_bzip2(found: Contents) -> bytes:
    archive = io.BytesIO(anew(found))
    with zipfile.ZipFile(archive, "a", zipfile.ZIP_BZIP2) as whole:
        whole.writestr("licenses/bomb", bytes(_MEBIBYTE))
    return archive.getvalue()


def that_says(size: int) -> Callable[[Contents], bytes]:
    """Have a member of 100 MiB, in 0.1 MB, say that it has another size."""

    def written(found: Contents) -> bytes:
        archive = bytearray(packed({**found, "licenses/bomb": bytes(100 * _MEBIBYTE)}))
        entry = archive.rindex(b"licenses/bomb") - _ENTRY
        archive[entry + _SIZE_AT : entry + _SIZE_AT + 4] = struct.pack("<I", size)
        return bytes(archive)

    return written


def of_many_files(found: Contents) -> bytes:
    return anew(found)[:-22] + b"PK\x01\x02" * 50_000 + anew(found)[-22:]


@pytest.mark.parametrize(
    ("archive", "words"),
    [
        (of_same_name, "two files in it have the same name"),
        (packed_as_bzip2, "licenses/bomb is compressed in a way that is not supported"),
        (that_says(400_000_000), "it has more than 300 MB"),
        (that_says(10), "Bad CRC-32 for file 'licenses/bomb'"),
        (of_many_files, "it has more than 50,000 files"),
    ],
    ids=["of the same name", "bzip2", "large", "said to be small", "many"],
)
def test_an_archive_that_would_fill_the_memory_is_refused_before_it_does(
    tmp_path: Path, archive: Callable[[Contents], bytes], words: str
) -> None:
    content = archive(contents(made(tmp_path)))
    tracemalloc.start()

    said = said_of(tmp_path, content)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert words in said
    assert most < 20 * _MEBIBYTE


def test_the_digest_is_beside_the_release(tmp_path: Path) -> None:
    artifact = made(tmp_path)

    beside = artifact.file.with_name("stepwire-1.2.0.zip.sha256").read_text()

    assert beside == f"{artifact.digest}  stepwire-1.2.0.zip\n"
    assert artifact.digest == digest_of(artifact.file.read_bytes()) == opened(artifact.file).digest


def test_a_release_with_the_digest_that_was_named_is_opened_and_no_other(tmp_path: Path) -> None:
    artifact = made(tmp_path)
    found = contents(artifact)
    found["template.yaml"] += b"# another\n"
    (tmp_path / "changed.zip").write_bytes(anew(found))

    good = opened(artifact.file, artifact.digest.upper())

    assert good.version == "1.2.0"
    assert opened(tmp_path / "changed.zip").version == "1.2.0", "nothing else tells the two apart"
    with pytest.raises(CommandError, match="and not the one of --sha256: somebody has changed it"):
        opened(tmp_path / "changed.zip", artifact.digest)
    with pytest.raises(CommandError, match="--sha256 takes 64 hexadecimal digits"):
        opened(artifact.file, artifact.digest[:-1])


@pytest.mark.parametrize("command", [["deploy", "Authorizer=none"], ["upgrade"], ["deploy", "--parameters"]])
def test_a_command_takes_a_release_by_its_digest(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    artifact = made(tmp_path)

    code = run([*command, "--release", str(artifact.file), "--sha256", "0" * 64])

    assert code != Exit.DONE
    assert f"has the SHA-256 {artifact.digest}, and not the one of --sha256" in capsys.readouterr().err


def test_a_deployment_says_the_digest_before_anything_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    artifact = made(tmp_path)

    run(["--region", "eu-central-1", "deploy", "NoSuch=1", "--release", str(artifact.file)])

    assert capsys.readouterr().err.startswith(f"release 1.2.0, SHA-256 {artifact.digest}\n")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (packed({"../../../evil.py": b""}), "'../../../evil.py'"),
        (packed({"a/../../evil.py": b""}), "'a/../../evil.py'"),
        (packed({"/evil.py": b""}), "'/evil.py'"),
        (packed({"a\\..\\evil.py": b""}), "evil.py'"),
        (packed({"e\x1bvil.py": b""}), "vil.py'"),
        (b"no zip file", "File is not a zip file"),
        (None, "KeyError"),
    ],
)
def test_an_endpoint_of_a_changed_release_is_written_nowhere(
    code: bytes | None, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = contents(made(tmp_path / "made"))
    (name,) = (one for one in found if one.startswith("files/McpFunction-"))
    del found[name]
    if code is not None:
        new = f"files/McpFunction-{digest_of(code)[:16]}.zip"
        found[new] = code
        found["template.yaml"] = found["template.yaml"].replace(Path(name).name.encode(), Path(new).name.encode())
    (tmp_path / "changed.zip").write_bytes(anew(found))
    project = tmp_path / "project"

    ended = run(["new", "endpoint", "--yes", "--release", str(tmp_path / "changed.zip"), "--output", str(project)])

    assert ended == Exit.USAGE
    assert words in capsys.readouterr().err
    assert not project.exists()
    assert not list(tmp_path.rglob("evil.py"))


def test_an_endpoint_of_a_release_has_the_files_of_its_authors_whatever_their_names(tmp_path: Path) -> None:
    """A release made from a clone has the clone's skills in it."""
    found = contents(made(tmp_path / "made", {**FILES, "build/McpFunction/skills/Größe + more (1).md": "text"}))
    (tmp_path / "ours.zip").write_bytes(anew(found))
    project = tmp_path / "project"

    ended = run(["new", "endpoint", "--yes", "--release", str(tmp_path / "ours.zip"), "--output", str(project)])

    assert ended == Exit.DONE
    assert (project / "functions/McpFunction/skills/Größe + more (1).md").read_text() == "text"
