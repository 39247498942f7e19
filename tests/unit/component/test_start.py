import signal
import sys

import pytest

from component.start import start

MODULE = """
import signal
seen = [signal.getsignal(signal.SIGINT)]
def main():
    seen.append(signal.getsignal(signal.SIGINT))
"""


@pytest.fixture
def before():
    kept = signal.getsignal(signal.SIGINT)
    yield lambda how: signal.signal(signal.SIGINT, how)
    signal.signal(signal.SIGINT, kept)


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (signal.default_int_handler, [signal.SIG_DFL, signal.default_int_handler]),
        (signal.SIG_IGN, [signal.SIG_IGN, signal.SIG_IGN]),
    ],
    ids=["usual", "ignored"],
)
def test_ctrl_c_ends_a_process_quietly_only_while_it_loads(before, tmp_path, monkeypatch, how, expected):
    (tmp_path / "loaded_slowly.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "loaded_slowly", raising=False)
    before(how)
    start("loaded_slowly")
    assert sys.modules["loaded_slowly"].seen == expected
