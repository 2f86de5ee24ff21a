#include "harness/table.hpp"

#include <algorithm>

namespace gla_bench {
namespace {

constexpr std::size_t gap = 2;
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

std::string escaped(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, 1, '\\');
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string Table::text(std::size_t width) const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns) widths.push_back(display_width(column.title));
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i]));
  std::size_t total = columns.empty() ? 0 : gap * (columns.size() - 1);
  for (const std::size_t w : widths) total += w;
  while (width > 0 && total > width) {
    auto widest = std::max_element(widths.begin(), widths.end());
    if (*widest <= narrowest) break;
    --*widest;
    --total;
  }
  std::string out;
  const auto add = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) line += std::string(gap, ' ');
      line += padded(cut_to(cells[i], widths[i]), widths[i], columns[i].right);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line;
    out += '\n';
  };
  std::vector<std::string> titles, rules;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    titles.push_back(columns[i].title);
    rules.push_back(std::string(widths[i], '-'));
  }
  add(titles);
  add(rules);
  for (const auto& row : rows) add(row);
  return out;
}

std::string Table::markdown() const {
  std::string out = "|", rule = "|";
  for (const Column& column : columns) {
    out += " " + escaped(column.title) + " |";
    rule += column.right ? " ---: |" : " --- |";
  }
  out += "\n" + rule + "\n";
  for (const auto& row : rows) {
    out += "|";
    for (const std::string& cell : row) out += " " + escaped(cell) + " |";
    out += "\n";
  }
  return out;
}

}  // namespace gla_bench
