"""What makes a function of the residual a loss that bears wrong distances."""

from __future__ import annotations

import numpy as np
import pytest

from robustmds.losses import LOSSES

SCALE = 0.7
SIZES = np.concatenate([[0.0], np.geomspace(1e-6, 1e3, 400)])
every_loss = pytest.mark.parametrize("loss", [loss(SCALE) for loss in LOSSES.values()])


@every_loss
def test_psi_is_the_slope_of_rho(loss):
    e, h = np.linspace(-5, 5, 1001), 1e-5
    slope = (loss.rho(e + h) - loss.rho(e - h)) / (2 * h)
    np.testing.assert_allclose(loss.psi(e), slope, rtol=0, atol=1e-9 + h)


@every_loss
def test_the_weight_is_one_at_no_residual_and_falls_with_its_size(loss):
    weight = loss.weight(SIZES)
    assert weight[0] == 1.0
    assert (np.diff(weight) <= 0).all()
    assert (weight >= 0).all()
    assert weight[-1] < 1e-2
    np.testing.assert_array_equal(loss.weight(-SIZES), weight)


@every_loss
def test_a_small_residual_costs_half_its_square_and_a_large_one_much_less(loss):
    small = 1e-4 * SCALE
    np.testing.assert_allclose(loss.rho(np.array([small])), small**2 / 2, rtol=1e-6)
    assert loss.rho(np.array([100.0]))[0] < 0.05 * 100.0**2 / 2
    np.testing.assert_array_equal(loss.rho(-SIZES), loss.rho(SIZES))


@every_loss
def test_the_square_with_the_weight_lies_above_the_loss_and_touches_it(loss):
    # What half-quadratic minimisation rests on: rho(e) <= rho(a) + weight(a) (e^2 - a^2) / 2.
    e = np.linspace(-5, 5, 501)
    for a in (0.0, 0.1, 0.7, 3.0):
        at = np.array([a])
        square = loss.rho(at) + loss.weight(at) * (e**2 - a**2) / 2
        assert (square - loss.rho(e) >= -1e-14).all()


@every_loss
def test_the_square_about_the_shifted_residual_lies_above_the_loss(loss):
    # And the additive form: rho(e) <= rho(a) + psi(a) (e - a) + (e - a)^2 / 2.
    e = np.linspace(-5, 5, 501)
    for a in (0.0, 0.1, 0.7, 3.0):
        at = np.array([a])
        square = loss.rho(at) + loss.psi(at) * (e - a) + (e - a) ** 2 / 2
        assert (square - loss.rho(e) >= -1e-14).all()
