"""Function authorizer has the layer of tokens, and imports nothing that is in no layer of its own."""

from typing import Final

from requirements.lock import IN_THE_RUNTIME
from tests.template.chosen import stack
from tests.template.document import ROOT
from tests.template.test_layers import OF_CATALOG, imported_by, in_the_layer, locked

TOKEN_LAYER: Final = ROOT / "layers/extras/approvals_or_door/requirements.txt"


def test_it_imports_only_packages_of_its_layers_or_lambda() -> None:
    allowed = in_the_layer() | set(IN_THE_RUNTIME) | locked(TOKEN_LAYER)

    assert imported_by("extras/door", OF_CATALOG) <= allowed


def test_it_has_the_layer_of_tokens() -> None:
    made = stack("jwt", FrontDoor="rest", EndpointUrl="https://mcp.example/mcp")

    assert any("TokenDependencies" in str(layer) for layer in made.properties("AuthorizerFunction")["Layers"])
