"""Two sockets, and what is said between them."""

from __future__ import annotations

import contextlib
import errno
import socket
import struct
from typing import TYPE_CHECKING, Final

from chaos.proxy.link import ETCD
from chaos.proxy.loop import BROKEN, READ, WRITE
from chaos.proxy.pipe import Ending, Pipe
from chaos.proxy.rule import Direction
from chaos.proxy.screen import End, Screen

if TYPE_CHECKING:
    from chaos.proxy.loop import Loop
    from chaos.proxy.route import Route
    from chaos.proxy.rulebook import Hold

CHUNK: Final = 65536
NO_LINGER: Final = struct.pack("ii", 1, 0)


def abort(sock: socket.socket) -> None:
    """Close it with a reset."""
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
    sock.close()


class _Side:
    """One of the two sockets, what it says, and where that goes.

    Attributes:
        way: Of what it says.
        pipe: What it says.
        connecting: Is the connection still being made?
        blocked: Does it take nothing at the moment?
        watched: Does the loop tell of it?
        finished: Was the end of what it says passed on?
        due: When the loop calls for what it says.
    """

    def __init__(self, sock: socket.socket, way: Direction) -> None:
        self.sock = sock
        self.way = way
        self.pipe = Pipe()
        self.connecting = self.blocked = self.watched = self.finished = False
        self.events = 0
        self.due = 0.0

    @property
    def is_open(self) -> bool:
        return self.sock.fileno() >= 0


class Connection:
    """One connection of a link, from the moment it was taken. It belongs to the loop."""

    def __init__(self, loop: Loop, route: Route, taken: socket.socket) -> None:
        self._loop = loop
        self._route = route
        self._screen = Screen(route) if route.link.kind == ETCD else None
        self._deafened: Hold | None = None
        self._source = _Side(taken, Direction.TO)
        self._destination = _Side(socket.socket(), Direction.FROM)
        self._dialled = self._over = False
        route.connections.add(self)
        for side in (self._source, self._destination):
            side.sock.setblocking(False)
            side.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._listen(self._source)
        self.obey(None)

    def obey(self, lifted: Hold | None) -> None:
        """Do what the rule says now; connections that lost a reply to a rule that is lifted are of no use."""
        if self._route.fails_connections() or (lifted is not None and lifted is self._deafened):
            self.reset()
            return
        for side in (self._source, self._destination):
            if not self._route.is_late(side.way):
                side.pipe.hurry()
        for side in (self._source, self._destination):
            self._pass_on(side)

    def held(self, way: Direction) -> int:
        return (self._source if way is Direction.TO else self._destination).pipe.size

    def reset(self) -> None:
        """Reset both sides, because a rule says so."""
        self._route.count["reset"] += 1
        self._end(abort)

    def _end(self, close: object = None) -> None:
        """Close what is open still."""
        self._over = True
        for side in (self._source, self._destination):
            self._loop.forget(side.sock.fileno())
            if close is abort:
                abort(side.sock)
            else:
                side.sock.close()
            side.pipe.clear()
        self._route.connections.discard(self)

    def _other(self, side: _Side) -> _Side:
        return self._destination if side is self._source else self._source

    def _dial(self) -> None:
        self._dialled = True
        target = self._route.target()
        problem = errno.ECONNREFUSED
        if target is not None:
            problem = self._destination.sock.connect_ex(target)
        if problem not in (0, errno.EINPROGRESS):
            self._unreachable()
            return
        self._destination.connecting = problem == errno.EINPROGRESS
        self._listen(self._destination)

    def _unreachable(self) -> None:
        """Nobody is there: whoever dials finds that out by a reset, since it has a connection already."""
        self._route.count["unreachable"] += 1
        self._end(abort)

    def _listen(self, side: _Side) -> None:
        side.events = self._wanted(side)
        side.watched = True
        self._loop.watch(side.sock.fileno(), side.events, lambda events: self._happened(side, events))

    def _wanted(self, side: _Side) -> int:
        events = 0
        if side.pipe.ending is None and not side.connecting and side.pipe.has_room and self._other(side).is_open:
            events |= READ
        if side.connecting or side.blocked:
            events |= WRITE
        return events

    def _update(self) -> None:
        """Ask the loop for what matters now."""
        for side in (self._source, self._destination):
            if side.is_open and side.watched:
                events = self._wanted(side)
                if events != side.events:
                    side.events = events
                    self._loop.change(side.sock.fileno(), events)

    def _happened(self, side: _Side, events: int) -> None:
        if side.connecting:
            if side.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                self._unreachable()
                return
            side.connecting = False
        if events & WRITE:
            side.blocked = False
            self._pass_on(self._other(side))
        if side.is_open and events & (READ | BROKEN):
            if side.pipe.ending is None:
                self._read(side)
            elif side.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                self._lost(side)
            elif events & BROKEN:  # closed in both directions: the kernel would tell that again and again
                side.watched = False
                self._loop.forget(side.sock.fileno())

    def _read(self, side: _Side) -> None:
        end: End | None = None
        due = self._loop.clock.now() + self._route.delay(side.way)
        try:
            data = side.sock.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            self._lost(side)
            return
        if data and self._screen is not None:
            look = self._screen.request if side is self._source else self._screen.response
            data, end = (b"", None) if self._is_deaf(side) else look(data)
        elif not data:
            side.pipe.end(Ending.CLOSED, due=due)
        if data:
            side.pipe.put(data, due=due)
        self._pass_on(side)
        if end is End.DEAFEN:
            self._deafened = self._route.holding()
        if end is End.RESET and not self._over:
            self.reset()

    def _is_deaf(self, side: _Side) -> bool:
        return side is self._destination and self._deafened is not None

    def _lost(self, side: _Side) -> None:
        """A side was reset: it hears nothing any more, and the other side is to be told in kind."""
        self._loop.forget(side.sock.fileno())
        side.sock.close()
        if not self._other(side).is_open or not self._dialled:  # nobody is left, or was ever, to be told
            self._end()
            return
        self._other(side).pipe.clear()
        side.finished = False
        side.pipe.end(Ending.RESET, due=self._loop.clock.now() + self._route.delay(side.way))
        self._pass_on(side)

    def _pass_on(self, side: _Side) -> None:
        """Hand over what a side said, as far as the rule, its time and the other side allow."""
        if side is self._source and not (self._over or self._dialled or self._route.is_held(side.way)):
            self._dial()
        if self._over:
            return
        sink = self._other(side)
        ready = sink.is_open and not sink.connecting and (side is self._destination or self._dialled)
        if ready and not self._route.is_held(side.way) and not self._is_deaf(side):
            self._hand_over(side, sink, self._loop.clock.now())
        if not self._over:
            self._update()

    def _hand_over(self, side: _Side, sink: _Side, now: float) -> None:
        pipe = side.pipe
        while (piece := pipe.piece(now)) and not sink.blocked:
            try:
                count = sink.sock.send(piece)
            except BlockingIOError:
                sink.blocked = True
            except OSError:
                self._lost(sink)
                return
            else:
                pipe.passed(count)
                self._route.count[f"{side.way}_passed"] += count
        if pipe.is_over(now):
            if not side.finished:
                self._finish(side)
            return
        due = pipe.due()
        if due is not None and due > now and not now < side.due <= due:
            side.due = due
            self._loop.at(due, lambda: self._pass_on(side))

    def _finish(self, side: _Side) -> None:
        """Pass the end of what a side says on in kind."""
        side.finished = True
        sink = self._other(side)
        if side.pipe.ending is Ending.RESET:
            self._end(abort)
        elif sink.finished or self._is_deaf(sink):
            self._end()
        else:
            with contextlib.suppress(OSError):  # it is gone already: its own end tells
                sink.sock.shutdown(socket.SHUT_WR)
