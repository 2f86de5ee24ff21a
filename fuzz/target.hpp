#pragma once
// What every target shares: bad input must give InputError that names its file, and nothing else.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace gla_bench::fuzz {

/// The input as text.
inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Whether `read` took its input. InputError is the one way to refuse it, and must name `file`, be
/// printable and short whatever the input held. Anything else ends the program: libFuzzer keeps the
/// input.
bool takes(const std::string& file, const std::function<void()>& read);

/// Ends the program unless two texts are the same; the first difference goes to stderr.
void expect_same(const std::string& first, const std::string& second, const char* what);

}  // namespace gla_bench::fuzz
