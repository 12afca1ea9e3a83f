"""Copy what builds and deploys the endpoint from the repository that this template is part of."""

import shutil
import sys
from pathlib import Path

SOURCE = Path(r"{{ cookiecutter._repo_dir }}").resolve()
PARTS = (
    "LICENSE",
    "functions",
    "layers",
    "operations.yaml",
    "pyproject.toml",
    "requirements/dev.txt",
    "requirements/install.py",
    "template.yaml",
)
NOT_SOURCES = shutil.ignore_patterns("__pycache__", "catalog.json", "tests", ".*")


def repository():
    """Return the folder with template.yaml: this template's repository."""
    found = next((one for one in (SOURCE, *SOURCE.parents) if (one / "layers" / "stepwire").is_dir()), None)
    if found is None:
        sys.exit("The endpoint's template copies its repository: give the whole repository as --location.")
    return found


root = repository()
for part in PARTS:
    if (root / part).is_dir():
        shutil.copytree(root / part, part, ignore=NOT_SOURCES)
    else:
        Path(part).parent.mkdir(exist_ok=True)
        shutil.copy(root / part, part)
