#pragma once
// Columns of text cells, packed for a page that has to stay small. Pure functions of texts.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/support/json.hpp"

namespace gla_bench {

/// A number with `digits` significant digits, in the shorter of its plain and its exponent form;
/// "nan", "inf" and "-inf" for what is none.
std::string short_number(double value, int digits);

/// Cells one behind the other, separated by commas; n > 1 of the same are one, with "*n" behind it.
/// A cell holds neither "," nor "*". {"1", "1", "", "2"} is "1*2,,2".
std::string packed_cells(const std::vector<std::string>& cells);

/// A column of numbers; an empty cell is a missing value.
class NumberColumn {
 public:
  void add_nothing() { cells_.emplace_back(); }
  void add(double value, int digits) { cells_.push_back(short_number(value, digits)); }
  std::size_t size() const { return cells_.size(); }
  /// packed_cells() of it.
  Json packed() const;

 private:
  std::vector<std::string> cells_;
};

/// A column of texts of which many are the same, or differ in their numbers only.
class TextColumn {
 public:
  void add(const std::string& text);
  /// {"patterns": texts with "#" in the place of each number, "of": one cell for each different
  /// text in the order of their first rows, its pattern's place and its numbers separated by
  /// spaces ("0 64 128"), "at": packed_cells() of the rows' places in "of"}. A "#" of the text
  /// itself counts as a number.
  Json packed() const;

 private:
  std::map<std::string, std::size_t, std::less<>> places_;
  std::vector<std::string> texts_, cells_;
};

}  // namespace gla_bench
