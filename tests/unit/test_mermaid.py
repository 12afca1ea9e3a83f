"""The script of the site's diagrams: exactly the pinned one."""

import io
import tarfile
from pathlib import Path

import pytest

from requirements import mermaid


def pack(folder: Path, script: bytes) -> bool:
    """Write an archive as npm does."""
    with tarfile.open(folder / "mermaid.tgz", "w:gz") as archive:
        member = tarfile.TarInfo("package/dist/mermaid.min.js")
        member.size = len(script)
        archive.addfile(member, io.BytesIO(script))
    return True


def test_the_script_is_taken_out_of_the_archive(tmp_path: Path) -> None:
    pack(tmp_path, b"draw()")

    assert mermaid.script_in(tmp_path / "mermaid.tgz") == b"draw()"


def test_the_hash_of_an_archive_is_written_as_npm_writes_it() -> None:
    # printf stepwire | openssl dgst -sha512 -binary | base64
    assert mermaid.integrity_of(b"stepwire") == (
        "sha512-2Pl6Bl273sfRycp4mAX2qAZCYRmvmPbsO4qmutlYlnTNrv22apjx9kY+YlwR+FKtZQGvq9fM8LuygAG6oXQxTQ=="
    )


def test_the_pinned_script_is_written_and_then_kept(tmp_path: Path) -> None:
    file = tmp_path / "mermaid.min.js"
    pack(tmp_path, b"draw()")
    archive = (tmp_path / "mermaid.tgz").read_bytes()
    integrity = mermaid.integrity_of(archive)

    first = mermaid.main(file, lambda folder: bool((folder / "mermaid.tgz").write_bytes(archive)), integrity)
    second = mermaid.main(file, lambda _: False, integrity)

    assert (first, second) == (0, 0)
    assert file.read_bytes().endswith(b"draw()")


def test_another_archive_than_the_pinned_one_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mermaid.min.js"

    assert mermaid.main(file, lambda folder: pack(folder, b"steal()")) == 1

    assert not file.exists()
    assert "another mermaid@" in capsys.readouterr().err


def test_a_registry_without_an_answer_is_one_line_that_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mermaid.main(tmp_path / "mermaid.min.js", lambda _: False) == 1

    assert (
        capsys.readouterr().err
        == f"npm cannot fetch {mermaid.PACKAGE}: check the network, or set npm_config_registry.\n"
    )
