"""Why fluid differs from packets in the table, with the test that shows it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cause:
    """A cause of differences between the models.

    Args:
        what: the differences in words.
        controllers, networks, measures: the differences that it explains; () for all.
        text: the cause.
        check: test that computes the evidence; "" if the cause is not traced.
    """

    what: str
    text: str
    controllers: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    check: str = ""

    def covers(self, network: str, controller: str, measure: str) -> bool:
        return all(
            not among or one in among
            for one, among in (
                (network, self.networks),
                (controller, self.controllers),
                (measure, self.measures),
            )
        )


CAUSES: tuple[Cause, ...] = ()
