// The exported header, compiled by itself as C++17 and asked.

#include "harness/tuned_table/header.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include "core/error.hpp"
#include "harness/tuned_table/build.hpp"
#include "harness/tuned_table/choose.hpp"
#include "tests/harness/tuned_table/records.hpp"
#include "tests/support/places.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

/// The table that the committed H200 records make.
TunedTable committed_table() {
  std::vector<Results> files;
  for (const char* file : {"gla", "linear_recurrence", "decode", "attention", "softmax"})
    files.push_back(
        read_results(std::string(places::source_dir) + "/results/h200/" + file + ".json"));
  TablePolicy policy;
  policy.contest.bootstrap.resamples = 20;  // the intervals do not matter here
  return build_table(files, policy);
}

/// A problem of each entry, and more with extents drawn anew, some of them nowhere near.
std::vector<Problem> asked(const TunedTable& table) {
  std::mt19937 random(1);
  const auto near = [&](std::int64_t extent) {
    return std::max<std::int64_t>(1, extent * static_cast<std::int64_t>(1 + random() % 40) / 10);
  };
  std::vector<Problem> list;
  for (const TunedEntry& entry : table.entries) {
    list.push_back(entry.problems.front().problem);
    for (int draw = 0; draw < 4; ++draw) {
      Problem problem = entry.problems.front().problem;
      problem.shape.seq = near(problem.shape.seq);
      problem.shape.batch = near(problem.shape.batch);
      if (problem.shape.columns > 0) problem.shape.columns = near(problem.shape.columns);
      list.push_back(problem);
      if (random() % 2 == 0) problem.shape.key_dim = 64;
      if (random() % 2 == 0) problem.initial_state = !problem.initial_state;
      if (random() % 3 == 0) problem.options.clear();
      if (random() % 3 == 0) problem.options["in_place"] = "true";
      if (random() % 3 == 0) problem.shape.key_seq = near(problem.shape.seq);
      if (random() % 4 == 0) problem.shape.sequences = 12;
      if (random() % 4 == 0) problem.layout = Layout::head_first;
      list.push_back(problem);
    }
  }
  return list;
}

std::string literal(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

void write_question(std::ostream& out, const Problem& problem) {
  std::string options;
  for (const auto& [option, value] : problem.options)
    options += (options.empty() ? "" : ",") + option + "=" + value;
  out << "{" << literal(name(problem.direction)) << "," << literal(name(problem.dtype)) << ","
      << literal(name(problem.layout)) << ",";
  for (const ExtentAxis& axis : extent_axes) out << problem.shape.*axis.extent << ",";
  out << (problem.initial_state ? "true" : "false") << ","
      << (problem.final_state ? "true" : "false") << "," << literal(options) << "}";
}

/// A program that asks the header and ends with 1 where it answers otherwise than the table does.
std::string program(const TunedTable& table, const std::vector<Problem>& problems) {
  std::ostringstream out;
  out << "#include \"tuned.hpp\"\n#include <cstdio>\nusing namespace gla_bench_tuned;\n"
         "static int bad = 0, number = 0;\n"
         "static void expect(const Choice& c, std::string_view variant, bool own, double far,\n"
         "                   std::string_view axis, int value) {\n"
         "  ++number;\n"
         "  if (c.variant() == variant && c.own_bucket == own && c.distance > far - 1e-6 &&\n"
         "      c.distance < far + 1e-6 && c.tile(axis, -7) == value) return;\n"
         "  ++bad;\n  std::printf(\"question %d\\n\", number);\n}\nint main() {\n";
  for (const Problem& problem : problems) {
    const auto near = nearest_entries(table, problem);
    out << "  expect(" << problem.op << "(";
    write_question(out, problem);
    out << "), ";
    if (near.empty()) {
      out << "\"\", false, 0, \"chunk\", -7);\n";
      continue;
    }
    const TunedChoice& winner = table.entries[near[0].entry].winner;
    out.precision(12);
    out << literal(winner.variant) << ", " << (near[0].own ? "true" : "false") << ", "
        << near[0].distance << ", ";
    if (winner.tile.empty())
      out << "\"chunk\", -7);\n";
    else
      out << literal(winner.tile.rbegin()->first) << ", " << winner.tile.rbegin()->second << ");\n";
  }
  out << "  Problem none;\n  none.dtype = \"float64\";\n"
         "  if (gla(none) || gla(none).tile(\"chunk\", 3) != 3) ++bad;\n"
         "  bool fact = false;\n"
         "  for (const Fact& f : environment)\n"
         "    fact = fact || (f.key == \"device\" && f.value == \"NVIDIA H200\");\n"
         "  if (!fact || device != \"NVIDIA H200\") ++bad;\n"
         "  if (!(gla_entries[0].margin > 0)) ++bad;\n"
         "  return bad == 0 ? 0 : 1;\n}\n";
  return out.str();
}

int run(const std::string& command, std::string& printed, const std::string& log) {
  const int status = std::system((command + " > " + log + " 2>&1").c_str());
  std::ifstream file(log);
  printed.assign(std::istreambuf_iterator<char>(file), {});
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(TunedHeader, CompilesAloneAndChoosesAsTheTableDoes) {
  const TunedTable table = committed_table();
  ASSERT_GT(table.entries.size(), 100u);
  const auto problems = asked(table);
  const TemporaryFolder folder;
  std::ofstream(folder.file("tuned.hpp")) << export_header(table);
  std::ofstream(folder.file("main.cpp")) << program(table, problems);
  std::string printed;
  // In a folder of its own, with no path of this project.
  ASSERT_EQ(run(std::string("cd ") + folder.path().string() + " && " + GLA_BENCH_CXX_COMPILER +
                    " -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Wconversion"
                    " -Wno-sign-conversion -Werror main.cpp -o main",
                printed, folder.file("log")),
            0)
      << printed;
  EXPECT_EQ(run(folder.file("main"), printed, folder.file("log")), 0) << printed;
  // And the check can fail: another winner is another answer.
  TunedTable other = table;
  for (TunedEntry& entry : other.entries) entry.winner.variant = "no such";
  std::ofstream(folder.file("tuned.hpp")) << export_header(other);
  ASSERT_EQ(run(std::string("cd ") + folder.path().string() + " && " + GLA_BENCH_CXX_COMPILER +
                    " -std=c++17 main.cpp -o main",
                printed, folder.file("log")),
            0)
      << printed;
  EXPECT_EQ(run(folder.file("main"), printed, folder.file("log")), 1);
}

TEST(TunedHeader, HasEveryExtent) {
  const std::vector<Results> files{results_of({timed_record(problem_at(64), "a", {}, 1)})};
  const std::string text = export_header(build_table(files));
  for (const ExtentAxis& axis : extent_axes) {
    const std::string member = "std::int64_t " + std::string(axis.name);
    EXPECT_NE(text.find(member + " = "), std::string::npos) << "Problem: " << axis.name;
    EXPECT_EQ(text.find(member + ";") != std::string::npos, keeping_of(axis.role).has_value())
        << "Entry: " << axis.name;
  }
}

TEST(TunedHeader, RefusesWhatIsNoName) {
  const std::vector<Results> files{results_of({timed_record(problem_at(64), "a", {}, 1)})};
  TunedTable table = build_table(files);
  EXPECT_NE(export_header(table).find("inline Choice gla(const Problem& problem)"),
            std::string::npos);
  table.entries[0].bucket.op = "g la";
  EXPECT_THROW(export_header(table), InputError);
  table.entries.clear();
  EXPECT_THROW(export_header(table), InputError);
}

TEST(TunedHeader, NamesAreQuoted) {
  const std::vector<Results> files{results_of({timed_record(problem_at(64), "a", {}, 1)})};
  TunedTable table = build_table(files);
  table.device = "a \"b\" \\ c\n";
  EXPECT_NE(export_header(table).find(R"(device = "a \"b\" \\ c?")"), std::string::npos);
}

}  // namespace
}  // namespace gla_bench
