#include "harness/support/printable.hpp"

#include <algorithm>

namespace gla_bench {
namespace {

constexpr std::string_view dots = "...";

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

}  // namespace

std::string printable(std::string_view text, std::size_t most) {
  std::size_t kept = text.size();
  if (kept > most) {
    kept = most - std::min(most, dots.size());
    while (kept > 0 && continues_character(text[kept])) --kept;
  }
  std::string clean(text.substr(0, kept));
  std::replace_if(clean.begin(), clean.end(), is_control, '?');
  // U+0080 to U+009F are control characters for terminals, too.
  for (std::size_t i = 0; i + 1 < clean.size(); ++i)
    if (clean[i] == '\xc2' && continues_character(clean[i + 1]) &&
        static_cast<unsigned char>(clean[i + 1]) < 0xa0)
      clean[i] = clean[i + 1] = '?';
  return kept < text.size() ? clean.append(dots) : clean;
}

std::string printable_ascii(std::string_view text, std::size_t most) {
  std::string clean = printable(text, most);
  std::replace_if(
      clean.begin(), clean.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return clean;
}

}  // namespace gla_bench
