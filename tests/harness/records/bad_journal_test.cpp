// Journals that are torn in ways that only a power cut or malice makes.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/records/journal.hpp"

namespace gla_bench {
namespace {

using namespace std::string_literals;

std::string head() {
  return journal_head(Json::object(), Json::object()) + "\n";
}

std::string starting(const std::string& where) {
  Problem problem;
  problem.op = "gla";
  return journal_starting({"measure", where, {problem, "recurrent", BackendId::host, {}}}) + "\n";
}

TEST(BadJournal, ALastLineThatEndsInNulsIsTorn) {
  const std::string whole = head() + starting("a");
  std::string torn = starting("b");
  torn.back() = '\0';  // a whole line of JSON, then a block that never reached the disk
  const auto content = parse_journal(whole + torn + "\0\0\n"s, "j");
  ASSERT_TRUE(content);
  EXPECT_TRUE(content->torn);
  EXPECT_EQ(content->whole_bytes, static_cast<std::int64_t>(whole.size()));
  EXPECT_EQ(content->in_flight.size(), 1u);
  EXPECT_THROW(parse_journal(whole + torn + "\n" + starting("c"), "j"), InputError);
}

TEST(BadJournal, StepsUnderWayAreLimited) {
  std::string text = head();
  for (int i = 0; i < 1000; ++i) text += starting(std::to_string(i));
  EXPECT_EQ(parse_journal(text, "j")->in_flight.size(), 1000u);
  EXPECT_THROW(parse_journal(text + starting("one more"), "j"), InputError);
}

}  // namespace
}  // namespace gla_bench
