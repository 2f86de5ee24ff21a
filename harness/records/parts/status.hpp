#pragma once
// What became of a candidate.

#include <array>
#include <string_view>

#include "harness/support/fields/fields.hpp"

namespace gla_bench {

enum class Status {
  measured,
  verified,
  wrong,
  rejected,
  left_out,  ///< it could have been tried, and the search (tune) skipped it
  build_failed,
  run_failed,  ///< it reported an error, and its process survived
  crashed,     ///< it ended its process or lost its device, also when tried again alone
  timeout,     ///< it was killed after the limit of a step
  built
};
std::string_view name(Status status);

template <>
struct EnumNames<Status> {
  static constexpr std::string_view expected = "a status";
  static constexpr std::array values{
      Status::measured,     Status::verified,   Status::wrong,   Status::rejected, Status::left_out,
      Status::build_failed, Status::run_failed, Status::crashed, Status::timeout,  Status::built};
};

/// True where a candidate was tried and is not right: wrong, build_failed, run_failed, crashed,
/// timeout.
bool is_failure(Status status);

}  // namespace gla_bench
