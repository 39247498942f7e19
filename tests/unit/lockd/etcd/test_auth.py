from __future__ import annotations

import threading

import pytest

from lockd.errors import PermissionDenied, Unavailable
from lockd.etcd.auth import NO_TOKEN, Authenticator


class Login:
    """Keeps each flight until it is told to land."""

    def __init__(self):
        self.flights = []

    def __call__(self, receive):
        self.flights.append(receive)


def test_without_a_user_there_is_no_token_and_no_flight():
    auth = Authenticator(None)
    assert auth.token(0.0) == NO_TOKEN
    assert auth.refuse(NO_TOKEN) is False


def test_however_many_wait_one_authenticates():
    login = Login()
    auth = Authenticator(login)
    got = []
    for _ in range(5):
        auth.with_token(got.append)
    assert (len(login.flights), got) == (1, [])
    login.flights[0]("one")
    assert got == ["one"] * 5
    assert auth.token(0.0) == "one"
    assert len(login.flights) == 1


def test_a_refused_token_is_replaced_once():
    login = Login()
    auth = Authenticator(login)
    got = []
    auth.with_token(got.append)
    login.flights[0]("one")
    assert auth.refuse("one") is True
    auth.with_token(got.append)
    login.flights[1]("two")
    assert auth.refuse("one") is True  # a late refusal of the old one
    assert auth.token(0.0) == "two"
    assert len(login.flights) == 2


def test_a_failed_flight_fails_all_who_wait_and_the_next_tries_again():
    login = Login()
    auth = Authenticator(login)
    got = []
    auth.with_token(got.append)
    auth.with_token(got.append)
    error = PermissionDenied("wrong password")
    login.flights[0](error)
    assert got == [error, error]
    auth.with_token(got.append)
    login.flights[1]("one")
    assert got[2] == "one"


def test_waiting_for_a_token_has_an_end():
    with pytest.raises(Unavailable, match="no token within"):
        Authenticator(Login()).token(0.0)


def test_threads_wait_for_one_flight():
    login = Login()
    auth = Authenticator(login)
    got = []
    threads = [threading.Thread(target=lambda: got.append(auth.token(5.0))) for _ in range(4)]
    for thread in threads:
        thread.start()
    while not login.flights:
        threading.Event().wait(0.001)
    login.flights[0]("one")
    for thread in threads:
        thread.join(5.0)
    assert got == ["one"] * 4
    assert len(login.flights) == 1
