#include "fuzz/target.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "core/error.hpp"

namespace gla_bench::fuzz {
namespace {

constexpr std::size_t longest_message = 8000;

[[noreturn]] void give_up(const char* why, std::string_view text) {
  std::fprintf(stderr, "%s: %.*s\n", why, static_cast<int>(text.size()), text.data());
  std::abort();
}

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f;
}

}  // namespace

bool takes(const std::string& file, const std::function<void()>& read) {
  try {
    read();
    return true;
  } catch (const InputError& error) {
    const std::string_view message = error.what();
    if (message.find(file) == std::string_view::npos) give_up("no file is named", message);
    if (message.size() > longest_message)
      give_up("the message is too long", message.substr(0, 500));
    if (std::any_of(message.begin(), message.end(), is_control))
      give_up("the message is not printable", message);
    return false;
  }
}

void expect_same(const std::string& first, const std::string& second, const char* what) {
  if (first == second) return;
  const auto at = std::mismatch(first.begin(), first.end(), second.begin(), second.end()).first;
  const auto place = static_cast<std::size_t>(at - first.begin());
  const std::size_t from = place < 100 ? 0 : place - 100;
  std::fprintf(stderr, "%s\nfirst:  ...%s\nsecond: ...%s\n", what, first.substr(from, 300).c_str(),
               second.substr(from, 300).c_str());
  std::abort();
}

}  // namespace gla_bench::fuzz
