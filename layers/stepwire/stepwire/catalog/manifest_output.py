"""The field `output` of a manifest: how the workflow's output becomes the tool's result. All of it is checked here."""

import difflib
from collections.abc import Iterator
from typing import Any, Final, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator

from stepwire.json_text import Json, JsonObject, as_object, write
from stepwire.tasks.expressions import InvalidExpression, expression_of
from stepwire.tasks.shaping import template_of
from stepwire.tasks.tool_results import RESERVED_WORDS, block_fields, is_reserved

MOST_BLOCKS_WRITTEN: Final = 20


class OutputFields(BaseModel):
    """What a client gets of the workflow's output."""

    model_config = ConfigDict(extra="forbid")

    object: str | None = Field(default=None, min_length=1, max_length=2_000)
    structured: str | Literal[False] | None = None
    text: str | None = Field(default=None, min_length=1, max_length=10_000)
    content: list[JsonObject] | None = Field(default=None, max_length=MOST_BLOCKS_WRITTEN)
    meta: JsonObject = Field(default_factory=dict[str, Any])

    @model_validator(mode="after")
    def check_all(self) -> Self:
        """Check that expressions, templates, blocks and the names of `_meta` are what they must be."""
        for fault in (*self._structured_faults(), *self._content_faults(), *self._meta_faults()):
            raise ValueError(fault)
        return self

    def compiled(self) -> JsonObject:
        """Return the form that is stored with each task."""
        text = [] if self.text is None else [{"type": "text", "text": self.text}]
        blocks = [*text, *(self.content or [])]
        return {
            **({} if self.object is None else {"object": self.object}),
            **({} if self.structured is None else {"structured": self.structured}),
            **({"content": blocks} if text or self.content is not None else {}),
            **({"meta": self.meta} if self.meta else {}),
        }

    def _structured_faults(self) -> Iterator[str]:
        if self.object is not None:
            yield from _faults_of("object", lambda: expression_of(cast(str, self.object)))
        if isinstance(self.structured, str):
            yield from _faults_of("structured", lambda: expression_of(cast(str, self.structured)))
        elif self.structured is False and self.text is None and not self.content:
            yield "at structured: without structured content there must be text or content"

    def _content_faults(self) -> Iterator[str]:
        if self.text is not None:
            yield from _template_faults("text", self.text)
        for number, block in enumerate(self.content or []):
            yield from _block_faults(f"content.{number}", block)

    def _meta_faults(self) -> Iterator[str]:
        for name, value in self.meta.items():
            if not name or is_reserved(name):
                yield f"at meta: {name!r} is not yours: {RESERVED_WORDS}"
            yield from _template_faults(f"meta.{name}", value)


def output_faults(output: OutputFields | None, output_schema: JsonObject | None, largest: int) -> Iterator[str]:
    """Yield why a shape does not fit the schema that the tool promises; both are stored with each task."""
    if output is None:
        return
    if output.structured is False and output_schema is not None:
        yield "at output.structured: output_schema promises structured content, so it must not be false"
    if len(write([output.compiled(), output_schema]).encode()) > largest:
        yield f"at output: together with output_schema larger than {largest} bytes of JSON"


def _block_faults(where: str, block: JsonObject) -> Iterator[str]:
    kind = block.get("type")
    kinds = block_fields()
    if not isinstance(kind, str) or kind not in kinds:
        yield f"at {where}.type: must be one of {', '.join(kinds)}"
        return
    known, required = kinds[kind]
    for name in block:
        if name not in known and name != "each":
            near = difflib.get_close_matches(name, known, n=1)
            words = f"did you mean {near[0]}?" if near else f"a block of type {kind} has {', '.join((*known, 'each'))}"
            yield f"at {where}.{name}: unknown field; {words}"
    yield from (f"at {where}.{name}: is missing" for name in required if name not in block)
    if "each" in block:
        yield from _faults_of(f"{where}.each", lambda: expression_of(str(block["each"])))
    yield from _template_faults(where, {name: part for name, part in block.items() if name != "each"})


def _template_faults(where: str, template: Json) -> Iterator[str]:
    if isinstance(template, str):
        yield from _faults_of(where, lambda: template_of(template))
    elif isinstance(template, list):
        for number, part in enumerate(cast(list[Json], template)):
            yield from _template_faults(f"{where}.{number}", part)
    else:
        for name, part in as_object(template).items():
            yield from _template_faults(f"{where}.{name}", part)


def _faults_of(where: str, check: Any) -> Iterator[str]:
    try:
        check()
    except InvalidExpression as error:
        yield f"at {where}: {error}"
