#pragma once
// Which figures the device is asked to count, and what is made of them. Pure: tested with numbers.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/backend.hpp"

namespace gla_bench {

/// The figures that every counted call has. On the chips of compute capability 8.0 to 10.0 they fit
/// into one pass, so that the call runs once and its inputs are what they were.
std::span<const std::string_view> io_metrics();

/// Bytes that the multiprocessors asked the last-level cache for, read and written, out of a
/// reading's metrics; nothing where they were not counted. A variant whose blocks read the same
/// data again and again asks for far more than memory has to deliver.
std::optional<double> requested_bytes(const CounterReading& reading);

/// Those, then what a config asks for besides, each once.
std::vector<std::string> with_io_metrics(std::span<const std::string> more);

/// The profiler's name of the chip with this compute capability (90: "GH100"), or nothing for one
/// that is not known here. A device names its chip itself; this is for planning without one.
std::optional<std::string_view> chip_of(int arch);

/// Figures by metric.
using Counts = std::map<std::string, double>;

/// A reading out of two ranges of work that were counted one after the other: the call itself, from
/// an emptied cache on, and then reading a clean buffer of several times the cache's size. The
/// second evicts what the call left modified in the cache: its writes to memory are the call's, and
/// nothing else of it is.
CounterReading reading_of(const Counts& call, const Counts& write_back, int passes);

}  // namespace gla_bench
