#include "harness/engine/sustained.hpp"

#include "core/error.hpp"
#include "harness/measure/measure.hpp"

namespace gla_bench {
namespace {

/// Empty where there is not enough memory for all of them.
std::vector<std::unique_ptr<Workset>> copies_of(Workset& workset, std::size_t count) {
  std::vector<std::unique_ptr<Workset>> copies;
  try {
    while (copies.size() < count) {
      auto copy = workset.copy();
      if (!copy) break;
      copies.push_back(std::move(copy));
    }
  } catch (const OutOfMemory&) {
    copies.clear();
  }
  return copies;
}

std::vector<Workset*> worksets_beyond_cache(Workset& workset, Staged& staged, double cache) {
  double bytes = 0;
  for (const TensorSpec& spec : staged.truth->op().tensors(staged.truth->problem()))
    if (spec.in_place_of.empty()) bytes += static_cast<double>(spec.bytes());
  const auto count = copies_beyond_cache(bytes, cache);
  if (!count) return {};
  if (!staged.copies) staged.copies = copies_of(workset, *count - 1);
  if (staged.copies->size() + 1 != *count) return {};
  std::vector<Workset*> list{&workset};
  for (const auto& copy : *staged.copies) list.push_back(copy.get());
  return list;
}

}  // namespace

void add_sustained_time(const Looked& looked, Staged& staged, const RunRules& rules,
                        Record& record) {
  if (!rules.timing.sustained) return;
  const std::vector<Workset*> worksets =
      worksets_beyond_cache(looked.workset, staged, rules.last_level_cache);
  if (worksets.empty()) return;
  for (Workset* each : worksets) each->poison_outputs();
  Timing& timing = *record.timing;
  timing.sustained =
      measure_sustained(looked.plan, worksets, timing.cold.median_ms * 1e-3, rules.timing);
  if (!timing.sustained) return;
  timing.sustained_copies = static_cast<std::int64_t>(worksets.size());
  look_at_copies(looked, worksets, *record.verification);
  looked.workset.poison_outputs();  // and what is updated in place is as it was
}

}  // namespace gla_bench
