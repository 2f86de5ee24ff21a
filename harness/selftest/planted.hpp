#pragma once
// Deliberate faults: variants of `gla` behind the usual interface that commit one fault each, and
// the same code without a fault. Only the self-test's workers know them.

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/catalog.hpp"
#include "harness/backends/backend.hpp"
#include "harness/selftest/expected.hpp"
#include "harness/selftest/planted_faults.h"

namespace gla_bench::planted {

struct PlantedFault {
  Fault fault;
  std::string_view name;     ///< of the variant
  std::string_view meaning;  ///< one line
  std::string_view check;    ///< that has to catch it (checks.hpp)
  std::string_view control;  ///< the same candidate without the fault
  bool host_only = false;
};

/// In the order in which they are tried.
std::span<const PlantedFault> faults();

/// The candidates without a fault; they have neither check nor control.
std::span<const PlantedFault> controls();

/// The controls and then the faults on a backend, in the order in which they are tried.
std::vector<selftest::Expected> expected(BackendId backend);

/// The program's operators and, on both backends, a variant for each fault and for each control.
Catalog catalog();

/// The problem that a variant solves: two sequences, two heads and five chunks, of which the last
/// is not full. It is in float32 for all but two of them.
Problem problem(std::string_view variant = "honest");

/// A backend that runs everything as the wrapped one does, except that its timer does not wait for
/// the variants `cheating_timer`, whose work is done before its outputs are read, and
/// `side_stream`, whose work is done after that.
std::unique_ptr<Backend> with_cheating_timer(std::unique_ptr<Backend> honest);

/// The two functions that make the variants of catalog().
Variant host_variant(Fault fault, std::string_view name);
Variant cuda_variant(Fault fault, std::string_view name);

}  // namespace gla_bench::planted
