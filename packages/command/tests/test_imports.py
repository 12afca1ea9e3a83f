"""No file of the command imports another that leads back to it: each can be read, tried and moved after the others."""

import grimp


def test_no_two_files_import_each_other_directly_or_by_others() -> None:
    graph = grimp.build_graph("stepwire_cli")

    back = [
        f"{one} -> {other}"
        for one in sorted(graph.modules)
        for other in sorted(graph.find_modules_directly_imported_by(one))
        if graph.chain_exists(importer=other, imported=one)
    ]

    assert len(graph.modules) > 50
    assert back == []
