"""Joins over MPI ranks as the simulator predicts them, and how many runs are near."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from sim.predicted_run import PredictedRun
from sim.rank_joins import JOINS, RankJoin
from sim.workloads import rows_of_runs


@pytest.mark.parametrize("join", JOINS[:7], ids=lambda join: join.what)
def test_joins_of_twice_the_rows_take_twice_as_long(join: RankJoin) -> None:
    twice = replace(join, build=2 * join.build, probe=2 * join.probe)
    assert twice.simulated_s() == pytest.approx(2 * join.simulated_s(), rel=0.25)


def test_ranks_without_cores_of_their_own_take_turns() -> None:
    cores = os.cpu_count() or 1
    alone, shared = (RankJoin(ranks, "radix", 20, 20).simulated_s() for ranks in (cores, 8 * cores))
    assert shared > 0.9 * alone  # as many rows for as many cores


def test_a_broadcast_of_few_rows_moves_less_and_partitions_again() -> None:
    few, many = (RankJoin(2, "radix", build, 16, "broadcast") for build in (1, 16))
    assert many.simulated_s() > replace(many, exchange="repartition").simulated_s()
    assert few.simulated_s() < many.simulated_s()


def test_far_runs_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    runs = [PredictedRun(f"run {i}", 1.0, 1.0 + error) for i, error in enumerate((0.1, -0.1, 0.3))]
    far, mean = rows_of_runs("mpi", "joins", iter(runs))
    assert (far.name, far.what, far.value) == ("mpi-far", "3 joins: not within 20 %", 1 / 3)
    assert mean.value == pytest.approx(0.5 / 3)
    assert not far.met
    assert "+30.0%" in capsys.readouterr().out
