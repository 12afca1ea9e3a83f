"""What `stepwire wrap` finds in the code of the functions of a template, which it never runs."""

import json
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from packages.wrap.tests.shown import Shown
from stepwire.json_text import JsonObject
from stepwire.manifests.reading import read_manifest
from stepwire_wrap.drafting import Place
from stepwire_wrap.wrapping import wrap

RUNTIMES = {".py": "python3.13", ".js": "nodejs22.x", ".mjs": "nodejs22.x", ".ts": "nodejs22.x"}
ANY: JsonObject = {}
TEXT: JsonObject = {"type": "string"}
NUMERIC: JsonObject = {"type": ["string", "number"]}
LIST: JsonObject = {"type": "array"}


def manifest_of(folder: Path, code: str, suffix: str = ".py", *, definition: JsonObject | None = None) -> str:
    """Return the manifest of a state machine whose only task passes its input to a function."""
    (folder / "code").mkdir(exist_ok=True)
    (folder / "code" / f"app{suffix}").write_text(dedent(code))
    function = {"CodeUri": "code", "Handler": "app.handler", "Runtime": RUNTIMES[suffix]}
    only = {"Type": "Task", "Resource": {"Fn::GetAtt": ["Work", "Arn"]}, "End": True}
    machine = {"Definition": definition or {"StartAt": "Work", "States": {"Work": only}}}
    resources = {
        "Work": {"Type": "AWS::Serverless::Function", "Properties": function},
        "Orders": {"Type": "AWS::Serverless::StateMachine", "Properties": machine},
    }
    (folder / "template.json").write_text(json.dumps({"Resources": resources}))
    screen = Shown()
    assert wrap([folder / "template.json"], Place(folder / "tools", "live"), screen) == 0
    return (folder / "tools" / "orders.yaml").read_text()


def schema_of(folder: Path, code: str, suffix: str = ".py") -> JsonObject:
    """Return the schema of the same."""
    return read_manifest(manifest_of(folder, code, suffix)).input_schema


def an_object(*required: str, **properties: Any) -> JsonObject:
    """Return the schema of an object."""
    made: JsonObject = {"type": "object", "properties": properties}
    return made | ({"required": list(required)} if required else {})


ITEMS = {"type": "array", "items": an_object(sku=ANY)}
MODELS = """
    from pydantic import BaseModel, Field
    class Line(BaseModel):
        sku: str
    class Order(BaseModel):
        number: str = Field(alias="orderNumber", description="The order's number.")
        lines: list[Line]
        express: bool = False
        note: str | None = None
"""
ORDER = an_object(
    "orderNumber",
    "lines",
    orderNumber={"type": "string", "description": "The order's number."},
    lines={"type": "array", "items": an_object("sku", sku=TEXT)},
    express={"type": "boolean", "description": "false if it is missing."},
    note={"type": ["string", "null"]},
)


@pytest.mark.parametrize(
    ("body", "schema"),
    [
        ('return event["a"]', an_object("a", a=ANY)),
        ('return event["a"]["b"]', an_object("a", a=an_object("b", b=ANY))),
        ('x = event.get("a", 5)', an_object(a={"description": "5 if it is missing."})),
        ('x = event.get("a")', an_object(a=ANY)),
        ('return event["name"].lower()', an_object("name", name=TEXT)),
        ('return event["n"] - 1', an_object("n", n={"type": "number"})),
        ('return help_with(event["order"])', an_object("order", order=an_object("id", id=ANY, extra=ANY))),
        ('if "a" in event: return event["a"]["b"]', an_object(a={"properties": {"b": ANY}})),
        ('return "x" in event["name"]', an_object("name", name=ANY)),
        ('try:\n        return event["a"]\n    except KeyError:\n        return 1', an_object(a=ANY)),
        ('try:\n        return event["a"]\n    except KeyError:\n        raise', an_object("a", a=ANY)),
        ('if event["a"]:\n        return 1\n    return event["b"]', an_object("a", a=ANY, b=ANY)),
        ('if not event["a"]:\n        raise ValueError\n    return event["b"]', an_object("a", "b", a=ANY, b=ANY)),
        ('return [one["sku"] for one in event["lines"]]', an_object("lines", lines=ITEMS)),
        ('for one in event["lines"]:\n        one["sku"]', an_object("lines", lines=ITEMS)),
        ('return event["lines"][0]["sku"]', an_object("lines", lines=ITEMS)),
        ('return event["name"][0]', an_object("name", name=ANY)),
        ('return json.loads(event["body"])["q"]',
         an_object("body", body={"type": "string", "description": "JSON text of an object with q."})),
        ('b = event["b"]\n    if isinstance(b, str):\n        b = json.loads(b)\n    return b["q"]',
         an_object("b", b={"description": "JSON text of an object with q."})),
        ('return event["kind"] in ("buy", "sell")',
         an_object("kind", kind={"description": 'The code knows "buy", "sell".'})),
        ('event["made"] = 1\n    return event["made"] + event["a"]', an_object("a", a=ANY)),
        ("return event[KEY]", an_object("constant", constant=ANY)),
        ('return {**event["a"], "b": event["c"]}', an_object("c", "a", a=ANY, c=ANY)),
        ('detail = event["detail"]\n    return detail["id"]',
         an_object("detail", detail=an_object("id", id=ANY))),
        ("order = Order(**event)\n    return order.number", ORDER),
        ("order = Order.model_validate(event)\n    return order.number", ORDER),
        ("order = parse(event=event, model=Order)\n    return order.number", ORDER),
        ("return Store().put(event)", an_object("key", key=ANY)),
    ],
)  # fmt: skip
def test_python_says_which_members_a_function_reads(tmp_path: Path, body: str, schema: JsonObject) -> None:
    code = f"""
    import json
    {MODELS.strip()}
    KEY = "constant"
    class Store:
        def put(self, item):
            return item["key"]
    def help_with(order):
        order.get("extra")
        return order["id"]
    def handler(event, context):
        print(json.dumps(event))
        XX
    """
    text = dedent(code).replace("XX", body)

    found = schema_of(tmp_path, text)

    assert found == schema


@pytest.mark.parametrize(
    ("body", "schema"),
    [
        ('if "a" not in event: raise ValueError', an_object("a", a=ANY)),
        ('if "a" not in event or "b" not in event:\n        raise ValueError', an_object("a", "b", a=ANY, b=ANY)),
        ('if "a" not in event and "b" not in event:\n        raise ValueError', an_object(a=ANY, b=ANY)),
        ('if "a" in event and "b" not in event:\n        raise ValueError', an_object(a=ANY, b=ANY)),
        ('if event.get("a"):\n        if "b" not in event: raise ValueError', an_object(a=ANY, b=ANY)),
        ('if "a" not in event:\n        return 1\n    raise ValueError', an_object(a=ANY)),
        ('if "a" not in event:\n        event["a"] = 1\n    if not event["a"]: raise ValueError', an_object(a=ANY)),
        ('try:\n        if "a" not in event: raise ValueError\n    except ValueError:\n        return 1',
         an_object(a=ANY)),
        ('if "@" not in event["mail"]: raise ValueError', an_object("mail", mail=ANY)),
        ('a = event.get("a")\n    if not a: raise ValueError', an_object("a", a=ANY)),
        ('a = event.get("a")\n    if a is None:\n        raise ValueError', an_object("a", a=ANY)),
        ('a = event.get("a")\n    if a is not None:\n        return a\n    else:\n        raise ValueError',
         an_object("a", a=ANY)),
        ('a = event.get("a", 1)\n    if not a: raise ValueError',
         an_object(a={"description": "1 if it is missing."})),
        ('a = event.get("a") or 1\n    if not a: raise ValueError',
         an_object(a={"description": "1 if it is missing."})),
        ('assert event.get("a")', an_object("a", a=ANY)),
        ('a = event.get("a")\n    if not isinstance(a, str): raise ValueError', an_object("a", a=TEXT)),
        ('if not isinstance(event.get("a"), (str, list)): raise ValueError',
         an_object("a", a={"type": ["string", "array"]})),
        ('if not isinstance(event.get("a"), (int, Order)): raise ValueError', an_object(a=ANY)),
        ('a = event.get("a")\n    if a is not None and not isinstance(a, list): raise ValueError',
         an_object(a={"type": ["array", "null"]})),
        ('if event.get("b") and not isinstance(event.get("a"), list): raise ValueError', an_object(b=ANY, a=ANY)),
        ('if event.get("a") not in ("buy", "sell"): raise ValueError',
         an_object("a", a={"type": "string", "description": 'The code knows "buy", "sell".'})),
        ('return int(event["a"])', an_object("a", a=NUMERIC)),
        ('return float(event.get("a", 5))', an_object(a=NUMERIC | {"description": "5 if it is missing."})),
        ('return int(event["a"]) if event["b"] else 1', an_object("b", b=ANY, a=ANY)),
        ('match event["a"]:\n        case 1: raise ValueError\n        case _: return 2', an_object("a", a=ANY)),
    ],
)  # fmt: skip
def test_a_check_of_python_that_raises_says_what_a_call_needs(tmp_path: Path, body: str, schema: JsonObject) -> None:
    assert schema_of(tmp_path, f"class Order: pass\ndef handler(event, context):\n    {body}\n") == schema


@pytest.mark.parametrize("suffix", [".js", ".ts"])
@pytest.mark.parametrize(
    ("body", "schema"),
    [
        ("if (!event.a) throw new Error()", an_object("a", a=ANY)),
        ("if (event.a === undefined) { throw new Error() }", an_object("a", a=ANY)),
        ("if (event.a == null) { throw new Error() }", an_object("a", a=ANY)),
        ("if (event.a === null) { throw new Error() }", an_object(a=ANY)),
        ("if (typeof event.a === 'undefined') { throw new Error() }", an_object("a", a=ANY)),
        ("if (!(event.a && event.b)) { throw new Error() }", an_object("a", "b", a=ANY, b=ANY)),
        ("if (!event.a && !event.b) { throw new Error() }", an_object(a=ANY, b=ANY)),
        ("if (event.b && !event.a) { throw new Error() }", an_object(b=ANY, a=ANY)),
        ("if (event.b) { if (!event.a) { throw new Error() } }", an_object(b=ANY, a=ANY)),
        ("if (event.b) { return } if (!event.a) { throw new Error() }", an_object(b=ANY, a=ANY)),
        ("if (!event.a) { event.a = {} } if (!event.a) { throw new Error() }", an_object(a=ANY)),
        ("if (!event.a) { event.a = {} } return event.a.b", an_object(a=an_object(b=ANY))),
        ("try { if (!event.a) { throw new Error() } } catch (e) { return }", an_object(a=ANY)),
        ("const {a = 1} = event; if (!a) { throw new Error() }", an_object(a={"description": "1 if it is missing."})),
        ("const {a} = event; check(a)", an_object("a", a=ANY)),
        ("const {a} = taken(event); check(a)", an_object("a", a=NUMERIC)),
        ("if (typeof event.a !== 'string') { throw new Error() }", an_object("a", a=TEXT)),
        ("if (event.a !== undefined && typeof event.a !== 'string') { throw new Error() }",
         an_object(a={"type": ["string", "null"]})),
        ("if (!Array.isArray(event.a)) { throw new Error() }", an_object("a", a=LIST)),
        ("if (event.b && !Array.isArray(event.a)) { throw new Error() }", an_object(b=ANY, a=ANY)),
        ("if (isNaN(event.a)) { throw new Error() }", an_object("a", a=ANY)),
        ("if (!(event.a >= 0)) { throw new Error() }", an_object("a", a=NUMERIC)),
        ("if (event.a < 0) { throw new Error() }", an_object(a=NUMERIC)),
        ("if (event.a !== 'all') { throw new Error() }",
         an_object("a", a={"type": "string", "description": 'The code knows "all".'})),
        ("return parseInt(event.a, 10)", an_object(a=NUMERIC)),
        ("const {a = 5} = event; return Number(a)", an_object(a=NUMERIC | {"description": "5 if it is missing."})),
        ("return event.b ? Number(event.a) : 1", an_object(b=ANY, a=ANY)),
        ("switch (event.a) { case 'x': throw new Error(); case 'y': return 1 }",
         an_object(a={"description": 'The code knows "x", "y".'})),
    ],
)  # fmt: skip
def test_a_check_of_a_script_that_throws_says_what_a_call_needs(
    tmp_path: Path, suffix: str, body: str, schema: JsonObject
) -> None:
    start = "exports.handler = async" if suffix == ".js" else "export const handler = async"
    helpers = (
        "const taken = (e) => { return {a: parseInt(e.a, 10)} }\nfunction check(a) { if (!a) { throw new Error() } }"
    )

    assert schema_of(tmp_path, f"{helpers}\n{start} (event) => {{ {body} }}", suffix) == schema


def test_a_list_for_which_code_takes_a_text_may_be_that_text(tmp_path: Path) -> None:
    work = {"Type": "Task", "Resource": "${Work.Arn}", "ResultPath": None, "Next": "Each"}
    each = {"Type": "Map", "ItemsPath": "$.powers", "End": True, "ItemProcessor": {
        "StartAt": "One", "States": {"One": {"Type": "Pass", "End": True}},
    }}  # fmt: skip
    definition: JsonObject = {"StartAt": "Work", "States": {"Work": work, "Each": each}}
    code = "exports.handler = async (event) => event.powers === 'ALL'"

    text = manifest_of(tmp_path, code, ".js", definition=definition)

    powers: JsonObject = {"type": ["string", "array"], "description": 'The code knows "ALL".'}
    assert read_manifest(text).input_schema == an_object("powers", powers=powers)


@pytest.mark.parametrize("suffix", [".js", ".ts"])
@pytest.mark.parametrize(
    ("body", "schema"),
    [
        ("return event.a", an_object(a=ANY)),
        ("return event.a.b", an_object("a", a=an_object(b=ANY))),
        ("return event?.a?.b", an_object(a=an_object(b=ANY))),
        ("const {a, b: c, ...rest} = event; return a", an_object(a=ANY, b=ANY)),
        ("const {a = 'x', b: {d}} = event", an_object("b", a={"description": '"x" if it is missing.'},
                                                         b=an_object(d=ANY))),
        ("return event.n ?? 3", an_object(n={"description": "3 if it is missing."})),
        ("return event.name.toLowerCase()", an_object("name", name=TEXT)),
        ("return event['full name']", an_object(**{"full name": ANY})),
        ("if (event.x) { return event.x.y } return event.z.q",
         an_object(x={"properties": {"y": ANY}}, z={"properties": {"q": ANY}})),
        ("if (Array.isArray(event.x)) { return event.x.map(one => one.y) } return event.x.z", an_object(x=ANY)),
        ("if (event.x === 'all') { return 1 } return event.x.map(one => one.y)",
         an_object(x={"description": 'The code knows "all".'})),
        ("if (!event.x) { throw new Error() } return event.z.q",
         an_object("x", "z", x=ANY, z=an_object(q=ANY))),
        ("return event.lines.map(one => one.sku)", an_object("lines", lines=ITEMS)),
        ("for (const one of event.lines) { console.log(one.sku) }", an_object(lines=ITEMS)),
        ("return JSON.parse(event.body).q",
         an_object(body={"type": "string", "description": "JSON text of an object with q."})),
        ("const b = typeof event.b === 'string' ? JSON.parse(event.b) : event.b; return b.q",
         an_object(b={"description": "JSON text of an object with q."})),
        ("return event.tags.length", an_object("tags", tags=ANY)),
        ("switch (event.kind) { case 'buy': return 1; case 'sell': return 2 }",
         an_object(kind={"description": 'The code knows "buy", "sell".'})),
        ("return help(event.order)", an_object("order", order=an_object(id=ANY))),
        ("event.made = 1; return event.made + event.a", an_object(a=ANY)),
    ],
)  # fmt: skip
def test_scripts_say_which_members_a_function_reads(tmp_path: Path, suffix: str, body: str, schema: JsonObject) -> None:
    start = "exports.handler = async" if suffix == ".js" else "export const handler = async"
    text = f"function help(order) {{ return order.id }}\n{start} (event) => {{ console.log(event); {body} }}"

    assert schema_of(tmp_path, text, suffix) == schema


def test_the_types_of_typescript_are_those_of_the_members(tmp_path: Path) -> None:
    code = """
    import { Handler } from "aws-lambda";
    interface Line { sku: string; /** How many. */ count?: number }
    type Kind = "buy" | "sell";
    interface Order { id: string; lines: Line[]; kind: Kind; note?: string | null }
    export const handler: Handler<Order, void> = async (event) => { console.log(event.id) };
    """

    lines = {"type": "array", "items": an_object(sku=TEXT, count={"type": "number", "description": "How many."})}
    assert schema_of(tmp_path, code, ".ts") == an_object(
        id=TEXT,
        lines=lines,
        kind={"type": "string", "description": 'The code knows "buy", "sell".'},
        note={"type": ["string", "null"]},
    )


@pytest.mark.parametrize(
    ("suffix", "code", "other"),
    [
        (".py", "from orders import check\ndef handler(event, context): return check(event)",
         "def check(order): return order['id']"),
        (".py", "import orders\ndef handler(event, context): return orders.check(event)",
         "def check(order): return order['id']"),
        (".js", "const {check} = require('./orders'); exports.handler = async (event) => check(event)",
         "exports.check = (order) => order.id"),
        (".mjs", "import {check} from './orders.mjs'; export const handler = async (event) => check(event)",
         "export function check(order) { return order.id }"),
        (".ts", "import {check} from './orders'; export const handler = async (event: any) => check(event)",
         "export const check = ({id}: {id: string}) => id"),
    ],
)  # fmt: skip
def test_what_a_function_imports_is_followed(tmp_path: Path, suffix: str, code: str, other: str) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / f"orders{suffix}").write_text(other)

    text = manifest_of(tmp_path, code, suffix)

    assert "id:" in text
    assert f"# read by Work (code/orders{suffix}:1)" in text


@pytest.mark.parametrize(
    "decorator", ["@logger.inject_lambda_context", "@tracer.capture_lambda_handler()", "@retry_and_swallow"]
)
def test_a_decorator_that_may_catch_errors_leaves_nothing_required(tmp_path: Path, decorator: str) -> None:
    code = f"{decorator}\ndef handler(event, context):\n    return event['a']\n"

    assert ("required" in schema_of(tmp_path, code)) is ("swallow" not in decorator)


@pytest.mark.parametrize(
    ("code", "is_whole"),
    [
        ("def handler(event, context): return event['a']", True),
        ("def handler(event, context): return {**event, 'x': 1}", True),
        ("import lib\ndef handler(event, context): return lib.put(event)", False),
        ("def handler(event, context): return event[context.key]", False),
    ],
)
def test_an_event_that_goes_on_is_still_said_to_be_read_elsewhere(tmp_path: Path, code: str, is_whole: bool) -> None:
    assert ("gets the whole input and may read more" in manifest_of(tmp_path, code)) is not is_whole


@pytest.mark.parametrize("code", ["def handler(event:", "x = 1", "", "def handler(): return 1", "(" * 5000])
def test_code_that_says_nothing_spoils_nothing(tmp_path: Path, code: str) -> None:
    assert "properties" not in schema_of(tmp_path, code)


def test_code_is_not_run(tmp_path: Path) -> None:
    ran = tmp_path / "ran"

    schema_of(tmp_path, f"open({str(ran)!r}, 'w')\ndef handler(event, context): return event['a']")

    assert not ran.exists()
    assert "app" not in sys.modules
