"""Ports on 127.0.0.1 for the engines of one run, kept from other runs side by side until it ends."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from lab.engines.launch import HOST
from lab.errors import LabError

FIRST_PORT = 8100
_LAST_PORT = 65535


@contextmanager
def reserved_ports(count: int, wanted: int | None = None) -> Iterator[tuple[int, ...]]:
    """``count`` ports: from ``wanted`` on, in a row; or, where that is None, the first free ones from FIRST_PORT on.

    An engine can still listen on them; another run that looks for ports passes over them.

    Raises:
        LabError: a wanted one is in use, or there is none of that number.
    """
    with ExitStack() as held:
        if wanted is None:
            ports = tuple(_hold_next(held, FIRST_PORT) for _ in range(count))
        else:
            ports = ports_from(wanted, count)
            for port in ports:
                require_free_port(port)
        yield ports


def ports_from(wanted: int, count: int) -> tuple[int, ...]:
    """``count`` ports in a row.

    Raises:
        LabError: they would go past the last there is.
    """
    if wanted + count - 1 > _LAST_PORT:
        raise LabError(f"--port {wanted}: the run takes {count} ports in a row, so {_LAST_PORT + 1 - count} at most")
    return tuple(range(wanted, wanted + count))


def require_free_port(port: int) -> None:
    """Fail early and clearly rather than a minute later inside the engine.

    Raises:
        LabError: when something listens there.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise LabError(
                f"port {port} on {HOST} is in use: stop what listens there, name another with --port, or leave --port "
                "out, and free ones are chosen"
            ) from error


def _hold_next(held: ExitStack, first: int) -> int:
    for port in range(first, _LAST_PORT + 1):
        place = socket.socket()
        try:
            place.bind((HOST, port))
        except OSError:
            place.close()
            continue
        # Only after binding: until here it must not share the port, from here on the engine must be able to.
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.callback(place.close)
        return port
    raise LabError(f"no port from {first} on is free on {HOST}")
