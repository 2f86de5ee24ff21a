"""Numbers as the program's reports and the page write them.

The rules are those of harness/support/numbers.cpp and page/figures/units.js; a table of numbers,
tests/harness/support/formatted_numbers.json, holds the three together. What is not known (None) is "-".
"""

from decimal import ROUND_HALF_UP, Decimal

MISSING = "-"


def known(show):
    """The same for None, which is "-"."""
    return lambda value: MISSING if value is None else show(value)


def fixed(value, decimals):
    """So many digits behind the point; what lies halfway is rounded away from zero."""
    return str(Decimal(value).quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP))


def digits(value, most):
    """So many significant digits without an exponent, zeros included; digits before the point stay."""
    number = Decimal(value)
    if number == 0:
        return fixed(0, most - 1)
    step = Decimal(1).scaleb(number.adjusted() - most + 1)
    exponent = number.quantize(step, rounding=ROUND_HALF_UP).adjusted()
    return fixed(value, max(0, most - 1 - exponent))


def without_zeros(text):
    return text.rstrip("0").rstrip(".") if "." in text else text


def scientific(value, most):
    number = Decimal(value)
    step = Decimal(1).scaleb(number.adjusted() - most + 1)
    rounded = number.quantize(step, rounding=ROUND_HALF_UP)
    exponent = rounded.adjusted()
    return f"{fixed(rounded.scaleb(-exponent), most - 1)}e{exponent}"


def percent_of(share):
    value = 100 * share
    size = abs(value)
    if size == 0 or size >= 9.95:
        return fixed(value, 0) + " %"
    if size >= 0.095:
        return fixed(value, 1) + " %"
    return (digits(value, 1) if size >= 0.00095 else scientific(value, 1)) + " %"


def factor_of(value):
    return fixed(value, 2 if value < 9.995 else 1 if value < 99.95 else 0)


def bytes_of(value):
    units = ["B", "kB", "MB", "GB", "TB"]
    unit = 0
    while value >= 1000 and unit + 1 < len(units):
        value, unit = value / 1000, unit + 1
    return f"{short(value) if value else 0} {units[unit]}"


ms = known(lambda value: digits(value, 4))
rate = known(lambda value: digits(value, 3))
short = known(lambda value: without_zeros(digits(value, 3)))
percent = known(percent_of)
factor = known(factor_of)
error = known(lambda value: "0" if value == 0 else scientific(value, 2))
joules = known(lambda value: f"{short(value * 1e3)} mJ" if value < 1 else f"{short(value)} J")
size = known(bytes_of)
