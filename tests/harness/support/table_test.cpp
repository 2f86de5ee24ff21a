#include "harness/support/table.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace gla_bench {
namespace {

TEST(Table, FitsTheWidthByCuttingTheWidestColumn) {
  const Table table{{{"a", false}, {"number", true}},
                    {{std::string(60, 'x'), "1.5"}, {"short", "22.5"}}};
  std::istringstream in(table.text(30));
  for (std::string line; std::getline(in, line);) EXPECT_LE(line.size(), 30u) << line;
  EXPECT_NE(table.text(30).find("xx.."), std::string::npos);
  EXPECT_NE(table.text().find(std::string(60, 'x')), std::string::npos);
  EXPECT_NE(table.text(30).find("  22.5\n"), std::string::npos);
}

TEST(Table, LeavesOutWholeColumnsInTheirOrder) {
  const Table table{
      {{"name"}, {"tile", false, 3}, {"ms", true}, {"hot ms", true, 1}, {"GB/s", true, 2}},
      {{std::string(20, 'n'), std::string(20, 't'), "1.25", "1.50", "4000"}}};
  const std::string name(20, 'n'), tile(20, 't');
  EXPECT_NE(table.text(62).find("\n" + name + "  " + tile + "  1.25    1.50  4000\n"),
            std::string::npos);
  EXPECT_NE(table.text(61).find("\n" + name + "  " + tile + "  1.25  4000\n"), std::string::npos);
  EXPECT_NE(table.text(53).find("\n" + name + "  " + tile + "  1.25\n"), std::string::npos);
  EXPECT_NE(table.text(47).find("\n" + name + "  1.25\n"), std::string::npos) << table.text(47);
}

TEST(Table, CutsLongTextsToReadableOnesBeforeAColumnLeaves) {
  const Table table{{{"tile", false, 1}, {"ms", true}}, {{std::string(90, 't'), "1.25"}}};
  EXPECT_NE(table.text(80).find(std::string(72, 't') + "..  1.25\n"), std::string::npos)
      << table.text(80);
  EXPECT_NE(table.text(30).find(std::string(22, 't') + "..  1.25\n"), std::string::npos);
  EXPECT_EQ(table.text(29).find("tile"), std::string::npos) << table.text(29);
}

TEST(Table, NeverCutsANumber) {
  const Table table{{{"name"}, {"ms", true}, {"bytes", true}},
                    {{std::string(30, 'n'), "0.123456", "123456789"}}};
  for (std::size_t width = 1; width < 60; ++width) {
    EXPECT_NE(table.text(width).find("  0.123456  123456789\n"), std::string::npos) << width;
  }
  EXPECT_NE(table.text(20).find("\nnnnnnn..  0.12"), std::string::npos) << table.text(20);
}

TEST(Table, ColoursLinesByTheirTonesAndOnlyWhenAsked) {
  Table table{{{"a", false}}, {{"won"}, {"lost"}, {"plain"}}};
  table.tones = {Tone::good, Tone::bad};
  EXPECT_EQ(table.text().find('\033'), std::string::npos);
  const std::string text = table.text(0, true);
  EXPECT_NE(text.find("\033[32mwon\033[0m\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\033[31mlost\033[0m\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nplain\n"), std::string::npos) << text;
}

TEST(Table, CellsDriveNoTerminal) {
  const Table table{{{"a", false}}, {{"x\033[2Jy\nz"}}};
  EXPECT_NE(table.text(0, true).find("x?[2Jy?z"), std::string::npos);
}

TEST(Table, LeavesOutColumnsThatHoldNothing) {
  Table table{{{"a"}, {"b"}, {"c"}}, {{"1", "-", ""}, {"2", "", "3"}}};
  table.tones = {Tone::good};
  const Table kept = table.without_empty_columns();
  ASSERT_EQ(kept.columns.size(), 2u);
  EXPECT_EQ(kept.columns[1].title, "c");
  EXPECT_EQ(kept.rows, (std::vector<std::vector<std::string>>{{"1", ""}, {"2", "3"}}));
  EXPECT_EQ(kept.tones, table.tones);
}

TEST(Table, CountsCodePoints) {
  EXPECT_EQ(display_width("\u00e4\u2265x"), 3u);
  const Table table{{{"a", false}, {"b", false}}, {{"\u00e4", "1"}, {"aa", "2"}}};
  EXPECT_NE(table.text().find("\u00e4   1\n"), std::string::npos);
}

TEST(Table, MarkdownEscapesBars) {
  const Table table{{{"a", false}}, {{"x|y\nz"}}};
  EXPECT_NE(table.markdown().find("| x\\|y z |"), std::string::npos);
}

}  // namespace
}  // namespace gla_bench
