#include "harness/engine/damage.hpp"

#include "core/error.hpp"

namespace gla_bench {

void expect_no_damage(const Candidate& candidate, Workset& workset, Plan& plan) {
  for (const auto& damage : {workset.damage(), plan.damage()})
    if (damage) throw RunError(describe(candidate) + ": " + *damage);
}

}  // namespace gla_bench
