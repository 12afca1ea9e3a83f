"""Check that `sam deploy` will find a Region and credentials, before a build that takes a minute is made for nothing.

`python layers/account.py CONFIG [the arguments of sam deploy]`. It reads what the SAM CLI reads: the arguments, the
settings CONFIG of samconfig.toml, the environment and the AWS configuration. It calls nothing in AWS but the
credential sources. Exit code 0, or 1 with what is missing and how to give it.
"""

import argparse
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from boto3 import Session
from botocore.exceptions import BotoCoreError, ProfileNotFound

NO_REGION = (
    "No AWS Region is set. Set one: export AWS_DEFAULT_REGION=eu-central-1, or add ARGS='--region eu-central-1'."
)
NO_CREDENTIALS = (
    "No AWS credentials were found. Sign in with `aws sso login` or `aws configure`, set AWS_PROFILE, "
    "or add ARGS='--profile NAME'."
)


def main(arguments: Sequence[str]) -> int:
    """Print what is missing."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("config")
    parser.add_argument("--region")
    parser.add_argument("--profile")
    given, _ = parser.parse_known_args(arguments)
    settings = deploy_settings(Path("samconfig.toml"), given.config)
    profile = given.profile or settings.get("profile")
    missing = faults(profile, given.region or settings.get("region"))
    sys.stderr.writelines(f"{fault}\n" for fault in missing)
    return 1 if missing else 0


def deploy_settings(file: Path, config: str) -> dict[str, str]:
    """Return the settings of `sam deploy` in a samconfig.toml; empty where there are none."""
    if not file.exists():
        return {}
    settings = tomllib.loads(file.read_text(encoding="utf-8")).get(config, {})
    return {name: str(value) for part in ("global", "deploy") for name, value in _parameters(settings, part).items()}


def _parameters(settings: dict[str, dict[str, dict[str, object]]], part: str) -> dict[str, object]:
    return settings.get(part, {}).get("parameters", {})


def faults(profile: str | None, region: str | None) -> list[str]:
    """Return what a deployment with this profile and Region would lack."""
    try:
        session = Session(profile_name=profile, region_name=region)
        has_credentials = session.get_credentials() is not None
    except ProfileNotFound as error:
        return [f"{error}: `aws configure list-profiles` lists them."]
    except BotoCoreError as error:
        return [f"The AWS credentials cannot be read: {error}"]
    return [
        *(() if session.region_name else (NO_REGION,)),
        *(() if has_credentials else (NO_CREDENTIALS,)),
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
