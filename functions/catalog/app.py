"""Compile the tools that owners have registered. Nothing is built before the first event."""

from stepwire.aws.catalog_function import CatalogHandler

handler = CatalogHandler()
