"""The command `chaosctl hurt`."""

from __future__ import annotations

import random
import secrets
from typing import TYPE_CHECKING, Any

import click

from chaos.faults import registry
from chaos.faults.parameters import SIGNED_SECONDS, form
from chaos.hurt.hurting import hurt
from chaos.hurt.options import place_options
from chaos.hurt.order import BARE, leads, order
from chaos.output import failures, output_option, show
from chaos.roles import ROLES
from component.clock import SystemClock
from component.console import note
from component.durations import DURATION
from component.progress import progress

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from chaos.hurt.places import Whereabouts


def hurt_command(stop: Callable[[], threading.Event]) -> click.Command:
    """The command; it has a flag for each fault that there is.

    Args:
        stop: Gives the event that Ctrl-C and its like set.
    """

    @click.command(
        "hurt",
        epilog=f"ROLE is one of {', '.join(role for role in ROLES if role != 'old-leader' and role[:5] != 'lock-')}.",
    )
    @click.argument("role", required=False)
    @place_options
    @click.option(
        "--for", "lasts", type=DURATION, help="How long it lasts; by default as it does by itself, else until Ctrl-C."
    )
    @click.option(
        "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A further parameter of the fault; repeatable."
    )
    @click.option("--seed", type=int, help="Decides what is left to chance; by default it is drawn.")
    @output_option
    def command(  # noqa: PLR0917
        role: str | None,
        where: Whereabouts,
        lasts: float | None,
        settings: tuple[str, ...],
        seed: int | None,
        form: str,
        **flags: str | None,
    ) -> None:
        """Hurt a running cluster once: whoever has ROLE now, or all of it. Ctrl-C heals at once.

        The proof that it took effect is told when there is one, and the proof that it was undone at the end; the exit
        code is 1 when one of them can't be had.

        \b
        chaosctl hurt leader --kill
        chaosctl hurt leader --pause 20s
        chaosctl hurt standby --cut etcd --for 10s
        chaosctl hurt --quorum-loss 5s
        chaosctl hurt leader --isolate --for 20s --project lockd
        """  # noqa: D301  # click takes a backspace for lines that stay as they are
        named = {name.replace("_", "-"): value for name, value in flags.items()}
        with failures():
            asked = order(role, named, settings, lasts)
            seed = secrets.randbelow(2**32) if seed is None else seed
            with progress() as told:
                done = hurt(
                    where,
                    asked,
                    stop=stop(),
                    random=random.Random(seed),  # noqa: S311  # no secret is drawn
                    clock=SystemClock(),
                    told=told,
                    tell=note,
                )
        show({**done.document(), "seed": seed}, form, [f"healed: {done.healing}"])

    command.params.extend(_flag(name) for name in registry.FAULTS)
    return command


def _flag(name: str) -> click.Option:
    fault = registry.FAULTS[name]
    leading = leads(fault)
    word = leading.replace("_", "-").upper() if leading is not None else "DURATION"
    optional: dict[str, Any] = {"is_flag": False, "flag_value": BARE, "metavar": f"[{word}]"}
    signed = leading is not None and form(fault, leading) is SIGNED_SECONDS  # click takes `-1h` only where it must
    return click.Option([f"--{name}"], help=registry.brief(fault), **({"metavar": word} if signed else optional))
