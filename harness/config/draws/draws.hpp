#pragma once
// Random numbers of drawn problems: a stream for each purpose, so that what one purpose takes does
// not change what another is given.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "reference/inputs.hpp"

namespace gla_bench {

/// Draws numbers for one purpose, one after another.
class Draws {
 public:
  Draws(std::uint64_t seed, const std::string& purpose) : stream_(stream(seed, purpose)) {}

  std::uint64_t word() { return random_word(stream_, next_++); }
  /// first .. last
  std::int64_t between(std::int64_t first, std::int64_t last) {
    return first + static_cast<std::int64_t>(word() % static_cast<std::uint64_t>(last - first + 1));
  }
  bool one_in(std::int64_t chances) { return between(1, chances) == 1; }
  template <class List>
  auto of(const List& list) {
    return *(std::begin(list) + between(0, static_cast<std::int64_t>(std::size(list)) - 1));
  }
  /// least .. most, each order of magnitude as likely as another.
  std::int64_t size(std::int64_t least, std::int64_t most) {
    const double u = static_cast<double>(word() >> 11) * 0x1p-53;
    const double first = static_cast<double>(least), last = static_cast<double>(most) + 1.0;
    const double value = first * std::exp(u * std::log(last / first));
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(value), least, most);
  }
  template <class Item>
  void shuffle(std::vector<Item>& list) {
    for (auto i = static_cast<std::int64_t>(list.size()) - 1; i > 0; --i)
      std::swap(list[static_cast<std::size_t>(i)], list[static_cast<std::size_t>(between(0, i))]);
  }

 private:
  Stream stream_;
  std::uint64_t next_ = 0;
};

}  // namespace gla_bench
