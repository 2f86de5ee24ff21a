#include "harness/backends/counters.hpp"

#include <algorithm>
#include <array>

namespace gla_bench {
namespace {

constexpr std::string_view dram_read = "dram__bytes_read.sum";
constexpr std::string_view dram_write = "dram__bytes_write.sum";
constexpr std::string_view l2_traffic = "lts__t_bytes.sum";

constexpr std::string_view requests = "lts__t_sectors_srcunit_tex.sum";
constexpr double sector_bytes = 32;

constexpr std::array<std::string_view, 10> io_names{
    dram_read,
    dram_write,
    l2_traffic,
    requests,
    "lts__t_sectors_op_read.sum",
    "lts__t_sectors_op_write.sum",
    "gpu__time_duration.sum",
    "sm__cycles_elapsed.max",
    "sm__inst_executed_pipe_tensor.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"};

struct Chip {
  int arch;
  std::string_view name;
};

constexpr std::array<Chip, 10> chips{{{75, "TU102"},
                                      {80, "GA100"},
                                      {86, "GA102"},
                                      {87, "GA10B"},
                                      {89, "AD102"},
                                      {90, "GH100"},
                                      {100, "GB100"},
                                      {103, "GB110"},
                                      {120, "GB202"},
                                      {121, "GB20B"}}};

std::optional<double> figure(const Counts& counts, std::string_view metric) {
  const auto found = counts.find(std::string(metric));
  return found == counts.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

std::span<const std::string_view> io_metrics() {
  return io_names;
}

std::optional<double> requested_bytes(const CounterReading& reading) {
  const auto sectors = figure(reading.metrics, requests);
  return sectors ? std::optional(*sectors * sector_bytes) : std::nullopt;
}

std::vector<std::string> with_io_metrics(std::span<const std::string> more) {
  std::vector<std::string> names(io_names.begin(), io_names.end());
  for (const std::string& name : more)
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

std::optional<std::string_view> chip_of(int arch) {
  for (const Chip& chip : chips)
    if (chip.arch == arch) return chip.name;
  return std::nullopt;
}

CounterReading reading_of(const Counts& call, const Counts& write_back, int passes) {
  CounterReading reading;
  reading.source = CounterSource::cupti;
  reading.passes = passes;
  reading.metrics = call;
  reading.dram_read_bytes = figure(call, dram_read);
  reading.l2_bytes = figure(call, l2_traffic);
  reading.written_back_bytes = figure(write_back, dram_write);
  if (const auto during = figure(call, dram_write); during && reading.written_back_bytes)
    reading.dram_write_bytes = *during + *reading.written_back_bytes;
  return reading;
}

}  // namespace gla_bench
