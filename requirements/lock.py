"""Resolve the lock files from pyproject.toml: `make lock`.

Pins that still fit are kept; `--upgrade` takes the newest versions that pyproject.toml allows.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
UNIVERSAL = ("--universal", "--python-version", "3.11")
# What Lambda runs (python3.13 on arm64, glibc 2.34), so that the layers hold wheels of that kind and no other.
LAMBDA = ("--python-version", "3.13", "--python-platform", "aarch64-manylinux_2_28", "--only-binary", ":all:")
# The versions that the tests run with: packages that need each other exactly are in two layers, and would part.
AS_TESTED = ("--constraint", "requirements/dev.txt")
# Part of Lambda's Python, tested together there; a second copy of one would shadow the one that the others expect.
IN_THE_RUNTIME = ("boto3", "botocore", "jmespath", "python-dateutil", "s3transfer", "six", "urllib3")
# Function catalog reads manifests with these, from a layer of its own. All others use pydantic-core alone, for JSON.
FOR_MANIFESTS = ("annotated-types", "pydantic", "pyyaml", "typing-inspection")
# Function authorizer verifies tokens with these, and links of approvers are encrypted, from a layer of their own.
FOR_TOKENS = ("cffi", "cryptography", "pycparser", "pyjwt")
FOR_ALL = (
    "aws-lambda-powertools",
    "jsonschema-rs",
    "msgspec",
    "pydantic-core",
    "standardwebhooks",
    "typing-extensions",
)
LOCKS: dict[str, tuple[str, ...]] = {
    "requirements/dev.txt": ("pyproject.toml", "--group", "dev", "--group", "examples", *UNIVERSAL),
    "requirements/legacy-client.txt": ("--group", "legacy-client", *UNIVERSAL),
    "requirements/fastmcp.txt": ("--group", "fastmcp", *UNIVERSAL),
    "requirements/sam.txt": ("--group", "sam", *UNIVERSAL),
    "requirements/e2e.txt": ("--group", "e2e", *UNIVERSAL),
    "requirements/fuzz.txt": ("pyproject.toml", "--group", "fuzz", *UNIVERSAL),
    "requirements/checkov.txt": ("--group", "checkov", *UNIVERSAL),
    **{
        f"requirements/bench-{peer}.txt": ("--group", f"bench-{peer}", *UNIVERSAL)
        for peer in ("awslabs", "mcp-1", "mcp-2", "fastmcp", "stdio")
    },
    "requirements/docs.txt": ("--group", "docs", *UNIVERSAL),
    "layers/dependencies/requirements.txt": (
        "pyproject.toml",
        *LAMBDA,
        *AS_TESTED,
        *(word for name in (*IN_THE_RUNTIME, *FOR_MANIFESTS, *FOR_TOKENS) for word in ("--no-emit-package", name)),
    ),
    "layers/catalog_dependencies/requirements.txt": (
        "pyproject.toml",
        *LAMBDA,
        *AS_TESTED,
        *(word for name in (*IN_THE_RUNTIME, *FOR_ALL, *FOR_TOKENS) for word in ("--no-emit-package", name)),
    ),
    "layers/extras/approvals_or_door/requirements.txt": (
        "pyproject.toml",
        *LAMBDA,
        *AS_TESTED,
        *(word for name in (*IN_THE_RUNTIME, *FOR_ALL, *FOR_MANIFESTS) for word in ("--no-emit-package", name)),
    ),
    # After the layer's lock, whose versions it has to have.
    "requirements/bench-release.txt": (
        *("--group", "bench-release", "--constraint", "layers/dependencies/requirements.txt"),
        *("--universal", "--python-version", "3.13"),
    ),
    "examples/profile_dataset_layer/requirements.txt": ("--group", "examples", *LAMBDA, *AS_TESTED),
}


def main(options: Sequence[str] = ()) -> None:
    """Resolve every lock with these further options of uv; stop at the first that cannot be resolved."""
    for output, arguments in LOCKS.items():
        if not (ROOT / output).parent.is_dir():
            continue  # the examples may be deleted
        command = [
            *(sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--generate-hashes", "--no-annotate"),
            *("--custom-compile-command", "make lock", "--output-file", output, *arguments, *options),
        ]
        subprocess.run(command, cwd=ROOT, check=True)  # noqa: S603 - the words are the ones above


if __name__ == "__main__":
    main(sys.argv[1:])
