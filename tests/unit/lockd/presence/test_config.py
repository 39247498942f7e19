"""What presence can be set up from."""

from __future__ import annotations

import pytest

from lockd.errors import ConfigError
from lockd.presence import address
from lockd.presence.config import PresenceConfig
from tests.harness import certs


@pytest.mark.parametrize(
    ("text", "found"),
    [("127.0.0.1:0", ("127.0.0.1", 0)), ("[::1]:7", ("::1", 7)), ("host-1:65535", ("host-1", 65535)), (":9", ("", 9))],
)
def test_addresses(text, found):
    assert address.parse(text) == found
    assert address.join(*found) == text


@pytest.mark.parametrize("text", ["", "host", "host:", "host:x", "host:65536", "::1:7", "host:-1", "host:²"])
def test_what_is_no_address_is_refused_with_the_form_to_use(text):
    with pytest.raises(ValueError, match=r"write one such as 127\.0\.0\.1:0"):
        address.parse(text)


@pytest.mark.parametrize("bind", ["0.0.0.0:7000", "[::]:7000", ":7000"])
def test_a_wildcard_asks_for_an_address_to_dial(bind):
    with pytest.raises(ConfigError, match="--presence-advertise"):
        PresenceConfig(bind=bind)
    assert PresenceConfig(bind=bind, advertise="10.0.0.1:7000").bind == bind


def test_every_problem_is_told_at_once(tmp_path):
    with pytest.raises(ConfigError) as caught:
        PresenceConfig.of("nowhere", "0.0.0.0:1", tmp_path / "cert", None, None)
    assert len(caught.value.problems) == 3


def test_files_that_cannot_be_used_are_named(tmp_path):
    bad = tmp_path / "bad.pem"
    bad.write_text("no certificate", encoding="ascii")
    with pytest.raises(ConfigError, match=r"bad\.pem"):
        PresenceConfig.of("127.0.0.1:0", "", bad, bad, bad)


def test_certificates_that_can_be_used_are():
    config = PresenceConfig.of(
        "127.0.0.1:0", "", certs.path("server.pem"), certs.path("server.key"), certs.path("ca.pem")
    )
    assert config.tls is not None
