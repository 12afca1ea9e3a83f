"""The parts of moto that take long to import are imported by those who use them.

In a process of its own, because the tests that ran before may have used them.
"""

import subprocess
import sys

PROBE = """
import sys
import threading

import boto3

from stepwire_local import LocalStack
from stepwire_local.account.engine import simulated_aws


class Meanwhile:
    # While EC2 is imported, another thread uses it: it waits, or fails at once.
    found = []

    def use(self):
        try:
            self.found.append(type(sys.modules["moto.ec2"].ec2_backends).__name__)
        except AttributeError as error:
            self.found.append(str(error))

    def find_spec(self, name, path, target=None):
        if name == "moto.ec2.models" and not hasattr(self, "other"):
            self.other = threading.Thread(target=self.use)
            self.other.start()
            self.other.join(1)


meanwhile = Meanwhile()
sys.meta_path.insert(0, meanwhile)


def slow():
    return sorted({"moto.batch.models", "moto.ec2.models"} & sys.modules.keys())


with simulated_aws():
    ssm, batch, ec2 = (boto3.client(name, "us-east-1") for name in ("ssm", "batch", "ec2"))
    ssm.put_parameter(Name="/a", Value="1", Type="String")
    print(slow())
    targets = [{"Key": "tag:team", "Values": ["data"]}]
    print(ssm.send_command(DocumentName="AWS-RunShellScript", Targets=targets)["Command"]["InstanceIds"])
    print(batch.describe_job_queues()["jobQueues"])
    print(len(ec2.describe_vpcs()["Vpcs"]))
    print(slow())
    meanwhile.other.join()
    print(meanwhile.found)
"""


def test_ec2_and_batch_are_imported_when_they_are_used() -> None:
    ended = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)

    slow = "['moto.batch.models', 'moto.ec2.models']"
    assert ended.stdout.splitlines() == ["[]", "[]", "[]", "1", slow, "['BackendDict']"]
