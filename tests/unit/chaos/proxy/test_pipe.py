from chaos.proxy.pipe import CAPACITY, Ending, Pipe


def taken(pipe, now):
    found = b""
    while piece := pipe.piece(now):
        found += piece
        pipe.passed(len(piece))
    return found


def test_what_is_due_passes_in_order():
    pipe = Pipe()
    pipe.put(b"late", due=5.0)
    pipe.put(b"early", due=3.0)  # a shorter delay does not overtake
    assert (taken(pipe, 4.9), pipe.due(), pipe.size) == (b"", 5.0, 9)
    assert (taken(pipe, 5.0), pipe.due(), pipe.size) == (b"lateearly", None, 0)


def test_a_piece_may_pass_in_parts():
    pipe = Pipe()
    pipe.put(b"abcdef", due=0.0)
    pipe.passed(4)
    assert (pipe.piece(0.0), pipe.size) == (b"ef", 2)


def test_the_end_comes_last_and_in_its_time():
    pipe = Pipe()
    pipe.put(b"a", due=1.0)
    pipe.end(Ending.CLOSED, due=2.0)
    assert not pipe.is_over(3.0)
    taken(pipe, 1.0)
    assert (pipe.is_over(1.9), pipe.due(), pipe.is_over(2.0)) == (False, 2.0, True)
    pipe.end(Ending.RESET, due=2.0)
    assert pipe.ending is Ending.RESET


def test_nothing_waits_once_it_is_hurried():
    pipe = Pipe()
    pipe.put(b"a", due=9.0)
    pipe.end(Ending.CLOSED, due=9.0)
    pipe.hurry()
    assert taken(pipe, 0.0) == b"a"
    assert pipe.is_over(0.0)


def test_it_holds_so_much_and_no_more():
    pipe = Pipe()
    pipe.put(b"a" * (CAPACITY - 1), due=0.0)
    assert pipe.has_room
    pipe.put(b"a", due=0.0)
    assert not pipe.has_room
    pipe.clear()
    assert pipe.has_room
