"""What each field of a manifest does, and what its value must look like, for the reference, for editors and for faults.

docs/manifest.md and docs/manifest.schema.json are made of these words and of the models: `python -m
tests.docs.manifest_pages`. A test fails where a field has no words here, or words have no field.
"""

from typing import Final

EFFECTS: Final = {
    "name": "The tool's name. Of a registered tool: the last part of the parameter's name.",
    "title": "The tool's name for people.",
    "description": "What the model reads when it chooses a tool.",
    "state_machine": (
        "The name of a state machine of the endpoint's account and Region, or an ARN, also that of a version or "
        "an alias. Registered as a parameter, it may also be of type "
        "[EXPRESS](tools.md#state-machines-of-type-express). In a file: an ARN, or a name in the variable "
        "`STATE_MACHINES` (JSON, names and ARNs) that you give to `McpFunction`, of type STANDARD."
    ),
    "role": (
        "The ARN of a role that runs a state machine of another account or Region: "
        "[Another account or Region](adopting.md#another-account-or-region)."
    ),
    "input_schema": (
        "JSON Schema 2020-12 of type object. Arguments that conform, with their "
        "[defaults](tools.md#the-workflows-input), become the execution's input."
    ),
    "output_schema": "JSON Schema 2020-12. The server checks the structured content against it.",
    "task_support": (
        "`optional`: the client chooses. `required`: a call that does not ask for a task is refused. "
        "`forbidden`: the client always waits for the result and gets no task."
    ),
    "ttl": "How long the task is kept. Choose more than the longest run takes.",
    "keep_result": "How long a result is kept after the task's end, even if the `ttl` ends sooner.",
    "poll_interval": "The poll hint at the start.",
    "longest_poll_interval": "The value to which the poll hint grows with the task's age.",
    "annotations": "MCP's hints about the tool. Clients may show them; nothing is enforced.",
    "annotations.title": "As `title`, for clients that look for it here.",
    "annotations.readOnlyHint": "Whether the tool changes nothing.",
    "annotations.destructiveHint": "Whether what it changes may be lost.",
    "annotations.idempotentHint": "Whether a second call with the same arguments changes nothing more.",
    "annotations.openWorldHint": "Whether it acts on things outside your systems.",
    "client_capabilities": "What a client must declare to call the tool, in the shape in which it declares it.",
    "confirm": (
        "A question to the user before anything starts: [Workflows that ask and "
        "report](talking_workflows.md#ask-before-anything-starts)."
    ),
    "confirm.message": "What the user reads; `{name}` stands for the value of that argument.",
    "confirm.key": "The key of the question.",
    "confirm.schema": "The form that the user fills in: simple fields only.",
    "confirm.input_key": (
        "The member of the workflow's input that gets the answer. Without it, the workflow does not get it."
    ),
    "show_state": "`false` hides the names of the workflow's states from clients.",
    "result_bucket": (
        "Links to this bucket, below `result_prefix`, become short-lived URLs: [Leave large results in "
        "S3](talking_workflows.md#leave-large-results-in-s3)."
    ),
    "result_prefix": "What the keys of such objects begin with. Without it: the name of the execution.",
    "model_may_answer": (
        "`true` lets a model answer the workflow's questions with the tool `task_answer`, if its client "
        "cannot ask a user. Without it a question waits for a person. A `confirm` always does."
    ),
    "show_errors": (
        "How much of a failure's cause the client reads. `causes`: all of it. `redacted`, or without this "
        "field: the cause without ARNs and account numbers. `names`: only the error's name."
    ),
    "scopes": "The scopes that a caller's token must have: [Sign-in](sign_in.md#scopes).",
    "idempotency": (
        "Makes two calls one: [Repeated calls without a key](tools.md#repeated-calls-without-a-key). A list "
        "is the short form of `arguments`."
    ),
    "idempotency.arguments": "The arguments that make two calls the same: required and plain.",
    "idempotency.window": "For how long. Without it: PT1H, or the `ttl` if that is shorter.",
    "input": "What is merged into [the workflow's input](tools.md#the-workflows-input).",
    "input.constants": "Members that are always as written here. No caller can set them.",
    "input.defaults": "Members for calls that leave them out. Clients are not shown them.",
    "context": (
        "Adds who calls to the workflow's input: [Who calls](who_calls.md). A text is the short form of `input_key`."
    ),
    "context.input_key": "The member of the workflow's input that says who calls. No caller can set it.",
    "context.claims": "The claims that the workflow gets, and no others.",
    "output": "The form of [the result](tools.md#the-result).",
    "output.object": (
        "A JMESPath expression for an S3 object below `result_prefix`, whose JSON is the output: [Leave large results "
        "in S3](talking_workflows.md#leave-large-results-in-s3). Null: the output itself."
    ),
    "output.structured": (
        "A JMESPath expression: the structured content. Without it: the whole output. `false`: none."
    ),
    "output.text": "A template: the first block of the content.",
    "output.content": "Content blocks of MCP; their texts are templates, and `each` is an expression for a list.",
    "output.meta": "Members of the result's `_meta`; their texts are templates.",
    "race": (
        "Several state machines work on one call, and the first success decides it: [Races](tools.md#races). Without "
        "it, there is one."
    ),
    "race.arms": "The state machines that race, two to five: a list of these fields.",
    "race.arms.name": "What the result and messages call it.",
    "race.arms.state_machine": "As `state_machine` of the tool, which holds for arms that name none.",
    "race.arms.role": "As `role` of the tool, for an arm with a `state_machine` of its own.",
    "race.arms.constants": "Members that the input of this arm alone has. No caller can set them.",
    "race.arms.delay": "How long after the others it starts: their head start. It waits no longer than they run.",
    "race.quorum": "How many arms must succeed. The result is that of the arm with which there are enough.",
    "race.slots": "How many of its caller's `MostActiveTasks` a call takes: `one`, or one for `each` arm.",
    "retry": "Runs a failed workflow again: [Retries](tools.md#retries). Without it, a task has one attempt.",
    "retry.attempts": "The most attempts, the first included.",
    "retry.errors": (
        "Names of errors, as `ErrorEquals` of Amazon States Language matches them, with `States.ALL`, "
        "`States.TaskFailed` and `States.Timeout`."
    ),
    "retry.mode": (
        "`restart`: a new execution with the same input. `redrive`: the failed execution goes on from its failed state."
    ),
    "retry.fallback": (
        "What follows if Step Functions refuses to redrive. `restart`: a new execution. `none`: the task ends. Only "
        "with `mode: redrive`, where `restart` is the default."
    ),
    "retry.delay": "The time from the first failure to the second attempt.",
    "retry.backoff": "The factor by which each further delay is longer.",
    "retry.longest_delay": "No delay is longer than this.",
    "retry.jitter": "`full`: each delay is a random part of its length, so that tasks do not all come back at once.",
    "card": "`false`: hosts with MCP Apps show [no card](cards.md) of the tool's tasks.",
}
SHAPES: Final = {
    "role": "the ARN of a role, such as arn:aws:iam::123456789012:role/name",
    "name": "1 to 128 letters, digits, '_', '-' and '.'",
    "confirm.key": "1 to 64 letters, digits, '_', '-' and '.'",
    "result_bucket": "the name of a bucket: 3 to 63 lower-case letters, digits, '.' and '-'",
    "result_prefix": (
        "a path that ends with '/', of letters, digits, !_.*'()- and the variables {principal} and {task_id}"
    ),
    "race.arms.name": "1 to 32 letters, digits, '_' and '-'",
    "race.arms.role": "the ARN of a role, such as arn:aws:iam::123456789012:role/name",
    "scopes": "1 to 200 printable ASCII characters without spaces, quotes and backslashes",
}
"""What a text must be whose pattern nobody wants to read."""
