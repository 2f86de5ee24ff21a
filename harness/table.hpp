#pragma once
// Tables of text: aligned for a terminal, or markdown.

#include <string>
#include <vector>

namespace gla_bench {

struct Column {
  std::string title;
  bool right = false;  ///< numbers stand at the right
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  ///< each as long as `columns`

  /// Aligned with two spaces between columns. Where it is wider than `width` (0: no limit) the
  /// widest column is cut with "..", as far as it has to be.
  std::string text(std::size_t width = 0) const;
  /// GitHub's markdown; "|" in a cell is escaped.
  std::string markdown() const;
};

/// Columns that a text takes on a terminal: code points of UTF-8.
std::size_t display_width(const std::string& text);

}  // namespace gla_bench
