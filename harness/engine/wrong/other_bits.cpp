#include "harness/engine/wrong/other_bits.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <sstream>

#include "harness/engine/damage.hpp"
#include "harness/engine/wrong/where_wrong.hpp"
#include "harness/verify/verify.hpp"

namespace gla_bench {
namespace {

/// Where an output has other bits than the first call's; nothing where it has none.
std::optional<OtherBits> compare_bits(const TensorSpec& spec, const std::vector<float>& first_call,
                                      const std::vector<float>& values) {
  OtherBits other{.tensor = spec.name, .first = "", .last = ""};
  const std::int64_t row = spec.extents.empty() ? 1 : spec.extents.back();
  std::int64_t last = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(values[i]) == std::bit_cast<std::uint32_t>(first_call[i]))
      continue;
    const auto at = static_cast<std::int64_t>(i);
    if (other.elements == 0 || at / row != last / row) ++other.rows;
    if (other.elements++ == 0) other.first = index_text(spec, at);
    last = at;
    const double distance = std::abs(static_cast<double>(values[i]) - first_call[i]);
    if (!(distance <= other.largest)) other.largest = distance;
  }
  if (other.elements == 0) return std::nullopt;
  other.last = index_text(spec, last);
  return other;
}

std::uint64_t call_poisoned(Workset& workset, Plan& plan) {
  poison_before_timing(workset, plan);
  plan.run();
  return workset.outputs_fingerprint();
}

}  // namespace

RepeatedCalls call_repeatedly(const Operator& op, const Candidate& candidate, Workset& workset,
                              Plan& plan, int calls, int at_most) {
  const std::uint64_t expected = call_poisoned(workset, plan);
  const HostTensors first_call = workset.download_outputs();
  RepeatedCalls result{.calls = 1};
  while (result.calls < calls) {
    const std::uint64_t fingerprint = call_poisoned(workset, plan);
    ++result.calls;
    if (fingerprint == expected) continue;
    if (result.others++ >= at_most) continue;
    const HostTensors& outputs = workset.download_outputs();
    for (const TensorSpec& spec : op.tensors(candidate.problem)) {
      if (spec.role != TensorSpec::Role::output) continue;
      if (auto other = compare_bits(spec, first_call.at(spec.name), outputs.at(spec.name))) {
        other->call = result.calls;
        result.told.push_back(std::move(*other));
      }
    }
  }
  expect_no_damage(candidate, workset, plan);
  return result;
}

std::string describe(const OtherBits& other) {
  std::ostringstream text;
  text << "call " << other.call << ": '" << other.tensor << "' has other bits in " << other.elements
       << " element" << (other.elements == 1 ? "" : "s") << " of " << other.rows << " row"
       << (other.rows == 1 ? "" : "s") << ", from " << other.first << " to " << other.last
       << ", by up to " << other.largest;
  return text.str();
}

}  // namespace gla_bench
