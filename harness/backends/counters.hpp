#pragma once
// Which metrics the device is asked to count, and how their values are used. All functions are
// pure, so they are tested with plain numbers.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/backend.hpp"

namespace gla_bench {

/// The metrics of every counted call. On chips of compute capability 8.0 to 10.0 they fit into one
/// pass, so the call runs only once and its inputs are still the original ones.
std::span<const std::string_view> io_metrics();

/// L2 traffic requested by the SMs, in bytes read and written, from a reading's metrics. Nothing
/// where it was not counted. A variant whose blocks read the same data repeatedly requests far more
/// than device memory has to deliver.
std::optional<double> requested_bytes(const CounterReading& reading);

/// The metrics of io_metrics(), then those that a config adds, each once.
std::vector<std::string> with_io_metrics(std::span<const std::string> more);

/// The profiler's name of the chip with this compute capability (90: "GH100"), or nothing for an
/// unknown one. A device reports its own chip. This function is for planning without a device.
std::optional<std::string_view> chip_of(int arch);

/// Counted values by metric.
using Counts = std::map<std::string, double>;

/// Forms a reading from two ranges of work that were counted one after the other. The first is the
/// call itself, starting with an empty cache. The second reads a clean buffer of several times the
/// cache's size, which evicts what the call left modified. Only the memory writes of the second
/// range belong to the call.
CounterReading reading_of(const Counts& call, const Counts& write_back, int passes);

}  // namespace gla_bench
