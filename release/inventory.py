"""What is in the layers: the inventory (SBOM) of a release in CycloneDX, and the licenses.

The rule: it says what was built, read from the layers themselves, and not what somebody wished for. It has no time and
no random number, so that two builds give the same text.
"""

import json
import uuid
from collections.abc import Iterable
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any, Final

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import bom as boms
from cyclonedx.model import component as components
from cyclonedx.model.component import ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

# Their decorators hide their types from a checker.
Bom: Final[Any] = boms.Bom
Component: Final[Any] = components.Component
_NAMESPACE: Final = uuid.UUID("5a1f3b6e-6c1e-4c63-9d0b-0a4c5f6b7d18")
"""Of the serial numbers: each version of an inventory has one that depends on its text."""
_LICENSE_FIELDS: Final = ("License-Expression", "License")
_LICENSE_NAMES: Final = ("licen", "copying", "notice", "authors")  # how the names of such files begin


def inventory(layers: Iterable[Path], version: str) -> str:
    """Return the inventory of the packages in the layers, as CycloneDX 1.6 JSON.

    Args:
        layers: the folders that were built for them.
        version: of the release.
    """
    bom = Bom()
    bom.metadata.component = Component(
        name="stepwire",
        version=version,
        type=ComponentType.APPLICATION,
        purl=PackageURL("pypi", None, "stepwire-kit", version),
        licenses=[LicenseFactory().make_from_string("Apache-2.0")],
        bom_ref=f"stepwire@{version}",
    )
    for folder in _records(layers):
        bom.components.add(_component(Distribution.at(folder)))
    bom.register_dependency(bom.metadata.component, bom.components)
    made = json.loads(JsonV1Dot6(bom).output_as_string())
    made["metadata"].pop("timestamp", None)
    made.pop("serialNumber", None)
    text = json.dumps(made, sort_keys=True)
    made["serialNumber"] = f"urn:uuid:{uuid.uuid5(_NAMESPACE, text)}"
    return json.dumps(made, indent=1, sort_keys=True) + "\n"


def licenses(layers: Iterable[Path]) -> dict[str, bytes]:
    """Return the licenses of the packages in the layers, by package and file."""
    return {
        f"{Distribution.at(folder).name}/{file.name}": file.read_bytes()
        for folder in _records(layers)
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name.lower().startswith(_LICENSE_NAMES)
    }


def _records(layers: Iterable[Path]) -> list[Path]:
    """Return the folders in which the packages of the layers say what they are."""
    return sorted((folder for layer in layers for folder in layer.glob("python/*.dist-info")), key=lambda one: one.name)


def _component(package: Distribution) -> Any:
    name = package.name.lower().replace("_", "-")
    said = next((package.metadata[one] for one in _LICENSE_FIELDS if one in package.metadata), None)
    return Component(
        name=name,
        version=package.version,
        type=ComponentType.LIBRARY,
        purl=PackageURL("pypi", None, name, package.version),
        licenses=[LicenseFactory().make_from_string(said)] if said else (),
        bom_ref=f"{name}@{package.version}",
    )
