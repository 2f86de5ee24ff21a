#include "harness/records/record.hpp"

#include <utility>

namespace gla_bench {
namespace {

constexpr std::array<std::pair<Status, std::string_view>, 10> status_names{
    {{Status::measured, "measured"},
     {Status::verified, "verified"},
     {Status::wrong, "wrong"},
     {Status::rejected, "rejected"},
     {Status::left_out, "left_out"},
     {Status::build_failed, "build_failed"},
     {Status::run_failed, "run_failed"},
     {Status::crashed, "crashed"},
     {Status::timeout, "timeout"},
     {Status::built, "built"}}};

constexpr std::array<std::pair<CounterSource, std::string_view>, 6> source_names{
    {{CounterSource::cupti, "cupti"},
     {CounterSource::not_asked, "not_asked"},
     {CounterSource::absent, "absent"},
     {CounterSource::unsupported, "unsupported"},
     {CounterSource::denied, "denied"},
     {CounterSource::failed, "failed"}}};

}  // namespace

std::string_view name(Status status) {
  for (const auto& [value, text] : status_names)
    if (value == status) return text;
  return "?";
}

std::optional<Status> parse_status(std::string_view text) {
  for (const auto& [value, name] : status_names)
    if (name == text) return value;
  return std::nullopt;
}

std::string status_list() {
  std::string list;
  for (const auto& [value, text] : status_names) {
    if (!list.empty()) list += ", ";
    list += text;
  }
  return list;
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

bool was_tried(const Record& record) {
  return record.status != Status::rejected && record.status != Status::left_out;
}

std::string_view name(CounterSource source) {
  for (const auto& [value, text] : source_names)
    if (value == source) return text;
  return "?";
}

std::optional<CounterSource> parse_counter_source(std::string_view text) {
  for (const auto& [value, name] : source_names)
    if (name == text) return value;
  return std::nullopt;
}

std::string describe(const Record& record) {
  std::string text(name(record.status));
  text += " " + record.variant + " [" + std::string(name(record.backend)) + "]";
  if (!record.tile.empty()) text += " " + describe(record.tile);
  text += " on " + describe(record.problem);
  if (!record.reason.empty()) text += ": " + record.reason;
  return text;
}

}  // namespace gla_bench
