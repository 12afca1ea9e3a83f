"""The states of a definition, wherever they are."""

from stepwire.manifests.definitions import inside, states_in


def among(**states: object) -> dict[str, object]:
    return {"StartAt": next(iter(states), ""), "States": states}


def test_each_state_is_found_with_its_place_and_its_query_language() -> None:
    check = {
        "Type": "Parallel",
        "Branches": [among(), among(Ask={"Type": "Task", "QueryLanguage": "JSONata"})],
    }
    each = {"Type": "Map", "ItemProcessor": {**among(One={"Type": "Pass"}), "QueryLanguage": "JSONata"}}
    older = {"Type": "Map", "Iterator": among(Two={"Type": "Pass"})}

    found = list(states_in(among(Check=check, Each=each, Older=older)))

    assert [(one.where, one.language) for one in found] == [
        ("States.Check", "JSONPath"),
        ("States.Check.Branches[1].States.Ask", "JSONata"),
        ("States.Each", "JSONPath"),
        ("States.Each.ItemProcessor.States.One", "JSONata"),
        ("States.Older", "JSONPath"),
        ("States.Older.Iterator.States.Two", "JSONPath"),
    ]
    assert [one.name for one in found if one.name in one.among["States"]] == [one.name for one in found]


def test_what_is_malformed_has_no_states_inside() -> None:
    assert list(states_in({"States": ["no", "object"]})) == []
    assert [one.state for one in states_in({"States": {"A": 1}})] == [{}]
    assert inside({"Branches": [1, "text", None], "ItemProcessor": "text"}) == []
