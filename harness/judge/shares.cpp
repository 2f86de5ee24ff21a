#include "harness/judge/shares.hpp"

#include <map>
#include <tuple>
#include <utility>

#include "harness/support/numbers.hpp"

namespace gla_bench {

std::vector<Share> shares_of(std::span<const Results> files) {
  using Group = std::tuple<std::string, Direction, DType, std::string, BackendId>;
  std::map<Group, std::map<Problem, bool>> groups;  // by problem: whether it was taken
  for (const Results& results : files)
    for (const Record& record : results.records) {
      if (measured_elsewhere(record)) continue;
      const Problem& problem = record.problem;
      bool& taken = groups[{problem.op, problem.direction, problem.dtype, record.variant,
                            record.backend}][problem];
      taken = taken || record.status != Status::rejected;
    }
  std::vector<Share> shares;
  for (const auto& [group, problems] : groups) {
    const auto& [op, direction, dtype, variant, backend] = group;
    Share share{op, direction, dtype, variant, backend, problems.size(), 0};
    for (const auto& [problem, taken] : problems) share.taken += taken ? 1 : 0;
    shares.push_back(std::move(share));
  }
  return shares;
}

std::vector<Share> refusing_shares(std::span<const Results> files) {
  std::vector<Share> shares = shares_of(files);
  std::erase_if(shares, [](const Share& share) { return share.taken == share.problems; });
  return shares;
}

std::string sentence(const Share& share) {
  return "took " + std::to_string(share.taken) + " of " + std::to_string(share.problems) +
         " problems (" + format_percent(share.value()) + "): " + describe(share);
}

std::string describe(const Share& share) {
  return share.variant + " [" + std::string(name(share.backend)) + "] of " + share.op + " " +
         std::string(name(share.direction)) + " " + std::string(name(share.dtype));
}

}  // namespace gla_bench
