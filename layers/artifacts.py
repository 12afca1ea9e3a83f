"""What `sam build` has made: how large each artifact is, and the hash of what is in it. Called by `make build`.

    python layers/artifacts.py .aws-sam/build

The rule: what grows beyond its budget stops the build, for nobody reads a table that is always printed. A layer says
its budget in its template (`Metadata`, `BudgetInMB`: megabytes, zipped). The hash is the one that SAM uploads by: of
the names and contents of the files, and of nothing else (no times, no modes, no order).
"""

import argparse
import hashlib
import io
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from samtranslator.yaml_helper import yaml_parse  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType] - it has none

MB: Final = 1_000_000  # bytes
# Where a resource of the built template says what was built for it.
CONTENTS: Final = {"AWS::Serverless::Function": "CodeUri", "AWS::Serverless::LayerVersion": "ContentUri"}
# Zipped, as it is uploaded and fetched at a cold start. Functions hold code of ours alone, so they share one.
FUNCTION_BUDGET: Final = 1 * MB
# Lambda's own limit for a function with its layers, unpacked.
UNPACKED_LIMIT: Final = 250 * 1024 * 1024


@dataclass(frozen=True)
class Artifact:
    """What was built for a function or a layer; sizes in bytes. `layers` names those of a function."""

    name: str
    budget: int
    unpacked: int
    zipped: int
    digest: str
    layers: tuple[str, ...] = ()


def artifacts(build: Path) -> list[Artifact]:
    """Measure what the built template names, in its order."""
    resources: Mapping[str, Any] = yaml_parse((build / "template.yaml").read_text(encoding="utf-8"))["Resources"]
    return [
        _measured(build, name, body)
        for name, body in resources.items()
        if body.get("Type") in CONTENTS  # Fn::Transform has no type
    ]


def content_hash(folder: Path) -> str:
    """Hash the names and contents of the files, as SAM does."""
    whole = hashlib.md5(usedforsecurity=False)
    for file in _files(folder):
        whole.update(str(file.relative_to(folder)).encode())
        whole.update(hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest().encode())
    return whole.hexdigest()


def over_budget(found: Sequence[Artifact]) -> list[str]:
    """List what is over its budget. A layer without a budget is listed too, so that a new one gets one."""
    unpacked = {artifact.name: artifact.unpacked for artifact in found}
    return [fault for artifact in found for fault in _faults(artifact, unpacked)]


def table(found: Sequence[Artifact]) -> str:
    """Set the artifacts out in columns, the largest first."""
    rows = [
        f"{artifact.name:<28}{artifact.zipped / 1000:>10,.1f}{artifact.unpacked / 1000:>13,.1f}  {artifact.digest}"
        for artifact in sorted(found, key=lambda artifact: -artifact.zipped)
    ]
    return "\n".join([f"{'artifact':<28}{'zipped kB':>10}{'unpacked kB':>13}  content hash", *rows])


def _measured(build: Path, name: str, resource: Mapping[str, Any]) -> Artifact:
    kind, properties = resource["Type"], cast(Mapping[str, Any], resource["Properties"])
    folder = build / properties[CONTENTS[kind]]
    of_layer = resource.get("Metadata", {}).get("BudgetInMB", 0) * MB
    layers = cast(list[Mapping[str, Any]], properties.get("Layers") or [])
    return Artifact(
        name,
        of_layer if kind.endswith("LayerVersion") else FUNCTION_BUDGET,
        unpacked=sum(file.stat().st_size for file in _files(folder)),
        zipped=_zipped_size(folder),
        digest=content_hash(folder),
        layers=tuple(name for layer in layers for name in _layers_in(layer)),
    )


def _layers_in(layer: Mapping[str, Any]) -> list[str]:
    """Return the layer that an entry names, with one that a condition may add."""
    ways = [layer, *layer.get("Fn::If", [""])[1:]]
    return [way["Ref"] for way in ways if way.get("Ref", "AWS::NoValue") != "AWS::NoValue"]


def _zipped_size(folder: Path) -> int:
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in _files(folder):
            archive.write(file, file.relative_to(folder))
    return len(zipped.getbuffer())


def _files(folder: Path) -> list[Path]:
    return sorted((path for path in folder.rglob("*") if path.is_file()), key=str)


def _faults(artifact: Artifact, unpacked: Mapping[str, int]) -> Iterator[str]:
    if artifact.zipped > artifact.budget:
        yield f"{artifact.name} has {artifact.zipped:,} bytes zipped; its budget is {artifact.budget:,}"
    # A layer of another stack is not among them: it cannot be measured here.
    whole = artifact.unpacked + sum(unpacked.get(layer, 0) for layer in artifact.layers)
    if whole > UNPACKED_LIMIT:
        yield f"{artifact.name} has {whole:,} bytes unpacked, layers included; Lambda takes {UNPACKED_LIMIT:,}"


def main() -> None:
    """Print the table; exit 1 where something is over its budget."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("build", type=Path, help="the folder that `sam build` wrote to")
    options = parser.parse_args()
    found = artifacts(options.build)
    sys.stdout.write(table(found) + "\n")
    if faults := over_budget(found):
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
