"""crossdock controller: the service that knows the machines and opens channels among them."""

from __future__ import annotations

from typing import Any

import click

from crossdock_cli import command as verbs
from crossdock_cli import control_options, output

WAIT_S = 0.5


@verbs.verb(
    "controller",
    examples=(
        "crossdock controller",
        "crossdock controller --listen 127.0.0.1:0",
        "crossdock controller --listen 0.0.0.0:7613 --tls-cert c.pem --tls-key k.pem "
        "--token-file t",
    ),
    short_help="Serve channels among the servers of a cluster.",
    epilog="Ends on Ctrl-C (exit code 130) and on SIGTERM (0). It keeps nothing on disk: started "
    "again, it learns from its agents what there is. Open channels do not notice.",
)
@click.option("--listen", metavar="HOST:PORT", default=control_options.ADDRESS, show_default=True,
              help="Address and port; port 0 takes a free one.")  # fmt: skip
@click.option(
    "--tls-cert", metavar="FILE", help="Certificate of this server and its chain, as PEM."
)
@click.option("--tls-key", metavar="FILE", help="Its key, as PEM.")
@click.option("--client-ca", metavar="FILE",
              help="Authority that must have signed the callers' certificates.")  # fmt: skip
@control_options.token_file_option
@click.option("--insecure", is_flag=True,
              help="Listen beyond this machine without TLS and token.")  # fmt: skip
@click.option("--heartbeat", metavar="S", type=click.FloatRange(0.01, 60), default=1.0,
              show_default=True, help="Seconds between signs of life of an agent.")  # fmt: skip
@click.option("--lost-after", metavar="S", type=click.FloatRange(0.05, 3600), default=5.0,
              show_default=True,
              help="Silence after which an agent's channels are closed.")  # fmt: skip
@click.option(
    "--recover-within",
    metavar="S",
    type=click.FloatRange(0, 3600),
    default=30.0,
    show_default=True,
    help="Time that agents have to come back after a start; who asks for others waits.",
)
@click.option("--agents-max", metavar="N", type=click.IntRange(1, 65_536), default=65_536,
              show_default=True, help="Agents that may join.")  # fmt: skip
@click.option("--endpoints-max", metavar="N", type=click.IntRange(1, 65_536), default=65_536,
              show_default=True, help="Endpoints that may exist.")  # fmt: skip
@click.option("--channels-max", metavar="N", type=click.IntRange(1, 65_536), default=65_536,
              show_default=True, help="Channels that may be open.")  # fmt: skip
@control_options.message_limit_option
def command(**options: Any) -> None:
    """Serves channels among the servers of a cluster: agents join it with the graphs of their
    servers, applications ask it for endpoints and channels.

    Listens on this machine alone unless --listen says otherwise, which then needs TLS and a token.
    Answers gRPC's health service and reflection beside its own.
    """
    from crossdock import control
    from crossdock.errors import make_error

    native = control.module()
    server, limits = _server_settings(options), native.ControllerSettings()
    limits.heartbeat_s, limits.lost_after_s = options["heartbeat"], options["lost_after"]
    if limits.lost_after_s < 2 * limits.heartbeat_s:
        raise make_error(
            "CD-105",
            f"--lost-after is {limits.lost_after_s:g} s, and --heartbeat {limits.heartbeat_s:g} s",
            limits="--lost-after is at least twice --heartbeat",
            try_=f"--lost-after {2 * limits.heartbeat_s:g}",
        )
    limits.recover_within_s = options["recover_within"]
    limits.agents_max = options["agents_max"]
    limits.endpoints_max = options["endpoints_max"]
    limits.channels_max = options["channels_max"]
    with control_options.until_stopped() as stopped:
        process = control.listening(lambda: native.Controller(server, limits), server)
        try:
            if options["insecure"]:
                output.say(
                    f"warn     --insecure: any process that reaches {process.address} may use it; "
                    "give --tls-cert, --tls-key and --token-file where others can"
                )
            output.say(f"ready    controller at {process.address}")
            refusals = control_options.RefusalWatch(process)
            while not stopped.wait(WAIT_S):
                refusals.look()
        finally:
            process.stop()
    output.say("stopped  by SIGTERM")


def _server_settings(options: dict[str, Any]) -> Any:
    from crossdock import control
    from crossdock.settings import setting

    settings = control.module().ServerSettings()
    settings.listen = options["listen"]
    security = settings.security
    security.certificate_pem = control.read_pem(options["tls_cert"])
    security.key_pem = control.read_pem(options["tls_key"])
    security.client_ca_pem = control.read_pem(options["client_ca"])
    security.token = setting("control_token", control_options.token_of(options["token_file"]))
    security.is_insecure = options["insecure"]
    settings.message_bytes_max = control_options.message_bytes_of(options["message_limit"])
    return settings
