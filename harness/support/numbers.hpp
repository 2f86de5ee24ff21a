#pragma once
// Numbers as reports write them. What is not known (NaN) is "-".

#include <limits>
#include <string>

namespace gla_bench {

/// A number that is not known.
inline constexpr double unknown_number = std::numeric_limits<double>::quiet_NaN();

/// By a printf format of one double.
std::string format_number(double value, const char* format);

/// Milliseconds with four digits or so: "0.1698", "12.35", "123.4".
std::string format_ms(double ms);

/// A share as percent: "94 %", below a tenth "9.4 %".
std::string format_percent(double share);

/// "1.53x"
std::string format_times(double ratio);

/// A ratio of times as a change: 1.034 is "+3.40 %".
std::string format_change(double ratio);

/// Joules in a unit that fits: "12.3 mJ", "2.5 J".
std::string format_joules(double joules);

}  // namespace gla_bench
