"""Skills as they are checked: what is served of a folder, and every fault with its file or field."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from stepwire.extras.skills.manifest import (
    LARGEST_FRONTMATTER,
    LARGEST_SKILL,
    LARGEST_SKILLS,
    MOST_FILES,
    MOST_SKILLS,
    Checked,
    checked_skills,
)
from stepwire.extras.skills.skill import Skill, skills_in
from stepwire.manifests.published import ToolFile
from stepwire.manifests.reading import compile_directory
from tests.unit.catalog.manifest_files import SMALLEST, faults, put

GOOD = "name: refunds\ndescription: Refund a customer."


def main(fields: str = GOOD, body: str = "# Refunds\n") -> str:
    return f"---\n{fields}\n---\n{body}"


def checked(
    files: Mapping[str, str | None], tool: str = "orders", served: tuple[str, ...] = ("orders",)
) -> Checked[Skill]:
    """Check files by their paths below the tool; a file without a text is the good SKILL.md."""
    return checked_skills(
        [ToolFile(tool, path, path, main() if text is None else text) for path, text in files.items()], served
    )


def reason(files: Mapping[str, str | None], tool: str = "orders") -> str:
    found = checked(files, tool)
    assert found.parts == ()
    (refusal,) = found.refusals
    assert (refusal.tool, refusal.what, refusal.serves_previous) == (tool, "skill", False)
    return refusal.reason


# Q4, Q6
@pytest.mark.parametrize(
    ("fields", "frontmatter"),
    [
        (GOOD, {"name": "refunds", "description": "Refund a customer."}),
        (
            GOOD + "\nlicense: MIT\ncompatibility: Python 3\nmetadata: {team: '7'}",
            {
                "name": "refunds",
                "description": "Refund a customer.",
                "license": "MIT",
                "compatibility": "Python 3",
                "metadata": {"team": "7"},
            },
        ),
        (
            "name: refunds\ndescription: >-\n  Two\n  lines: ünd 👩\u200d🚀.",
            {"name": "refunds", "description": "Two lines: ünd 👩\u200d🚀."},
        ),
        ('{"name": "refunds", "description": "JSON."}', {"name": "refunds", "description": "JSON."}),
    ],
)
def test_the_frontmatter_is_kept_as_it_is(fields: str, frontmatter: object) -> None:
    found = checked({"refunds/SKILL.md": main(fields.replace("\n", "\r\n") if ">" not in fields else fields)}).parts

    assert found is not None
    (skill,) = found
    assert skill.frontmatter == frontmatter
    assert (skill.tool, skill.root) == ("orders", "skill://tools/orders/refunds")


BOMB = "metadata:\n  a: &a [x, x]\n" + "\n".join(
    f"  {b}: &{b} [*{a}, *{a}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


# Q4, Q5, Q20: the frontmatter of a stranger is data
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ("", "SKILL.md: between the lines --- must be fields"),
        ("just text", "SKILL.md: between the lines --- must be fields"),
        ("- a\n- b", "SKILL.md: between the lines --- must be fields"),
        ("name: refunds", "description: is missing"),
        ("description: x", "name: is missing"),
        ("name: 7\ndescription: x", "name: must be a text: put it in quotes"),
        ("name: refunds\ndescription: yes", "description: must be a text: put it in quotes"),
        ("name: refunds\ndescription: [a]", "description: must be a text: put it in quotes"),
        ("name: refunds\ndescription: '  '", "description: must not be empty"),
        ("name: refunds\ndescription: " + "x" * 1_025, "description: must have at most 1024 characters, and has 1025"),
        (GOOD + "\ncompatibility: " + "x" * 501, "compatibility: must have at most 500"),
        ("name: Refunds\ndescription: x", "name: must be small letters and digits"),
        ("name: refunds-\ndescription: x", "name: must be small letters and digits"),
        ("name: re--funds\ndescription: x", "name: must be small letters and digits"),
        ("name: ../refunds\ndescription: x", "name: must be small letters and digits"),
        ("name: returns\ndescription: x", "name: must be the name of its folder, 'refunds'"),
        (GOOD + "\nhooks: {start: rm}", "hooks: unknown field"),
        (GOOD + "\n? [a, b]\n: c", "line"),
        (GOOD + "\nallowed-tools: Bash", "allowed-tools: asks the client's host for rights"),
        (GOOD + "\nmetadata: x", "metadata: must have fields"),
        (GOOD + "\nmetadata: {a: 1}", "metadata.a: must be a text"),
        (GOOD + "\nmetadata: {a: {b: c}}", "metadata.a: must be a text"),
        (
            GOOD + "\nmetadata: {" + ", ".join(f"k{n}: x" for n in range(21)) + "}",
            "metadata: must have fields, at most 20",
        ),
        (GOOD + "\nmetadata: {io.modelcontextprotocol/x: y}", "names with io.modelcontextprotocol/ are reserved"),
        (GOOD + "\nname: refunds", "line 4: the key 'name' is given twice"),
        (BOMB, "aliases (*name) are not supported"),
        ("name: &n refunds\ndescription: *n", "line 3: aliases (*name) are not supported"),
        ("name: !!python/object/apply:os.system [ls]\ndescription: x", "line 2: "),
        ("name: !Sub refunds\ndescription: x", "the tag !Sub means nothing here"),
        ("name: refunds\ndescription: !!binary eA==", "a type that JSON does not have"),
        ("name: refunds\ndescription: 2026-11-24", "is read as a date"),
        ("name: refunds\ndescription: .inf", "is not finite"),
        ("name: refunds\ndescription: a: b", "quote texts with a colon"),
        ("name: " + "[" * 1_900 + "]" * 1_900, "more than 100 opening brackets"),
        (GOOD + "\n#" + "x" * LARGEST_FRONTMATTER, "SKILL.md: must begin with a line ---"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_frontmatter_that_is_wrong_is_refused_with_the_reason(fields: str, words: str) -> None:
    assert words in reason({"refunds/SKILL.md": main(fields)})


# Q4
@pytest.mark.parametrize(
    "text", ["", "# Refunds", "--- \nname: refunds", "\n" + main(), "---\nname: refunds\n", "----\n"]
)
def test_a_text_without_a_frontmatter_is_no_skill(text: str) -> None:
    assert "SKILL.md: must begin with a line ---" in reason({"refunds/SKILL.md": text})


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"SKILL.md": None}, "SKILL.md: is missing: a skill is a folder"),
        ({"refunds/skill.md": None}, "SKILL.md: is missing"),
        ({"refunds/SKILL.md": None, "refunds/../x": ""}, "../x: a path has"),
        ({"refunds/SKILL.md": None, "refunds//x": ""}, "/x: a path has"),
        ({"refunds/SKILL.md": None, "refunds/.env": ""}, ".env: a path has"),
        ({"refunds/SKILL.md": None, "refunds/a/b/c/d/e/f": ""}, "a/b/c/d/e/f: a path has"),
        ({"refunds/SKILL.md": None, "refunds/a b": ""}, "a b: a path has"),
        ({"refunds/SKILL.md": None, "refunds/\u202ea": ""}, "\\u202ea: a path has"),
        ({"refunds/SKILL.md": None, "refunds/more/SKILL.md": None}, "a skill in a skill is not served"),
        ({"refunds/SKILL.md": None, **{f"refunds/{n}": "" for n in range(MOST_FILES)}}, "at most 20 files"),
        ({"refunds/SKILL.md": None, "refunds/x": "x" * LARGEST_SKILL}, "at most 100000 bytes"),
        ({"refunds/SKILL.md": "x" * 1_000_000}, "at most 100000 bytes, and these have 1000000"),
        ({"refunds/SKILL.md": main(body="\u202e")}, "SKILL.md: has the invisible character U+202E"),
        ({"refunds/SKILL.md": main(GOOD + "\u200b")}, "SKILL.md: has the invisible character U+200B"),
        ({"refunds/SKILL.md": main(body="\x1b[2J")}, "SKILL.md: has the invisible character U+001B"),
        ({"refunds/SKILL.md": "\ufeff" + main()}, "SKILL.md: has the invisible character U+FEFF"),
        ({"refunds/SKILL.md": None, "refunds/x": "\x00"}, "x: has the invisible character U+0000"),
        ({"refunds/SKILL.md": None, "refunds/x": "\ud800"}, "x: has half of a character"),
    ],
)
def test_files_that_are_wrong_are_refused_with_the_reason(files: dict[str, str | None], words: str) -> None:
    assert words in reason(files)


@pytest.mark.parametrize(("tool", "served"), [("stranger", ("orders",)), ("..", ("..",))])
def test_a_skill_is_served_with_its_tool_alone(tool: str, served: tuple[str, ...]) -> None:
    (refusal,) = checked({"refunds/SKILL.md": None}, tool, served).refusals

    assert repr(tool) in refusal.reason


def test_a_bad_skill_takes_nothing_with_it() -> None:
    found = checked({"a/SKILL.md": "", "refunds/SKILL.md": None, "refunds/x.md": "x", "z": None})

    assert [one.root for one in found.parts or ()] == ["skill://tools/orders/refunds"]
    assert [one.source for one in found.refusals] == ["a/SKILL.md", "z"]


def test_where_there_is_no_time_the_skills_of_before_stay() -> None:
    found = checked_skills([ToolFile("orders", "refunds/SKILL.md", "x", main())], {"orders"}, lambda: False)

    assert found.parts is None
    assert "no time left" in found.refusals[0].reason


# Q10
def test_a_tool_has_a_few_skills_and_an_endpoint_some_megabytes() -> None:
    named = {f"s{number}/SKILL.md": main(GOOD.replace("refunds", f"s{number}")) for number in range(MOST_SKILLS + 1)}
    large = [
        ToolFile(f"tool_{number:03}", f"refunds/{path}", f"{number}", text)
        for number in range(50)
        for path, text in (("SKILL.md", main()), ("x", "x" * (LARGEST_SKILL - 1_000)))
    ]

    few, much = checked(named), checked_skills(large, {one.tool for one in large})

    assert (len(few.parts or ()), few.refusals[0].reason) == (MOST_SKILLS, "a tool has at most 5 skills")
    assert sum(len(text) for one in much.parts or () for text in one.files.values()) <= LARGEST_SKILLS
    assert len(much.parts or ()) + len(much.refusals) == 50
    assert "no room left" in much.refusals[0].reason


def test_the_many_skills_of_one_owner_leave_room_for_those_of_another() -> None:
    many = {f"a_{number:03}": "Ada" for number in range(50)}
    owners = {**many, "z": "Zoe"}
    files = [
        ToolFile(tool, f"refunds/{path}", tool, text)
        for tool in owners
        for path, text in (("SKILL.md", main()), ("x", "x" * (LARGEST_SKILL - 1_000)))
    ]

    found = checked_skills(files, owners, owners=lambda: owners)

    served = [one.tool for one in found.parts or ()]
    assert served == [*sorted(many)[: len(served) - 1], "z"]
    assert {one.tool for one in found.refusals} == many.keys() - set(served)


# ------------------------------------------------------------------------------------------------- the release's own


def skill_of(folder: Path, files: Mapping[str, str | bytes]) -> tuple[Skill, ...]:
    put(folder, SMALLEST)
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return skills_in(compile_directory(folder)) if files else ()


# Q7
def test_the_folders_beside_a_manifest_are_its_skills(tmp_path: Path) -> None:
    files = {
        "greet/refunds/SKILL.md": f"\ufeff{main()}",
        "greet/refunds/a/b.md": "b\r\n",
        "greet/refunds/.DS_Store": b"\xff",
        "x/y.md": "",
    }

    (skill,) = skill_of(tmp_path, files)

    assert skill == Skill(
        "greet",
        "skill://tools/greet/refunds",
        {"name": "refunds", "description": "Refund a customer."},
        {"SKILL.md": main(), "a/b.md": "b\r\n"},
    )


@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        (
            "greet/refunds/SKILL.md",
            main("name: x\ndescription: y"),
            "greet/refunds/SKILL.md: name: must be the name of its folder",
        ),
        (
            "greet/refunds/SKILL.md",
            b"\xef\xbb\xbf---\r\nname: \xff\r\n---\r\n",
            "greet/refunds/SKILL.md: line 2: byte 0xff is not UTF-8",
        ),
        ("greet/refunds/SKILL.md", b"---\nname: \xff\n---\n", "greet/refunds/SKILL.md: line 2: byte 0xff is not UTF-8"),
        ("greet/refunds/x.png", b"\x89PNG", "greet/refunds/x.png: line 1: byte 0x89 is not UTF-8"),
        ("great/refunds/SKILL.md", main(), "great/refunds/SKILL.md: no tool 'great' is served"),
    ],
)
def test_a_bad_skill_of_the_release_fails_its_build(tmp_path: Path, path: str, text: str | bytes, words: str) -> None:
    skill_of(tmp_path, {})
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())

    (fault,) = faults(tmp_path)

    assert words in fault
