from __future__ import annotations

import pytest

from component.authentication import Tokens, credentials, read_tokens
from component.authorization import known_users, path_problems
from component.handlers import ANONYMOUS, Request, Response

TOKENS = 'one,ann,1\ntwo,bob,2,"a,b"\n'
ALWAYS = ("/healthz", "/readyz", "/livez", "/leader", "/open/*")


@pytest.fixture
def tokens(tmp_path):
    path = tmp_path / "tokens.csv"
    path.write_text(TOKENS)
    return read_tokens(path)


def asked(path="/metrics", method="GET", **more):
    return Request(method=method, target=path, path=path, **more)


def with_header(value):
    return asked(headers={"authorization": value})


class TestTokens:
    def test_a_file_gives_each_token_its_user(self, tokens):
        assert [tokens.user_of(token) for token in ("one", "two", "three", "")] == ["ann", "bob", None, None]

    def test_no_token_is_kept(self, tokens):
        assert "one" not in repr(tokens)

    @pytest.mark.parametrize(
        ("content", "problem"),
        [
            ("", "holds no token"),
            ("\n  \n", "holds no token"),
            ("one,ann\n", r"line 1: 2 columns: it must have token,user,uid at least"),
            ("one,ann,1\n,bob,2\n", r"line 2: the token is empty"),
            ("one,,1\n", r"line 1: the user is empty"),
            ("one,ann,1\none,bob,2\n", r"line 2: the same token is given to another user"),
            ('one,ann,1,"a\n', "is not CSV"),
            (b"one,\xff,1\n", "is not CSV in UTF-8"),
        ],
    )
    def test_a_file_that_cannot_be_used_is_named_with_its_line_and_without_its_tokens(self, tmp_path, content, problem):
        path = tmp_path / "tokens.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(ValueError, match=problem) as caught:
            read_tokens(path)
        assert str(path) in str(caught.value)
        assert "one" not in str(caught.value).replace(str(path), "")

    @pytest.mark.parametrize("where", ["absent", "."])
    def test_a_file_that_cannot_be_read(self, tmp_path, where):
        with pytest.raises(ValueError, match="cannot read token file"):
            read_tokens(tmp_path / where)


class TestCredentials:
    @pytest.mark.parametrize(
        ("header", "user"),
        [
            ("Bearer one", "ann"),
            ("bearer  two ", "bob"),
            ("BEARER one", "ann"),
            ("Basic b25lOm9uZQ==", ANONYMOUS),
            ("", ANONYMOUS),
            ("one", ANONYMOUS),
        ],
    )
    def test_a_bearer_token_names_its_user(self, tokens, header, user):
        assert credentials(lambda: tokens)(with_header(header)) == user

    @pytest.mark.parametrize("header", ["Bearer three", "Bearer", "Bearer ", "Bearer one two", "Bearer \udcff"])
    def test_a_token_that_is_not_known_is_refused_whatever_is_asked_for(self, tokens, header):
        refusal = credentials(lambda: tokens)(Request(method="GET", target="/", headers={"authorization": header}))
        assert isinstance(refusal, Response)
        assert refusal.status == 401
        assert ("WWW-Authenticate", 'Bearer realm="lockd"') in refusal.headers
        assert b"three" not in refusal.body

    def test_a_token_where_none_are_known_is_refused(self):
        assert credentials(None)(with_header("Bearer one")).status == 401

    def test_a_certificate_comes_before_a_token(self, tokens):
        assert credentials(lambda: tokens)(asked(certified="carol", headers={"authorization": "Bearer x"})) == "carol"

    def test_tokens_are_those_of_the_moment(self, tokens):
        current = [tokens]
        authenticate = credentials(lambda: current[0])
        assert authenticate(with_header("Bearer one")) == "ann"
        current[0] = Tokens({})
        assert authenticate(with_header("Bearer one")).status == 401


class TestKnownUsers:
    @pytest.mark.parametrize("path", ["/healthz", "/readyz", "/livez", "/leader", "/open/", "/open/a/b"])
    def test_what_is_always_allowed_needs_no_user(self, path):
        assert known_users(ALWAYS)(asked(path, user=ANONYMOUS)) is None

    @pytest.mark.parametrize(
        "path",
        [
            "/metrics",
            "/",
            "",
            "/healthz/",
            "/healthz/etcd",
            "/healthzz",
            "/HEALTHZ",
            "//healthz",
            "/x/healthz",
            "/open",
        ],
    )
    def test_all_else_needs_one(self, path):
        authorize = known_users(ALWAYS)
        assert authorize(asked(path, user=ANONYMOUS)).status == 401
        assert authorize(asked(path, user="ann")) is None

    @pytest.mark.parametrize("user", [ANONYMOUS, "ann"])
    @pytest.mark.parametrize("path", ["/healthz", "/metrics"])
    def test_nobody_may_write(self, user, path):
        refusal = known_users(ALWAYS)(asked(path, "POST", user=user))
        assert (refusal.status, refusal.headers) == (405, (("Allow", "GET, HEAD"),))

    def test_nothing_is_always_allowed_when_nothing_is_given(self):
        assert known_users(())(asked("/healthz", user=ANONYMOUS)).status == 401

    def test_a_star_alone_allows_all(self):
        assert known_users(("/*",))(asked("/metrics", user=ANONYMOUS)) is None

    @pytest.mark.parametrize(
        ("path", "good"), [("/a", True), ("/a/*", True), ("/", True), ("a", False), ("", False), ("/*/b", False)]
    )
    def test_paths_that_mean_nothing_are_told(self, path, good):
        assert (path_problems([path]) == ()) is good
