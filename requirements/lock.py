"""Make the lock files anew from pyproject.toml: `make lock`."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
UNIVERSAL = ("--universal", "--python-version", "3.11")
# What Lambda runs (python3.13 on arm64, glibc 2.34), so that the layers hold wheels of that kind and no other.
LAMBDA = ("--python-version", "3.13", "--python-platform", "aarch64-manylinux_2_28", "--only-binary", ":all:")
LOCKS: dict[str, tuple[str, ...]] = {
    "requirements/dev.txt": ("pyproject.toml", "--group", "dev", "--group", "examples", *UNIVERSAL),
    "requirements/legacy-client.txt": ("--group", "legacy-client", *UNIVERSAL),
    "requirements/sam.txt": ("--group", "sam", *UNIVERSAL),
    # boto3 is part of the Lambda runtime.
    "layers/dependencies/requirements.txt": (
        "pyproject.toml",
        *LAMBDA,
        *(word for name in ("boto3", "botocore", "s3transfer") for word in ("--no-emit-package", name)),
    ),
    "examples/profile_dataset_layer/requirements.txt": ("--group", "examples", *LAMBDA),
}


def main() -> None:
    """Resolve every lock; fails on the first that cannot be."""
    for output, arguments in LOCKS.items():
        command = [
            *(sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--generate-hashes", "--no-annotate"),
            *("--custom-compile-command", "make lock", "--output-file", output, *arguments),
        ]
        subprocess.run(command, cwd=ROOT, check=True)  # noqa: S603 - the words are the ones above


if __name__ == "__main__":
    main()
