from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.proxy.frames import END_STREAM, PREFACE, Frames, Kind
from tests.harness.http2 import HELLO, SETTINGS, frame

SENT = (
    HELLO,
    frame(Kind.HEADERS, 1, b"h" * 30),
    frame(Kind.DATA, 1, b"d" * 20, flags=END_STREAM),
    frame(SETTINGS, 0),
    frame(Kind.RST_STREAM, 3, b"\0\0\0\x08"),
    frame(Kind.DATA, 0x7FFFFFFF, b"e" * 70_000),
)


def whole(parts):
    """Frames put together again from their parts."""
    found, payload, begins = [], b"", True
    for part in parts:
        assert part.first is begins
        begins = part.last
        payload += part.payload
        if part.last:
            found.append((part.kind, part.stream, payload, part.ends_stream))
            payload = b""
    return found


EXPECTED = [
    (SETTINGS, 0, bytes(6), False),
    (Kind.HEADERS, 1, b"h" * 30, False),
    (Kind.DATA, 1, b"d" * 20, True),
    (SETTINGS, 0, b"", False),
    (Kind.RST_STREAM, 3, b"\0\0\0\x08", True),
    (Kind.DATA, 0x7FFFFFFF, b"e" * 70_000, False),
]


def test_frames_are_told_from_one_piece():
    assert whole(Frames(preface=True).feed(b"".join(SENT))) == EXPECTED


@settings(max_examples=40)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=200))
def test_frames_are_the_same_in_whatever_pieces_they_come(sizes):
    frames, data, parts, at = Frames(preface=True), b"".join(SENT), [], 0
    for size in (*sizes, len(data)):
        parts += frames.feed(data[at : at + size])
        at += size
    assert whole(parts) == EXPECTED


def test_a_part_says_where_in_its_piece_it_begins():
    frames = Frames(preface=False)
    one, two = frame(Kind.DATA, 1, b"abc"), frame(Kind.DATA, 3, b"defg")
    parts = list(frames.feed(one + two[:11]))
    assert [(part.start, part.payload, part.first, part.last) for part in parts] == [
        (0, b"abc", True, True),
        (12, b"de", True, False),
    ]
    (rest,) = frames.feed(two[11:])
    assert (rest.start, rest.payload, rest.first, rest.last) == (0, b"fg", False, True)


def test_what_is_no_http2_is_left_alone():
    frames = Frames(preface=True)
    assert list(frames.feed(b"PRI * HTTP/1.1\r\n")) == []
    assert frames.strange
    assert list(frames.feed(PREFACE)) == []
