"""What `stepwire doctor` says of skills, beside manifests and in templates."""

from pathlib import Path

import pytest
import yaml

from packages.wrap.tests.test_doctor import GOOD, PROJECT, project
from stepwire_cli.app import run

__all__ = ["project"]
SKILL = """
  SettleSkill:
    Type: AWS::SSM::Parameter
    Properties:
      Name: !Sub /stepwire/${Endpoint}/tools/settle/settle-invoices/SKILL.md
      Value: |
        ---
        name: NAME
        description: How to settle.
        ---
"""


def test_a_skill_in_a_template_is_no_manifest_and_is_checked(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("settle-invoices", "settle"):
        (project / "template.yaml").write_text(PROJECT + SKILL.replace("NAME", name))
        run(["doctor", str(project)])

    found = [line for line in capsys.readouterr().out.splitlines() if "SettleSkill" in line]
    assert found == [f"{project}/template.yaml: SettleSkill: name: must be the name of its folder, 'settle-invoices'"]


def test_a_skill_beside_a_manifest_is_checked_and_skills_of_others_are_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "settle_invoices.yaml").write_text(yaml.safe_dump(GOOD))
    for folder in ("settle_invoices/how", "settle_invoices/when", "skills/how"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "SKILL.md").write_text("# No fields")

    run(["doctor", str(tmp_path)])

    found = [line.partition(": ")[0] for line in capsys.readouterr().out.splitlines() if "SKILL.md" in line]
    assert found == [f"{tmp_path}/settle_invoices/{name}/SKILL.md" for name in ("how", "when")]


def test_a_file_of_a_skill_is_no_parameter_either_with_a_reference(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "template.yaml").write_text(
        PROJECT + SKILL.replace("NAME", "settle-invoices").replace("How", "How {{a}}")
    )

    run(["doctor", str(project)])

    assert "SettleSkill: Systems Manager takes {{a}} for another parameter" in capsys.readouterr().out
