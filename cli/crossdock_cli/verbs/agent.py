"""crossdock agent: Crossdock on one server of a cluster."""

from __future__ import annotations

import json
import platform
import re
import threading
from typing import TYPE_CHECKING, Any

import click

from crossdock_cli import command as verbs
from crossdock_cli import control_options, output

if TYPE_CHECKING:
    from crossdock import _control

LOOK_S = 0.05
# "node0 spoke 0.3 s ago" is no news when it has said 0.1 s before.
_SPAN = re.compile(r"[0-9.]+ s\b")
FINAL = ("CD-612", "CD-615")  # trying again is of no use before something has been done


@verbs.verb(
    "agent",
    examples=(
        "crossdock agent",
        "crossdock agent --at head:7613 --ca ca.pem --token-file token",
        "crossdock agent --at head:7613 --insecure --listen 127.0.0.1:7614",
        "crossdock agent --name node1 --machine dgx-a100",
    ),
    short_help="Attach this server to a controller.",
    epilog="Ends on Ctrl-C (exit code 130) and on SIGTERM (0). The controller waits a while for it "
    "to come back, then closes its channels everywhere.",
)
@control_options.at_option
@click.option("--name", help="Name of this server, unlike any other's.  [default: its host name]")
@click.option("--machine", metavar="NAME", help="Be a machine of the catalogue, not this one.")
@click.option(
    "--file",
    "path",
    metavar="JSON",
    help="Be what `crossdock topo --json` wrote; of several servers the one of --name.",
)
@click.option(
    "--listen",
    metavar="HOST:PORT",
    help="Also serve this machine's applications, and pass on what they ask.",
)
@control_options.caller_options
@control_options.message_limit_option
def command(**options: Any) -> None:
    """Attaches this server to a controller and keeps it attached: reports its graph, and holds its
    part of the plan of every channel.

    With --listen, programs of this machine meet those of others and open channels through it: set
    CROSSDOCK_CONTROL to its address. Rows do not pass through the agent: a program asks it which
    network devices a channel may use, and sends by itself.
    """
    from crossdock import control

    if options["machine"] is not None and options["path"] is not None:
        raise click.UsageError("--machine and --file exclude each other.")
    name = options["name"] or platform.node() or "host"
    topology = _topology(name, options["machine"], options["path"])
    settings = _settings(options)
    with control_options.until_stopped() as stopped:
        agent = control.native(lambda: control.module().Agent(name, topology, settings))
        try:
            if options["listen"] is not None:
                server = _local_server(options["listen"], settings)
                address = _listen(agent, server)
                output.say(f"ready    {name} serves applications at {address}")
            _watch(agent, name, settings, stopped)
        finally:
            agent.stop()
    output.say("stopped  by SIGTERM")


def _watch(
    agent: _control.Agent, name: str, settings: _control.ClientSettings, stopped: threading.Event
) -> None:
    """Says what changes, until it is stopped. Errors: ControlError that ends the agent."""
    from crossdock import control
    from crossdock.errors import from_native

    shown: tuple[str, str] | None = None
    joins_shown = 0
    refusals = control_options.RefusalWatch(agent)
    while not stopped.wait(LOOK_S):
        refusals.look()
        is_joined, trouble, joins, endpoints, channels = agent.state()
        if is_joined and joins != joins_shown:
            output.say(
                f"ready    {name} has joined {settings.address}: {endpoints} endpoints, "
                f"{channels} channels"
            )
            shown, joins_shown = None, joins
        elif trouble is not None and (news := (trouble[0], _SPAN.sub("", trouble[2]))) != shown:
            shown = news
            error = control.explained(from_native(Exception(*trouble)), settings)
            if error.code in FINAL and joins_shown == 0:
                raise error
            output.say(f"warn     {error.report()}")
            stay = "; open channels stay" if error.code == "CD-611" else ""
            output.say(f"         trying again{stay}")


def _topology(name: str, machine: str | None, path: str | None) -> str:
    """JSON of one server, which is called `name`."""
    from crossdock.errors import make_error
    from crossdock.machines.topology import Topology

    if machine is not None:
        # Of several, since only then the catalogue gives a server its way to the network.
        entry = next((m for m in Topology.machines() if m.name == machine), None)
        networked = entry is not None and entry.has_network and entry.servers == 1
        topology = Topology.machine(f"{machine}:2" if networked else machine)
    else:
        topology = Topology.host() if path is None else Topology.file(path)
    graph = topology.to_dict()
    servers = {server["name"]: server["shape"] for server in graph["servers"]}
    shape = servers.get(name, next(iter(servers.values())))
    if path is not None and len(servers) > 1 and name not in servers:
        raise make_error(
            "CD-601",
            f"{path!r} has {len(servers)} servers, and none is called {name!r}",
            servers=", ".join(list(servers)[:12]),
            try_="--name",
        )
    one = {"shapes": [graph["shapes"][shape]], "servers": [{"name": name, "shape": 0}]}
    return json.dumps({**graph, **one})


def _settings(options: dict[str, Any]) -> _control.ClientSettings:
    settings = control_options.caller_settings(options["address"], options)
    settings.message_bytes_max = control_options.message_bytes_of(options["message_limit"])
    return settings


def _local_server(listen: str, caller: _control.ClientSettings) -> _control.ServerSettings:
    """Applications need the same token as the agent, which would else lend them its own. Errors:
    ControlError (it would lend them its certificate)."""
    from crossdock import control
    from crossdock.errors import make_error

    if caller.security.certificate_pem and not caller.security.token:
        raise make_error(
            "CD-612",
            f"a process that reaches {listen} would speak to the controller with the certificate "
            "of this agent",
            try_="--token-file, which callers then need too",
        )
    server: _control.ServerSettings = control.module().ServerSettings()
    server.listen = listen
    server.security.token = caller.security.token
    server.message_bytes_max = caller.message_bytes_max
    return server


def _listen(agent: _control.Agent, server: _control.ServerSettings) -> str:
    """The address it serves at. Errors: ControlError."""
    from crossdock import control
    from crossdock.errors import ControlError, make_error

    try:
        return control.listening(lambda: agent.listen(server), server)
    except ControlError as error:
        if error.code != "CD-612":
            raise
        raise make_error(
            "CD-612",
            f"{server.listen} can be reached from other machines, and an agent serves its own",
            try_="127.0.0.1:7614  \u00b7  unix:/path",
        ) from None
