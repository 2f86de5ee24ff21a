#include "harness/support/output_target.hpp"

#include <charconv>
#include <filesystem>
#include <optional>

namespace gla_bench {
namespace {

namespace fs = std::filesystem;

constexpr int most_links = 40;  // as many as the system follows

/// The number of an entry of /proc/self/fd. Opening the entry would give another position in the
/// file than what is written to the descriptor has.
std::optional<int> own_descriptor(const fs::path& path) {
  std::error_code error;
  const fs::path folder =
      fs::canonical(path.parent_path().empty() ? "." : path.parent_path(), error);
  if (error || folder != fs::canonical("/proc/self/fd", error) || error) return std::nullopt;
  const std::string name = path.filename().string();
  int number = -1;
  const auto [end, fault] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (fault != std::errc{} || end != name.data() + name.size() || number < 0) return std::nullopt;
  return number;
}

OutputTarget::Kind kind_of(const fs::path& path) {
  std::error_code error;
  switch (fs::status(path, error).type()) {
    case fs::file_type::directory:
      return OutputTarget::Kind::folder;
    case fs::file_type::block:
      return OutputTarget::Kind::disk;
    case fs::file_type::character:
    case fs::file_type::fifo:
    case fs::file_type::socket:
      return OutputTarget::Kind::special;
    default:
      return OutputTarget::Kind::file;
  }
}

}  // namespace

OutputTarget output_target(const std::string& path) {
  fs::path at = path;
  for (int followed = 0; followed < most_links; ++followed) {
    if (const auto number = own_descriptor(at))
      return {OutputTarget::Kind::open_descriptor, at.string(), *number};
    std::error_code error;
    if (!fs::is_symlink(fs::symlink_status(at, error))) break;
    const fs::path next = fs::read_symlink(at, error);
    if (error) break;
    at = next.is_absolute() ? next : at.parent_path() / next;
    if (followed + 1 == most_links)  // what opens it is told so
      return {OutputTarget::Kind::special, at.string(), -1};
  }
  return {kind_of(at), at.string(), -1};
}

}  // namespace gla_bench
