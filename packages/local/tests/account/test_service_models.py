"""How the models of AWS services are read: once for all sessions."""

from typing import Any

import boto3
import pytest

boto: Any = boto3


@pytest.mark.usefixtures("account")
def test_sessions_share_the_models_that_they_read() -> None:
    one, *others = (boto.session.Session()._session.get_component("data_loader") for _ in range(5))

    assert all(
        other.load_service_model("sqs", "service-2") is one.load_service_model("sqs", "service-2") for other in others
    )
    assert len(one.search_paths) <= 4, "the search takes no longer with each session"


@pytest.mark.usefixtures("account")
def test_a_session_with_models_of_its_own_finds_them(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "rockets" / "2026-01-01" / "service-2.json"
    model.parent.mkdir(parents=True)
    model.write_text('{"metadata": {}}', encoding="utf-8")
    monkeypatch.setenv("AWS_DATA_PATH", str(tmp_path))

    assert "rockets" in boto.session.Session().get_available_services()
    monkeypatch.delenv("AWS_DATA_PATH")
    assert "rockets" not in boto.session.Session().get_available_services()
