#!/usr/bin/env python3
"""The coefficients of erf in compiler/codegen/loops/MathF64.cpp: polynomials through Chebyshev's nodes. Needs mpmath (pip); prints them with the errors."""

import mpmath

mpmath.mp.dps = 60


def through_nodes(function, low, high, degree):
    """By powers of x - middle, the lowest first."""
    middle, half = (low + high) / 2, (high - low) / 2
    nodes = [mpmath.cos(mpmath.pi * (2 * k + 1) / (2 * degree + 2)) for k in range(degree + 1)]
    powers = mpmath.matrix([[node**i for i in range(degree + 1)] for node in nodes])
    values = mpmath.matrix([function(middle + half * node) for node in nodes])
    return middle, [c / half**i for i, c in enumerate(mpmath.lu_solve(powers, values))]


def about_zero(middle, coefficients):
    moved = [mpmath.mpf(0)] * len(coefficients)
    for i, c in enumerate(coefficients):
        for k in range(i + 1):
            moved[k] += c * mpmath.binomial(i, k) * (-middle) ** (i - k)
    return moved


def near(square):
    """erf(x) / x - 1 by x^2."""
    x = mpmath.sqrt(square)
    return mpmath.erf(x) / x - 1


def far(u):
    """erfc(x) exp(x^2) by 1 / (2 + x)."""
    x = 1 / u - 2
    return mpmath.erfc(x) * mpmath.exp(x * x)


def show(name, function, low, high, degree, weight, move):
    middle, coefficients = through_nodes(function, low, high, degree)
    places = [low + (high - low) * (i + mpmath.mpf(1) / 2) / 1000 for i in range(1000)]
    error = max(abs(mpmath.polyval(coefficients[::-1], x - middle) - function(x)) * weight(x) for x in places)
    if move:
        middle, coefficients = 0, about_zero(middle, coefficients)
    print(f"{name}: of x - {mpmath.nstr(middle, 17)}, error {mpmath.nstr(error, 3)}\n  " + ", ".join(mpmath.nstr(c, 18) for c in coefficients[::-1]))


show("near", near, mpmath.mpf(0), mpmath.mpf(1), 11, lambda _: 1, move=True)
show("far", far, mpmath.mpf(1) / 8, mpmath.mpf(1) / 3, 14, lambda u: mpmath.exp(-((1 / u - 2) ** 2)), move=False)
