"""Patch of SES: a mail is shown, and sent to nobody."""

from collections.abc import Callable, Mapping, Sequence
from email import message_from_string
from email.policy import default
from typing import Any

from moto.ses.models import SESBackend

from stepwire_local.activity import Activity, not_delivered, tell

_Replace = Callable[[object, str, object], None]


def mails_are_shown(replace: _Replace) -> None:
    """Patch: Show the subject and the text of a mail, and let every address send.

    Defect: A mail is kept where nobody sees it, and one of an address that nobody has verified is refused.

    Ours: that no mail leaves this machine, where nobody can verify an address either, is a choice of this stack.
    """
    send, send_raw = SESBackend.send_email, SESBackend.send_raw_email

    def send_email(self: Any, source: str, subject: str, body: str, destinations: Mapping[str, Sequence[str]]) -> Any:
        self.verify_email_identity(source)
        sent = send(self, source, subject, body, dict[str, Any](destinations))
        _tell(source, [one for addresses in destinations.values() for one in addresses], subject, body)
        return sent

    def send_raw_email(self: Any, source: str | None, destinations: list[str], raw_data: str) -> Any:
        mail: Any = message_from_string(raw_data, policy=default)
        if sender := source or mail["from"]:
            self.verify_email_identity(str(sender))
        sent = send_raw(self, source, destinations, raw_data)  # pyright: ignore[reportArgumentType] - it may be None
        part = mail.get_body(("plain", "html"))
        _tell(sent.source, sent.destinations, mail["subject"], part.get_content() if part else raw_data)
        return sent

    replace(SESBackend, "send_email", send_email)
    replace(SESBackend, "send_raw_email", send_raw_email)


def _tell(source: str, recipients: Sequence[str], subject: str | None, text: str) -> None:
    about = not_delivered("no mail leaves this machine", subject, text)
    tell(Activity("mail", source, ", ".join(recipients), about))


PATCHES = (mails_are_shown,)
