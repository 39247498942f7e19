from __future__ import annotations

import ssl

import pytest
from click.testing import CliRunner

from component.clock import SystemClock
from component.handlers import ANONYMOUS, Request, Response
from lockd.errors import ConfigError
from replica.app.serving import ALWAYS_ALLOWED, Serving
from replica.commands import main
from tests.harness import certs

PAIR = (certs.path("server.pem"), certs.path("server.key"))
TOKENS = certs.path("ca.pem")  # any file: nothing here reads it


def problems_of(**fields):
    with pytest.raises(ConfigError) as caught:
        Serving(**fields)
    return caught.value.problems


class TestRules:
    @pytest.mark.parametrize("address", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost"])
    def test_a_token_file_needs_no_tls_on_loopback(self, address):
        serving = Serving(address=address, token_file=TOKENS)
        assert serving.on_loopback
        assert not serving.exposed

    @pytest.mark.parametrize(
        "address", ["0.0.0.0", "::", "", "10.1.2.3", "::ffff:10.0.0.1", "host.example", "localhost.x"]
    )
    def test_a_token_file_without_tls_is_refused_elsewhere(self, address):
        (problem,) = problems_of(address=address, token_file=TOKENS)
        assert problem.startswith(f"--token-auth-file on {address} sends tokens in the clear: give --tls-cert-file")
        assert not Serving(address=address, token_file=TOKENS, certificate=PAIR).exposed
        assert Serving(address=address).exposed

    def test_a_client_ca_needs_tls(self):
        assert problems_of(client_ca=TOKENS) == (
            "--client-ca-file needs TLS: give --tls-cert-file and --tls-private-key-file",
        )

    @pytest.mark.parametrize("version", ["VersionTLS10", "VersionTLS11", "1.2", ""])
    def test_an_old_or_unknown_version_is_refused_with_those_there_are(self, version):
        (problem,) = problems_of(min_version=version)
        assert problem == f"--tls-min-version {version} is not served: use VersionTLS12 or VersionTLS13"

    def test_all_problems_come_at_once(self):
        assert len(problems_of(address="0.0.0.0", token_file=TOKENS, min_version="x", always_allow=("a", "/*b"))) == 4

    def test_what_tls_is_made_of(self):
        tls = Serving(certificate=PAIR, client_ca=TOKENS, min_version="VersionTLS13").tls()
        assert (tls.cert, tls.key, tls.client_ca, tls.minimum) == (*PAIR, TOKENS, ssl.TLSVersion.TLSv1_3)
        assert Serving().tls() is None


class TestWho:
    def ask(self, serving, path, **more):
        authenticate, authorize = serving.who(SystemClock())
        user = authenticate(Request(method="GET", target=path, path=path, **more))
        assert not isinstance(user, Response)
        refusal = authorize(Request(method="GET", target=path, path=path, user=user))
        return user, refusal.status if refusal else 200

    def test_without_token_file_and_client_ca_everyone_may_read(self):
        assert self.ask(Serving(), "/metrics") == (ANONYMOUS, 200)

    @pytest.mark.parametrize("path", ALWAYS_ALLOWED)
    def test_with_one_probes_need_no_credentials(self, path):
        assert self.ask(Serving(client_ca=TOKENS, certificate=PAIR), path) == (ANONYMOUS, 200)

    @pytest.mark.parametrize(
        "path", ["/metrics", "/metrics/resources", "/configz", "/statusz", "/flagz", "/readyz/etcd"]
    )
    def test_with_one_all_else_does(self, path, tmp_path):
        assert self.ask(Serving(client_ca=TOKENS, certificate=PAIR), path) == (ANONYMOUS, 401)
        tokens = tmp_path / "tokens"
        tokens.write_text("t,ann,1\n")
        serving = Serving(token_file=tokens)
        assert self.ask(serving, path) == (ANONYMOUS, 401)
        assert self.ask(serving, path, headers={"authorization": "Bearer t"}) == ("ann", 200)

    def test_a_token_file_that_cannot_be_used_is_found_at_the_start(self):
        with pytest.raises(ValueError, match="token file"):
            Serving(token_file=TOKENS).who(SystemClock())


class TestFlags:
    @pytest.mark.parametrize(
        ("flags", "problem"),
        [
            ([f"--tls-cert-file={PAIR[0]}"], "--tls-cert-file and --tls-private-key-file go together"),
            ([f"--token-auth-file={TOKENS}", "--bind-address=0.0.0.0"], "sends tokens in the clear"),
            ([f"--client-ca-file={TOKENS}"], "--client-ca-file needs TLS"),
            (["--tls-min-version=VersionTLS10"], "use VersionTLS12 or VersionTLS13"),
            (["--authorization-always-allow-paths=/healthz,metrics"], "'metrics' is no path to allow"),
        ],
    )
    def test_what_cannot_be_served_is_a_usage_error_in_one_line(self, flags, problem):
        result = CliRunner().invoke(main, ["run", *flags], prog_name="replica")
        assert result.exit_code == 2
        assert result.stderr.startswith("error: ")
        assert result.stderr.count("\n") == 1
        assert problem in result.stderr

    def test_a_bad_token_file_ends_the_start_with_one_line(self):
        result = CliRunner().invoke(
            main, ["run", f"--token-auth-file={TOKENS}", "--secure-port=0"], prog_name="replica"
        )
        assert result.exit_code == 1
        assert result.stderr.splitlines()[-1].startswith(f"error: token file {TOKENS}, line 1: ")
