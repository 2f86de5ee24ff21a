#pragma once
// Formats numbers the way reports write them. A number that is not known (NaN) is "-". The page
// writes the same digits by the same rules (page/figures/units.js). A table of numbers that both
// are tested with keeps the two in agreement.

#include <limits>
#include <string>

namespace gla_bench {

/// A number that is not known.
inline constexpr double unknown_number = std::numeric_limits<double>::quiet_NaN();

/// The shortest text that is read as the same number, whatever the locale.
std::string format_exact(double value);

/// Formats by a printf format for one double.
std::string format_number(double value, const char* format);

/// The nearest number with that many significant digits. NaN and the infinities are returned as
/// they are.
double round_to(double value, int digits);

/// A number of that many significant digits which, rounded to fewer of them, gives what the whole
/// number gives. Rounding twice would not: 0.0028499968 is 0.0028500 with five digits and 0.0029
/// with two, where the number itself is 0.0028. NaN and the infinities are returned as they are.
double shorten_to(double value, int digits);

/// Writes that many significant digits without an exponent, zeros included. Digits before the point
/// are never left out: "0.1698", "12.30", "12345". A number that lies halfway is rounded away from
/// zero.
std::string format_digits(double value, int digits);

/// Three digits without zeros at the end: "1.5", "679".
std::string format_short(double value);

/// Milliseconds with four digits: "0.1698", "12.35", "123.4".
std::string format_ms(double ms);

/// A rate with three digits: "0.198", "30.0", "3301".
std::string format_rate(double rate);

/// A share as percent: "94 %", "9.4 %", "0.4 %", "0.03 %".
std::string format_percent(double share);

/// A factor with two digits behind the point, from 10 on with one, from 100 on with none: "1.53".
std::string format_factor(double factor);

/// "1.53x"
std::string format_times(double ratio);

/// An error as "1.7e-3".
std::string format_error(double error);

/// A ratio of times as a change: 1.034 is "+3.40 %".
std::string format_change(double ratio);

/// Joules in a unit that fits: "12.3 mJ", "2.5 J".
std::string format_joules(double joules);

}  // namespace gla_bench
