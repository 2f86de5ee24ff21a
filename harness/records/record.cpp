#include "harness/records/record.hpp"

namespace gla_bench {

std::string_view name(Status status) {
  switch (status) {
    case Status::measured:
      return "measured";
    case Status::verified:
      return "verified";
    case Status::wrong:
      return "wrong";
    case Status::rejected:
      return "rejected";
    case Status::left_out:
      return "left_out";
    case Status::build_failed:
      return "build_failed";
    case Status::run_failed:
      return "run_failed";
    case Status::crashed:
      return "crashed";
    case Status::timeout:
      return "timeout";
    case Status::built:
      return "built";
  }
  return "?";
}

std::string_view name(CounterSource source) {
  switch (source) {
    case CounterSource::cupti:
      return "cupti";
    case CounterSource::not_asked:
      return "not_asked";
    case CounterSource::absent:
      return "absent";
    case CounterSource::unsupported:
      return "unsupported";
    case CounterSource::denied:
      return "denied";
    case CounterSource::failed:
      return "failed";
  }
  return "?";
}

bool is_failure(Status status) {
  switch (status) {
    case Status::wrong:
    case Status::build_failed:
    case Status::run_failed:
    case Status::crashed:
    case Status::timeout:
      return true;
    case Status::measured:
    case Status::verified:
    case Status::rejected:
    case Status::left_out:
    case Status::built:
      return false;
  }
  return true;
}

RecordKey key_of(const Record& record) {
  return {record.problem, record.variant, record.backend, record.tile};
}

RecordKey key_of(const Candidate& candidate) {
  const Variant& variant = *candidate.variant;
  return {candidate.problem, variant.name, variant.backend, candidate.tile};
}

bool was_tried(const Record& record) {
  return record.status != Status::rejected && record.status != Status::left_out;
}

std::string describe(const RecordKey& key) {
  const auto& [problem, variant, backend, tile] = key;
  std::string text = variant + " [" + std::string(name(backend)) + "]";
  if (!tile.empty()) text += " " + describe(tile);
  return text + " on " + describe(problem);
}

std::string describe(const Record& record) {
  std::string text = std::string(name(record.status)) + " " + describe(key_of(record));
  if (!record.reason.empty()) text += ": " + record.reason;
  return text;
}

}  // namespace gla_bench
