"""The template of the checkout that this command runs from, to say what its parameters are before a release is built.

The rule: what it returns has no code, so nothing can be deployed from it.
"""

from pathlib import Path
from typing import Final

from stepwire_cli.deployment.parts import CORE, FOLDER, extras_of, read_core, read_part, written
from stepwire_cli.deployment.release import Cost, Extra, Release
from stepwire_cli.exits import CommandError
from stepwire_cli.settings import version

_ROOT: Final = (Path(__file__).parent / "../../../..").resolve()
_NO_COST: Final = Cost(0.0)


def release_of_checkout(folder: Path = _ROOT) -> Release | None:
    """Return the templates of a checkout as a release without code and costs; None: the folder is no checkout.

    Raises:
        CommandError: a file of it cannot be read, or is no template.
    """
    extras = extras_of(folder)
    if not extras or not (folder / CORE).is_file():
        return None
    paths = sorted((folder / FOLDER).glob("*/*.yaml"))
    try:
        core = written(read_core(folder))
        parts = {path.relative_to(folder / FOLDER).as_posix(): read_part(path) for path in paths}
    except (OSError, ValueError) as error:
        raise CommandError(f"The templates of the checkout {folder} cannot be read: {error}") from None
    return Release(
        version=version(),
        core=core,
        files={},
        idle=_NO_COST,
        oldest=version(),
        parts={path: written(part) for path, part in parts.items()},
        extras={name: Extra(str(parts[f"{name}/template.yaml"]["Description"]), _NO_COST) for name in extras},
    )
