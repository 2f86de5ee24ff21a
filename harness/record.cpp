#include "harness/record.hpp"

#include <utility>

namespace gla_bench {
namespace {

constexpr std::array<std::pair<Status, std::string_view>, 7> status_names{
    {{Status::measured, "measured"},
     {Status::verified, "verified"},
     {Status::wrong, "wrong"},
     {Status::rejected, "rejected"},
     {Status::build_failed, "build_failed"},
     {Status::run_failed, "run_failed"},
     {Status::built, "built"}}};

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

}  // namespace gla_bench
