"""The hardest answers that a client may give to sampling and roots: wrong in every part, and as large as may be."""

from collections.abc import Iterator

from tests.worst.shapes import filled


def client_results(room: int) -> Iterator[tuple[str, str, str]]:
    """Give results of sampling and roots of so many bytes: the name of each, its question's key, and its JSON."""
    head = '{"role":"assistant","model":"m","content":'
    blocks: dict[str, str] = {
        "texts": '{"type":"text","text":""}',
        "unfinished texts": '{"type":"text"}',
        "images": '{"type":"image","data":"AAAA","mimeType":"image/png"}',
        "broken images": '{"type":"image","data":"AAA","mimeType":"image/png"}',
        "calls of tools": '{"type":"tool_use","id":"1","name":"a","input":{}}',
        "empty blocks": "{}",
    }
    for name, block in blocks.items():
        yield f"many {name}", "model", f"{head}{filled(lambda _, block=block: block, room=room)}}}"
    for name, end in (("base64", ""), ("what is nearly base64", "!")):
        data = "A" * (room - room % 4 - 200) + end
        yield name, "model", f'{head}{{"type":"image","data":"{data}","mimeType":"image/png"}}}}'
    yield "a long type", "model", f'{head}{{"type":"image","data":"AAAA","mimeType":"image/{"a" * room}"}}}}'
    yield "a wrong role", "model", f'{{"role":"{"a" * room}","model":"m","content":{{"type":"text","text":"a"}}}}'
    yield "a long model", "model", f'{{"role":"assistant","model":"{"m" * room}","content":[]}}'
    roots = {"roots": '{"uri":"file:///"}', "foreign roots": '{"uri":"http://a"}', "roots without": "{}"}
    for name, root in roots.items():
        yield f"many {name}", "folders", f'{{"roots":{filled(lambda _, root=root: root, room=room)}}}'
    yield "a long root", "folders", f'{{"roots":[{{"uri":"file:///{"a" * room}"}}]}}'
