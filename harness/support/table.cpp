#include "harness/support/table.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "harness/support/printable.hpp"

namespace gla_bench {
namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t readable =
    24;  // a text cut to this many characters still says what it is about
constexpr std::size_t narrowest = 8;

std::string cut_to(const std::string& text, std::size_t width) {
  if (display_width(text) <= width) return text;
  std::string kept;
  std::size_t columns = 0;
  for (const char c : text) {
    const bool starts = (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    if (starts && columns + 2 == width) break;
    columns += starts ? 1 : 0;
    kept += c;
  }
  return kept + "..";
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t used = display_width(text);
  const std::string space(width > used ? width - used : 0, ' ');
  return right ? space + text : text + space;
}

/// Takes `excess` from the texts, from the widest first and from none below `least`. Returns by how
/// much the table is still too wide.
std::size_t narrow(std::vector<std::size_t>& widths, const std::vector<Column>& columns,
                   std::size_t excess, std::size_t least) {
  while (excess > 0) {
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (!columns[i].right && widths[i] > least && (widest == nullptr || widths[i] > *widest))
        widest = &widths[i];
    if (widest == nullptr) break;
    --*widest;
    --excess;
  }
  return excess;
}

std::vector<std::size_t> widths_of(const Table& table) {
  std::vector<std::size_t> widths;
  for (const Column& column : table.columns) widths.push_back(display_width(column.title));
  for (const auto& row : table.rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i]));
  return widths;
}

std::size_t excess_of(const std::vector<std::size_t>& widths, std::size_t width) {
  std::size_t total = widths.empty() ? 0 : gap * (widths.size() - 1);
  for (const std::size_t w : widths) total += w;
  return width > 0 && total > width ? total - width : 0;
}

/// The column that leaves first, if one may.
std::optional<std::size_t> first_to_leave(const std::vector<Column>& columns) {
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i].leaves > 0 && (!first || columns[i].leaves < columns[*first].leaves)) first = i;
  return first;
}

template <typename Keep>
Table with_columns(const Table& table, const Keep& keep) {
  Table kept;
  kept.tones = table.tones;
  kept.rows.resize(table.rows.size());
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (!keep(i)) continue;
    kept.columns.push_back(table.columns[i]);
    for (std::size_t row = 0; row < table.rows.size(); ++row)
      kept.rows[row].push_back(table.rows[row][i]);
  }
  return kept;
}

/// The table as it fits, with the widths of its columns.
std::pair<Table, std::vector<std::size_t>> fitted(Table table, std::size_t width) {
  auto widths = widths_of(table);
  const std::size_t left = narrow(widths, table.columns, excess_of(widths, width), readable);
  if (left > 0) {
    if (const auto leaving = first_to_leave(table.columns))
      return fitted(with_columns(table, [&](std::size_t i) { return i != *leaving; }), width);
    narrow(widths, table.columns, left, narrowest);
  }
  return {std::move(table), std::move(widths)};
}

std::string line_of(const std::vector<std::string>& cells, const std::vector<Column>& columns,
                    const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += std::string(gap, ' ');
    line += padded(cut_to(cells[i], widths[i]), widths[i], columns[i].right);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string toned(std::string text, Tone tone, bool colour) {
  if (!colour || tone == Tone::plain || text.empty()) return text;
  const char* code = "1";
  if (tone == Tone::good) code = "32";
  if (tone == Tone::bad) code = "31";
  if (tone == Tone::faint) code = "2";
  return "\033[" + std::string(code) + "m" + text + "\033[0m";
}

std::string markdown_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n')
      out += ' ';
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '@')
      out += "@\u200b";  // otherwise GitHub would notify a user of that name
    else if (std::string_view("\\|`*[]").find(c) != std::string_view::npos)
      out.append("\\").append(1, c);
    else
      out += c;
  }
  return printable(out, out.size());
}

std::string markdown_code(std::string_view text) {
  std::size_t longest = 0, ticks = 0;
  for (const char c : text) {
    ticks = c == '`' ? ticks + 1 : 0;
    longest = std::max(longest, ticks);
  }
  const std::string fence(longest + 1, '`'), space(longest > 0 ? 1 : 0, ' ');
  return fence + space + printable(text, text.size()) + space + fence;
}

std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string Table::text(std::size_t width, bool colour) const {
  Table clean = *this;
  for (auto& row : clean.rows)
    for (std::string& cell : row) cell = printable(cell, cell.size());
  const auto [shown, widths] = fitted(std::move(clean), width);
  std::vector<std::string> titles, rules;
  for (std::size_t i = 0; i < shown.columns.size(); ++i) {
    titles.push_back(shown.columns[i].title);
    rules.push_back(std::string(widths[i], '-'));
  }
  std::string out = toned(line_of(titles, shown.columns, widths), Tone::strong, colour) + "\n" +
                    toned(line_of(rules, shown.columns, widths), Tone::faint, colour) + "\n";
  for (std::size_t i = 0; i < shown.rows.size(); ++i)
    out += toned(line_of(shown.rows[i], shown.columns, widths),
                 i < tones.size() ? tones[i] : Tone::plain, colour) +
           "\n";
  return out;
}

Table Table::without_empty_columns() const {
  return with_columns(*this, [&](std::size_t i) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const auto& row) { return !row[i].empty() && row[i] != "-"; });
  });
}

std::string Table::markdown() const {
  std::string out = "|", rule = "|";
  for (const Column& column : columns) {
    out += " " + markdown_text(column.title) + " |";
    rule += column.right ? " ---: |" : " --- |";
  }
  out += "\n" + rule + "\n";
  for (const auto& row : rows) {
    out += "|";
    for (const std::string& cell : row) out += " " + markdown_text(cell) + " |";
    out += "\n";
  }
  return out;
}

}  // namespace gla_bench
