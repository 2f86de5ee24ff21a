#include "harness/support/numbers.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/support/json.hpp"
#include "harness/support/text.hpp"
#include "tests/support/places.hpp"

namespace gla_bench {
namespace {

TEST(Numbers, ChangesHaveTheirSign) {
  EXPECT_EQ(format_change(1.034), "+3.40 %");
  EXPECT_EQ(format_change(0.5), "-50.00 %");
  EXPECT_EQ(format_change(1), "+0.00 %");
}

TEST(Numbers, HaveTheirDigits) {
  EXPECT_EQ(format_ms(0.16984), "0.1698");
  EXPECT_EQ(format_ms(0.99996), "1.000");
  EXPECT_EQ(format_ms(12345.4), "12345");
  EXPECT_EQ(format_rate(0.198), "0.198");
  EXPECT_EQ(format_rate(29.96), "30.0");
  EXPECT_EQ(format_percent(0.5), "50 %");
  EXPECT_EQ(format_percent(0.094), "9.4 %");
  EXPECT_EQ(format_percent(0.0003), "0.03 %");
  EXPECT_EQ(format_percent(3e-7), "3e-5 %");
  EXPECT_EQ(format_times(1.5349), "1.53x");
  EXPECT_EQ(format_times(72.83), "72.8x");
  EXPECT_EQ(format_error(0.00166), "1.7e-3");
  EXPECT_EQ(format_error(0), "0");
  EXPECT_EQ(format_joules(0.0123), "12.3 mJ");
}

TEST(Numbers, ThatAreNoneAreDashes) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  for (const std::string& text : {format_ms(none), format_rate(none), format_percent(none),
                                  format_times(none), format_error(none), format_joules(none)})
    EXPECT_EQ(text, "-");
}

// The page's tests read the same table.
TEST(Numbers, AreThoseOfTheTableThatThePageIsHeldToToo) {
  const std::map<std::string, std::function<std::string(double)>> shown{
      {"ms", format_ms},       {"rate", format_rate},   {"percent", format_percent},
      {"times", format_times}, {"error", format_error}, {"joules", format_joules},
      {"bytes", format_bytes}};
  const Json table = read_json_file(std::string(places::source_dir) +
                                    "/tests/harness/support/formatted_numbers.json");
  ASSERT_GT(table.size(), 100u);
  for (const Json& row : table) EXPECT_EQ(shown.at(row[0])(row[1].get<double>()), row[2]) << row;
}

TEST(Numbers, AreExactInTheFewestDigits) {
  EXPECT_EQ(format_exact(0.1), "0.1");
  EXPECT_EQ(format_exact(-0.25), "-0.25");
  EXPECT_EQ(format_exact(1.0 / 3), "0.3333333333333333");
}

}  // namespace
}  // namespace gla_bench
