#pragma once
// Tables of text: aligned for a terminal, or markdown.

#include <string>
#include <string_view>
#include <vector>

namespace gla_bench {

struct Column {
  std::string title;
  bool right = false;  ///< numbers stand at the right, and are never cut
  /// The order in which whole columns are left out where a table is too wide: 1 first, then 2 and
  /// so on. 0 is never left out.
  int leaves = 0;
};

/// The meaning of a line, shown by a colour where a terminal has one.
enum class Tone { plain, strong, good, bad, faint };

/// The text in the tone's colour; unchanged without `colour`.
std::string toned(std::string text, Tone tone, bool colour);

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  ///< each as long as `columns`
  std::vector<Tone> tones = {};                ///< one for each row; rows beyond its end are plain

  /// Aligned with two spaces between columns. Where it is wider than `width` (0: no limit), texts
  /// are cut with "..", but not below 24 characters; then whole columns are left out in the order
  /// that they name; only then texts are cut further. Numbers are never cut, so that a table of
  /// numbers alone may stay wider. Control characters are '?'.
  std::string text(std::size_t width = 0, bool colour = false) const;
  /// Without the columns in which every cell is empty or "-".
  Table without_empty_columns() const;
  /// GitHub's markdown; cells are markdown_text().
  std::string markdown() const;
};

/// A text that markdown shows as it is: nothing in it is markup, a mention or a new line.
std::string markdown_text(std::string_view text);

/// The same as code.
std::string markdown_code(std::string_view text);

/// The number of columns that a text takes on a terminal: its code points of UTF-8.
std::size_t display_width(const std::string& text);

}  // namespace gla_bench
