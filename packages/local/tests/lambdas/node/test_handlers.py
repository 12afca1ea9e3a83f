"""Handlers in Node.js run as in Lambda: however they are exported, give their result, and fail."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from packages.local.tests.lambdas.node.conftest import written
from stepwire_local import FunctionError, LocalStack

RESULTS = """
exports.promises = async (event) => ({ seen: event });
exports.calls = (event, context, callback) => { setTimeout(() => callback(null, { seen: event }), 1); };
exports.forgets = () => { setTimeout(() => {}, 1); };
exports.ignored = () => "nobody sees this";
exports.nothing = async () => {};
exports.succeeds = (event, context) => context.succeed({ seen: event });
exports.inner = { most: { handler: async () => "nested" } };
exports.waits = (event, context, callback) => {
  const order = [];
  setTimeout(() => order.push("later"), 20);
  callback(null, order);
};
exports.hurries = (event, context, callback) => {
  context.callbackWaitsForEmptyEventLoop = false;
  const order = [];
  setTimeout(() => order.push("later"), 20);
  callback(null, order);
};
exports.streams = awslambda.streamifyResponse(async (event, stream) => {
  const told = awslambda.HttpResponseStream.from(stream, { statusCode: 201, headers: { a: "b" } });
  told.write("one ");
  told.write("two");
  told.end();
});
exports.tells = async (event, context) => ({
  ...context, left: context.getRemainingTimeInMillis(), trace: process.env._X_AMZN_TRACE_ID, id: context.awsRequestId,
});
exports.sees = async () => process.env;
"""
ERRORS = """
class NotFound extends Error { constructor(text) { super(text); this.name = "NotFound"; } }
exports.throws = () => { throw new TypeError("wrong"); };
exports.rejects = async () => { throw new NotFound("no such thing"); };
exports.calls = (event, context, callback) => callback(new NotFound("told"));
exports.says = (event, context, callback) => callback("only words");
exports.fails = (event, context) => context.fail(new RangeError("old style"));
exports.never = async () => new Promise(() => {});
exports.circle = async () => { const one = {}; one.self = one; return one; };
exports.big = async () => "x".repeat(6 * 1024 * 1024);
exports.exits = () => process.exit(3);
const forever = () => new Promise((done) => setTimeout(done, 1e5));
exports.uncaught = async () => { setTimeout(() => { throw new Error("thrown later"); }, 1); await forever(); };
exports.unhandled = async () => { Promise.reject(new Error("rejected later")); await forever(); };
"""
FILES = {
    "src/results.js": RESULTS,
    "src/errors.js": ERRORS,
    "src/deep/er/common.cjs": "exports.handler = async () => require('./beside.cjs');",
    "src/deep/er/beside.cjs": "module.exports = 'beside';",
    "src/module.mjs": "export const handler = async () => import.meta.url.split('/').pop();",
    "src/typed/app.js": "const word = await Promise.resolve('awaited'); export const handler = async () => word;",
    "src/typed/package.json": '{"type": "module"}',
    "src/syntax.js": "exports.handler = async () => { let let = 1; };",
    "src/raises.js": "throw new RangeError('at the start');",
    "src/needs.js": "require('left-pad');",
    "src/needs_module.mjs": "import '@scope/thing/part';",
    "src/needs_sdk.js": "require('@aws-sdk/client-s3');",
    "src/needs_sdk_v2.js": "require('aws-sdk');",
    "src/needs_layer.js": "require('/opt/nodejs/shared');",
    "src/untold.ts": "export const handler = async () => 1;",
    "src/leaves.js": "process.exit(1);",
}
HANDLERS = (
    *(f"results.{name}" for name in re.findall(r"^exports\.(\w+)", RESULTS, re.MULTILINE)),
    *(f"errors.{name}" for name in re.findall(r"^exports\.(\w+)", ERRORS, re.MULTILINE)),
    *("results.inner.most.handler", "deep/er/common.handler", "module.handler", "typed/app.handler"),
    *("syntax.handler", "raises.handler", "needs.handler", "needs_module.handler", "needs_sdk.handler"),
    "needs_sdk_v2.handler",
    *("needs_layer.handler", "untold.handler", "leaves.handler", "results.missing", "../elsewhere.handler", "results"),
)


def named(handler: str) -> str:
    """Return the logical id of the function with a handler."""
    return "".join(filter(str.isalnum, handler.title())) or "F"


@pytest.fixture(scope="module")
def stack(node: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    functions = {named(handler): {"Handler": handler} for handler in HANDLERS}
    functions[named("needs_sdk_v2.handler")]["Runtime"] = "nodejs16.x"
    with LocalStack(written(tmp_path_factory.mktemp("handlers"), FILES, functions)) as served:
        yield served


@pytest.mark.parametrize(
    ("handler", "result"),
    [
        ("results.promises", {"seen": {"a": "ü"}}),
        ("results.calls", {"seen": {"a": "ü"}}),
        ("results.forgets", None),
        ("results.ignored", None),
        ("results.nothing", None),
        ("results.succeeds", {"seen": {"a": "ü"}}),
        ("results.inner.most.handler", "nested"),
        ("results.waits", ["later"]),
        ("results.hurries", []),
        ("results.streams", {"statusCode": 201, "headers": {"a": "b"}, "body": "one two"}),
        ("deep/er/common.handler", "beside"),
        ("module.handler", "module.mjs"),
        ("typed/app.handler", "awaited"),
    ],
)
def test_a_result_is_what_the_handler_gives(stack: LocalStack, handler: str, result: Any) -> None:
    assert stack.invoke(named(handler), {"a": "ü"}) == result


@pytest.mark.parametrize(
    ("handler", "kind", "message"),
    [
        ("errors.throws", "TypeError", "wrong"),
        ("errors.rejects", "NotFound", "no such thing"),
        ("errors.calls", "NotFound", "told"),
        ("errors.says", "string", "only words"),
        ("errors.fails", "RangeError", "old style"),
        ("errors.never", "Runtime.NodeJsExit", "promise was never settled"),
        ("errors.circle", "TypeError", "circular"),
        ("errors.big", "Function.ResponseSizeTooLarge", "exceeded 6291456 bytes"),
        ("errors.exits", "Runtime.ExitError", r"exit status 3 \(function .*-ErrorsExits\)"),
        ("errors.uncaught", "Error", "thrown later"),
        ("errors.unhandled", "Runtime.UnhandledPromiseRejection", "rejected later"),
        ("syntax.handler", "Runtime.UserCodeSyntaxError", r"(?s)let.*\(function .*-SyntaxHandler\)"),
        ("raises.handler", "RangeError", r"at the start \(function .*-RaisesHandler\)"),
        ("leaves.handler", "Runtime.ExitError", r"exit status 1 \(function .*-LeavesHandler\)"),
        ("needs.handler", "Runtime.ImportModuleError", r"(?s)'left-pad'.*npm install --prefix \S+/src left-pad\)"),
        ("needs_module.handler", "Runtime.ImportModuleError", r"npm install --prefix \S+/src @scope/thing\)"),
        ("needs_sdk.handler", "Runtime.ImportModuleError", r"Lambda's own runtime has it.*@aws-sdk/client-s3\)"),
        (
            "needs_sdk_v2.handler",
            "Runtime.ImportModuleError",
            r"Lambda's own runtime has it.*--prefix \S+/src aws-sdk\)",
        ),
        ("needs_layer.handler", "Runtime.ImportModuleError", "layers are not at /opt/ on this machine"),
        ("untold.handler", "Runtime.ImportModuleError", r"has no untold.js.*build \S+/untold.ts, or let esbuild do it"),
        ("results.missing", "Runtime.HandlerNotFound", "results.missing is undefined or not exported"),
        ("../elsewhere.handler", "Runtime.MalformedHandlerName", "not a valid handler name"),
        ("results", "Runtime.MalformedHandlerName", "not a valid handler name"),
    ],
)
def test_an_error_says_its_type_and_why_and_the_next_call_tries_again(
    stack: LocalStack, caplog: pytest.LogCaptureFixture, handler: str, kind: str, message: str
) -> None:
    for _ in range(2):
        caplog.clear()
        with pytest.raises(FunctionError) as caught:
            stack.invoke(named(handler), {})

        assert (caught.value.error_type, bool(re.search(message, caught.value.message))) == (kind, True), caught.value
        (line,) = [one for one in caplog.messages if "failed" in one]
        assert re.search(rf"-{named(handler)} failed\. {kind}: \S", line), line
        assert "\n" not in line


def test_the_require_stack_of_an_error_names_files_that_are_there(stack: LocalStack) -> None:
    with pytest.raises(FunctionError) as caught:
        stack.invoke(named("needs.handler"), {})

    files = re.findall(r"^- (.+\.\w+)", caught.value.message, re.MULTILINE)
    assert [Path(file).name for file in files] == ["needs.js", "bootstrap.mjs"]
    assert [file for file in files if not Path(file).is_file()] == []


def test_an_error_has_the_stack_of_the_code(stack: LocalStack) -> None:
    with pytest.raises(FunctionError) as caught:
        stack.invoke(named("errors.throws"), {})

    assert "errors.js:3" in caught.value.stack_trace[1]


def test_the_context_tells_of_the_function_and_the_invocation(stack: LocalStack) -> None:
    told = stack.invoke(named("results.tells"), {})
    again = stack.invoke(named("results.tells"), {})

    name = stack.functions[named("results.tells")].settings.name
    assert told["functionName"] == name
    assert told["functionVersion"] == "$LATEST"
    assert told["invokedFunctionArn"].endswith(f":function:{name}")
    assert told["memoryLimitInMB"] == "128"
    assert told["logGroupName"] == f"/aws/lambda/{name}"
    assert told["logStreamName"] == "local"
    assert told["left"] > 0
    assert told["trace"].startswith("Root=1-")
    assert told["id"] != again["id"]


def test_a_function_has_lambda_s_variables_and_no_key_of_the_developer(stack: LocalStack) -> None:
    seen = stack.invoke(named("results.sees"), {})

    assert seen["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] == "128"
    assert seen["AWS_REGION"] == "us-east-1"
    assert seen["_HANDLER"] == "results.sees"
    assert seen["LAMBDA_TASK_ROOT"].endswith("/src")
    assert seen["AWS_ACCESS_KEY_ID"].startswith("LOCALROLE")
    assert seen["AWS_ENDPOINT_URL"].startswith("http://127.0.0.1:")
