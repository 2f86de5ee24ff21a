#include "harness/report/page/packed.hpp"

#include <zlib.h>

#include <stdexcept>
#include <vector>

namespace gla_bench {
namespace {

std::vector<Bytef> compressed(std::string_view text) {
  uLongf size = compressBound(text.size());
  std::vector<Bytef> bytes(size);
  const int result = compress2(bytes.data(), &size, reinterpret_cast<const Bytef*>(text.data()),
                               text.size(), Z_BEST_COMPRESSION);
  if (result != Z_OK)
    throw std::runtime_error("zlib: compress2 returned " + std::to_string(result));
  bytes.resize(size);
  return bytes;
}

std::string base64(const std::vector<Bytef>& bytes) {
  constexpr std::string_view alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    unsigned group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 | (at + i < bytes.size() ? bytes[at + i] : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      text += at + i <= bytes.size() ? alphabet[group >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

}  // namespace

std::string packed(std::string_view text) {
  return base64(compressed(text));
}

}  // namespace gla_bench
