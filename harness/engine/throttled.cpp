#include "harness/engine/throttled.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>

namespace gla_bench {

std::vector<Assignment> throttled_work(std::span<const Assignment> work,
                                       std::span<const Record> records) {
  std::set<RecordKey> throttled;
  for (const Record& record : records)
    if (record.status == Status::measured && record.timing && record.timing->throttled &&
        !record.throttled_timing)
      throttled.insert(key_of(record));
  std::vector<Assignment> again;
  for (const Assignment& point : work) {
    Assignment left = point;
    left.refused.clear();
    left.narrowed = 0;
    std::erase_if(left.accepted, [&](const Candidate& candidate) {
      return !throttled.contains(key_of(candidate));
    });
    if (!left.accepted.empty()) again.push_back(std::move(left));
  }
  return again;
}

Record measured_again(Record second, const Record& first) {
  if (second.timing) {
    second.throttled_timing = first.timing;
    return second;
  }
  Record kept = first;
  kept.throttled_timing = first.timing;
  kept.reason = "throttled, and not measured again: " + std::string(name(second.status)) +
                (second.reason.empty() ? "" : ", " + second.reason);
  // A candidate that succeeds once and fails the second time is not a measured row.
  if (is_failure(second.status)) kept.status = second.status;
  return kept;
}

const Record& replace_throttled(std::vector<Record>& records, const Record& second) {
  const RecordKey key = key_of(second);
  const auto first = std::find_if(records.begin(), records.end(),
                                  [&](const Record& record) { return key_of(record) == key; });
  if (first == records.end()) throw std::out_of_range("no first record of " + describe(second));
  *first = measured_again(second, *first);
  return *first;
}

}  // namespace gla_bench
