"""For the tests of what an operator sees: the alarms of the probe and the archive, and what else is included."""

from typing import Final

ALARMS: Final = {"ProbeAlarm": "HasProbe", "AuditArchiveAlarm": "HasAuditArchive"}
"""The condition of each, whatever Alarms says."""
RING_WITHOUT_DATA: Final = {"ProbeAlarm"}
# https://docs.aws.amazon.com/firehose/latest/dev/cloudwatch-metrics.html
METRICS: Final = {("AWS/Firehose", "DeliveryToS3.DataFreshness"): {"DeliveryStreamName"}}
DIMENSIONS: Final = {"DeliveryStreamName": "AWS::KinesisFirehose::DeliveryStream"}
