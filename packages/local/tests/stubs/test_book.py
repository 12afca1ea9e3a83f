"""Which files are stubs, by which names they are found, and what is wrong with those that cannot be used."""

import threading
from pathlib import Path

import pytest

from stepwire_local.errors import StubError
from stepwire_local.stubs.book import Book, Call
from stepwire_local.stubs.names import nearest, suggested
from stepwire_local.stubs.replies import Answer, Unusable
from stepwire_local.stubs.scripts import Scripts
from tests.waiting import until

SCRIPT = "def answer(given): return 1\n"


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        path = folder / "stubs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def book(folder: Path, *given: tuple[str, str | Path], **texts: str) -> Book:
    write(folder, **texts)
    made = Book(given, folder)
    made.read()
    return made


def found(made: Book, *names: str) -> str | None:
    stub = made.find(names)
    return stub.path.name if stub else None


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("sns/publish.json", "sns:publish"),
        ("sns:publish.json", "arn:aws:states:::sns:publish"),
        ("glue/startJobRun.sync.json", "glue:startJobRun.sync"),
        ("aws-sdk/s3/copyObject.json", "aws-sdk:s3:copyobject"),
        ("OrderPipeline/Charge card.json", "OrderPipeline/Charge card"),
        ("convert.json", "Convert"),
    ],
)
def test_every_name_can_be_a_file(tmp_path: Path, file: str, name: str) -> None:
    assert found(book(tmp_path, **{file: "1"}), "nobody", name) == Path(file).name


def test_what_is_no_stub_is_left_alone(tmp_path: Path) -> None:
    others = {
        "README.md": "{",
        "types.pyi": "x: int",
        "_shared.py": "(",
        ".hidden.json": "{",
        "__pycache__/a.json": "{",
    }

    assert book(tmp_path, **others).all() == ()


def test_a_name_of_the_command_line_wins_over_a_file_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text("2", encoding="utf-8")

    made = book(tmp_path, ("Convert", tmp_path / "mine.json"), **{"Convert.json": "1"})

    assert found(made, "Convert") == "mine.json"


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("a.json", "{", r"a\.json, line 1, column 2: not JSON: "),
        ("a.json", "NaN", "NaN is not JSON"),
        ("a.json", "[" * 100_000, "a.json"),
        ("a.json", '{"Return": 1, "Throw": {"Error": "A"}}', "either Return or Throw"),
        ("a.py", "def answer(:\n  pass", r"a\.py, line 1: "),
        ("a.py", "def answer(given):\nreturn 1", r"a\.py, line 2: "),
        ("a.py", "x = '\0'", r"a\.py"),
        ("a.py", "def reply(given): return 1", r"it has no function answer\(input, context\)"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_its_line(tmp_path: Path, file: str, text: str, words: str) -> None:
    with pytest.raises(StubError, match=words):
        book(tmp_path, **{file: text})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([("Convert", "gone.json")], "gone.json, the stub of Convert, does not exist"),
        ([("Convert", "answer.yaml")], "a stub is a .json file with an answer, or a .py script"),
        ([("Convert", "one.json"), ("convert", "two.py")], r"convert has two stubs, one\.json and two\.py: keep one"),
        ([(" ", "one.json")], "the name of what it stands for is missing"),
    ],
)
def test_an_option_that_cannot_be_used_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: list[tuple[str, str]], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("one.json", "1"), ("two.py", SCRIPT), ("answer.yaml", "1")):
        (tmp_path / name).write_text(text, encoding="utf-8")

    with pytest.raises(StubError, match=words) as raised:
        Book(given).read()
    assert len(str(raised.value).splitlines()) == 1


def test_two_files_of_one_name_are_named(tmp_path: Path) -> None:
    with pytest.raises(StubError, match=r"Convert has two stubs, .*Convert\.json and .*Convert\.py"):
        book(tmp_path, **{"Convert.json": "1", "Convert.py": SCRIPT})


def test_a_change_that_cannot_be_read_changes_nothing(tmp_path: Path) -> None:
    made = book(tmp_path, **{"a.json": "1", "b.json": "2"})
    before = made.signature()
    write(tmp_path, **{"a.json": "3", "b.json": "{", "c.json": "4"})

    with pytest.raises(StubError):
        made.read()

    kept = made.find(["a"])
    assert made.signature() != before
    assert kept is not None
    assert (kept.text, made.find(["c"])) == ("1", None)


def test_what_has_changed_is_named(tmp_path: Path) -> None:
    made = book(tmp_path, **{"a.json": "1", "b.json": "2", "same.json": "0"})
    write(tmp_path, **{"a.json": "3", "c.json": "4"})
    (tmp_path / "stubs" / "b.json").unlink()

    assert made.read() == ["a", "c", "b"]
    assert made.read() == []


def test_a_script_has_its_folder_s_modules_and_no_others(tmp_path: Path) -> None:
    made = book(
        tmp_path,
        **{"_shared.py": "VALUE = 42", "a.py": "from _shared import VALUE\ndef answer(): return VALUE"},
    )
    stub = made.find(["a"])
    assert stub is not None

    assert made.ask(stub, Call({}, {})) == Answer(42)


def test_a_script_ends_with_the_stack(tmp_path: Path) -> None:
    scripts, outcomes, started = Scripts(), list[object](), tmp_path / "started"
    write(tmp_path, **{"a.py": f"import time\ndef answer():\n  open({str(started)!r}, 'w').close()\n  time.sleep(600)"})
    made = Book((), tmp_path, "", scripts)
    made.read()
    stub = made.find(["a"])
    assert stub is not None
    asking = threading.Thread(target=lambda: outcomes.append(made.ask(stub, Call({}, {}))))

    asking.start()
    until(started.exists)
    scripts.close()
    asking.join()

    assert [type(one) for one in outcomes] == [Unusable]
    assert isinstance(made.ask(stub, Call({}, {})), Unusable), "none is started any more"


def test_a_name_is_suggested_as_a_shell_takes_it() -> None:
    assert suggested("sns:publish") == "--stub sns:publish=answer.json"
    assert suggested("Charge card") == "--stub 'Charge card=answer.json'"
    assert nearest("Covnert", ["Convert", "Charge"]) == "Convert"
    assert nearest("x", ["Convert"]) is None
