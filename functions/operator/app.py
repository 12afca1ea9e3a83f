"""Do what operators command. Nothing is built before the first command."""

from stepwire.aws.operator_function import OperatorHandler

handler = OperatorHandler()
