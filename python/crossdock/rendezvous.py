"""Rendezvous: an address at which processes meet that something else has started: the workers of
Dask or Ray, pods, batch jobs. The driver opens it and hands its address out.

    with xd.Rendezvous() as rendezvous:              # in the driver
        run_workers(rendezvous.address)
    ...
    group = xd.join_group(rank=3, ranks=8, meet=address, open_within_s=300)   # in each worker

Ranks keep a connection to it, over which they agree on each step; rows do not pass through it. So
it stays open for as long as they work together, and who comes or goes is noticed at once. Every
process that has the address may join; the secret goes over the network in the clear.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import secrets
import socket
import threading
from collections.abc import Sequence

from crossdock import _native
from crossdock.errors import make_error, public_errors

_FIRST_WORD = b"crossdock-meet 1"
_GREETING_MOST = 512  # bytes, of a process that has not shown the secret
_GREETING_WITHIN_S = 5.0
_STRANGERS_MOST = 256
_RANKS_MOST = 1 << 16
_SAID_MOST = (16 << 20) + 1
_LOST, _REFUSED = 617, 105


class Rendezvous:
    """Listens until `close()`, in a thread of its own. Use it in a `with` statement. Several groups
    may meet at one, each under a `job` of its own (`join_group(meet=..., job=...)`)."""

    def __init__(
        self, bind: str = "0.0.0.0:0", *, job: str | None = None, hosts: Sequence[str] = ()
    ) -> None:
        """Listens at `bind`, HOST:PORT; port 0 takes any that is free.

        job: the name under which ranks meet that give none; None draws one.
        hosts: under which names or addresses ranks reach this machine; none means all the addresses
            that it has, which ranks try one after the other.
        Errors: OptionError: no such address, or one that is taken.
        """
        host, port = _split(bind)
        self.job = job or f"job-{secrets.token_hex(4)}"
        if "/" in self.job or "\n" in self.job:
            raise make_error("CD-105", f"Rendezvous(job={job!r}) has a / or a line end",
                             try_='job="epoch-1"')  # fmt: skip
        self._secret = secrets.token_hex(16)
        self._server = _Server(self._secret)
        try:
            listener = socket.create_server((host, port), family=_family(host), backlog=1024)
        except (OSError, OverflowError) as error:
            raise make_error(
                "CD-105", f"Rendezvous(bind={bind!r}): {error}", try_='bind="0.0.0.0:0"'
            ) from None
        self.port: int = listener.getsockname()[1]
        self.hosts = tuple(hosts) or _reached_at(host)
        self._thread = threading.Thread(
            target=self._server.run, args=(listener,), name="crossdock-rendezvous", daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> str:
        """What ranks pass as `meet`, or find in CROSSDOCK_MEET: host, port, job and secret."""
        hosts = ",".join(f"[{host}]" if ":" in host else host for host in self.hosts)
        return f"crossdock://{hosts}:{self.port}/{self.job}/{self._secret}"

    def close(self) -> None:
        """Ends it; what ranks still do together fails. May be called twice."""
        self._server.stop()
        self._thread.join()

    def __enter__(self) -> Rendezvous:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"crossdock.Rendezvous (port {self.port}, job {self.job})"


class _RefusedError(Exception):
    """Whom the rendezvous does not take; the text says why."""


class _Member:
    """A rank and its connection."""

    def __init__(self, rank: int, place: str, writer: asyncio.StreamWriter) -> None:
        self.rank = rank
        self.place = place
        self.writer = writer

    def tell(self, body: bytes) -> None:
        with contextlib.suppress(ConnectionError, RuntimeError):
            self.writer.write(len(body).to_bytes(4, "big") + body)


class _Meeting:
    """The ranks of a job, and what they have said in this round. It begins when the first one comes
    and is over for newcomers when all have come: then the next of the name begins."""

    def __init__(self, job: str, size: int) -> None:
        self.job = job
        self.size = size
        self.members: dict[int, _Member] = {}
        self.notes: dict[int, bytes] = {}
        self.gone: dict[int, str] = {}
        self.is_whole = False

    def enter(self, member: _Member, size: int) -> None:
        if size != self.size:
            raise _RefusedError(
                f"rank {member.rank} of job {self.job} counts {size} ranks, others {self.size}; "
                "all give the same number, and each job has a name of its own"
            )
        if member.rank in self.members:
            raise _RefusedError(
                f"another process is rank {member.rank} of job {self.job}, too "
                f"({self.members[member.rank].place}); give each rank once, and each job that "
                "runs at the same time a name of its own"
            )
        self.members[member.rank] = member
        self.is_whole = len(self.members) == self.size

    def say(self, member: _Member, note: bytes) -> None:
        if member.rank in self.notes:
            raise _RefusedError(f"rank {member.rank} has said something in this round already")
        self.notes[member.rank] = note
        if len(self.notes) == self.size:
            ordered = (self.notes[rank] for rank in range(self.size))
            answer = b"A" + b"".join(b"%d\n%b" % (len(note), note) for note in ordered)
            self.notes = {}
            for one in self.members.values():
                one.tell(answer)
        self.end_if_lost()

    def leave(self, member: _Member) -> None:
        if self.members.get(member.rank) is not member:
            return
        del self.members[member.rank]
        if not self.is_whole:  # it may come again
            self.notes.pop(member.rank, None)
            return
        self.gone[member.rank] = member.place
        self.end_if_lost()

    def end_if_lost(self) -> None:
        """The round can never be whole if a member is gone that has not said anything in it."""
        silent = [rank for rank in self.gone if rank not in self.notes]
        if not silent or not self.notes:
            return
        why = f"rank {silent[0]} ({self.gone[silent[0]]}) has ended, or left job {self.job}"
        for rank in self.notes:
            if rank in self.members:
                self.members[rank].tell(b"E%d %b" % (_LOST, why.encode()))

    def silent(self) -> bytes:
        ranks = [str(rank) for rank in range(self.size) if rank not in self.notes]
        more = f" and {len(ranks) - 16} more" if len(ranks) > 16 else ""
        return (", ".join(ranks[:16]) + more).encode()


class _Server:
    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()
        self._meetings: dict[str, _Meeting] = {}  # by job, those that are not whole
        self._strangers: dict[asyncio.StreamWriter, None] = {}  # the oldest first
        self._connections: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()

    def run(self, listener: socket.socket) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve(listener))
        finally:
            self._loop.close()

    def stop(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._stop.set)

    async def _serve(self, listener: socket.socket) -> None:
        server = await asyncio.start_server(self._connected, sock=listener, limit=1 << 16)
        await self._stop.wait()
        server.close()
        for writer in list(self._connections):
            writer.transport.abort()
        await asyncio.sleep(0)
        pending = asyncio.all_tasks() - {asyncio.current_task()}
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        self._strangers[writer] = None
        if len(self._strangers) > _STRANGERS_MOST:
            next(iter(self._strangers)).transport.abort()
        member = meeting = None
        try:
            greeting = await asyncio.wait_for(_frame(reader, _GREETING_MOST), _GREETING_WITHIN_S)
            member, meeting = self._taken(greeting, writer)
            self._strangers.pop(writer, None)
            while True:
                body = await _frame(reader, _SAID_MOST)
                if body == b"W":
                    member.tell(b"M" + meeting.silent())
                elif body[:1] == b"S":
                    meeting.say(member, body[1:])
                else:
                    raise _RefusedError("what came is no message of a rank")
        except _RefusedError as refusal:
            body = b"E%d %b" % (_REFUSED, str(refusal).encode())
            writer.write(len(body).to_bytes(4, "big") + body)
        except (OSError, EOFError, TimeoutError, asyncio.CancelledError):
            pass
        finally:
            self._strangers.pop(writer, None)
            self._connections.discard(writer)
            if member is not None and meeting is not None:
                self._left(member, meeting)
            writer.close()

    def _taken(self, greeting: bytes, writer: asyncio.StreamWriter) -> tuple[_Member, _Meeting]:
        """The secret is looked at before anything else that the caller says."""
        words = greeting.split(b"\n")
        given = words[1] if len(words) > 1 else b""
        if not hmac.compare_digest(given, self._secret) or words[0] != _FIRST_WORD:
            raise _RefusedError("the address has not the secret of this rendezvous; take that of "
                           "the driver that runs now")  # fmt: skip
        try:
            job = words[2].decode()
            rank, size, process = (int(word) for word in words[3:6])
        except (ValueError, IndexError):
            raise _RefusedError("what came is no greeting of a rank") from None
        if not (0 <= rank < size <= _RANKS_MOST):
            raise _RefusedError(f"rank {rank} of {size}: ranks count from 0")
        host = (writer.get_extra_info("peername") or ("?",))[0]
        member = _Member(rank, f"process {process} of {host}", writer)
        meeting = self._meetings.setdefault(job, _Meeting(job, size))
        meeting.enter(member, size)
        if meeting.is_whole:
            del self._meetings[job]
        return member, meeting

    def _left(self, member: _Member, meeting: _Meeting) -> None:
        meeting.leave(member)
        if not meeting.members and self._meetings.get(meeting.job) is meeting:
            del self._meetings[meeting.job]


async def _frame(reader: asyncio.StreamReader, most: int) -> bytes:
    size = int.from_bytes(await reader.readexactly(4), "big")
    if not 0 < size <= most:
        raise _RefusedError(f"a message of {size} bytes; {most} are the most")
    return await reader.readexactly(size)


def _split(bind: str) -> tuple[str, int]:
    host, _, port = bind.rpartition(":")
    if not host or not port.isdecimal():
        raise make_error(
            "CD-105", f"Rendezvous(bind={bind!r}) is not HOST:PORT", try_='bind="0.0.0.0:0"'
        )
    return host.removeprefix("[").removesuffix("]"), int(port)


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _reached_at(host: str) -> tuple[str, ...]:
    """Where ranks find a socket that listens at `host`."""
    try:
        is_any = ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return (host,)
    if not is_any:
        return (host,)
    with public_errors():
        addresses = _native.host_addresses()
    fitting = [one for one in addresses if ":" in host or ":" not in one]
    return tuple(fitting) or ("127.0.0.1",)
