#include "harness/report/text/rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/report/text/best.hpp"
#include "tests/support/timed_record.hpp"

namespace gla_bench {
namespace {

using toy::timed;

std::vector<Results> files_of(std::vector<Record> records) {
  return {toy::results_of(std::move(records))};
}

std::vector<std::string> chosen(const std::vector<Results>& files, const std::string& where) {
  std::vector<std::string> variants;
  for (const Results& results : RecordFilter(where).of(files))
    for (const Record& record : results.records) variants.push_back(record.variant);
  return variants;
}

std::string complaint(const std::string& where) {
  try {
    RecordFilter(where).of(files_of({timed("a", 1)}));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(ReportRows, HaveTheWorstOutputAndTheShareOfTheFloor) {
  Record record = timed("a", 0.2);
  record.verification->tensors["final_state"] = {5e-4, 0, 0, 1e-3, 0, 0, 0, {}, true};
  const Json row = flat_row(files_of({record})[0], 0);
  EXPECT_EQ(row["error"], 5e-4);
  EXPECT_EQ(row["bound"], 1e-3);
  EXPECT_DOUBLE_EQ(row["of_floor"].get<double>(), 0.5);  // 1 MB at 10 GB/s takes 0.1 ms
  EXPECT_EQ(row["model_bytes"], 2e6);
  EXPECT_EQ(row["tile"], "chunk=16");
  EXPECT_EQ(row["row"], 1);
  EXPECT_TRUE(row["measured_bytes"].is_null());
  EXPECT_TRUE(row["hot_ms"].is_null());
}

TEST(ReportRows, OfRecordsWithoutATimeHaveNothingThere) {
  Record record = timed("a", 1);
  record.status = Status::rejected;
  record.reason = "too much, says \"a\"";
  record.timing.reset();
  record.verification.reset();
  const Json row = flat_row(files_of({record})[0], 0);
  for (const char* key : {"cold_ms", "of_floor", "error", "bound", "suspect"})
    EXPECT_TRUE(row[key].is_null()) << key;
  EXPECT_EQ(row["reason"], record.reason);
}

TEST(ReportRows, FiguresThatAreNotKnownAreEmpty) {
  Record record = timed("a", 0.25);
  const Json row = flat_row(files_of({record})[0], 0);
  EXPECT_DOUBLE_EQ(row["floor_ms"].get<double>(), 0.1) << "1e6 bytes at 10 GB/s";
  EXPECT_DOUBLE_EQ(row["of_floor"].get<double>(), 0.4);
  EXPECT_DOUBLE_EQ(row["gb_per_s"].get<double>(), 4);
  EXPECT_DOUBLE_EQ(row["tflop_per_s"].get<double>(), 24);
  record.flops = 0;
  record.peer = true;
  const Json peer = flat_row(files_of({record})[0], 0);
  EXPECT_TRUE(peer["tflop_per_s"].is_null());
  EXPECT_NE(csv_of({peer}).find(",4.0,,"), std::string::npos) << "GB/s, and no operations";
  record.timing.reset();
  record.io.floor_bytes = 0;
  const Json bare = flat_row(files_of({record})[0], 0);
  for (const char* key : {"cold_ms", "floor_ms", "of_floor", "gb_per_s", "tflop_per_s"})
    EXPECT_TRUE(bare[key].is_null()) << key;
}

TEST(ReportRows, CsvQuotesWhatHasToBeAndHasAColumnForEachKey) {
  EXPECT_EQ(csv_of({Json{{"a", 1}, {"b", "x, \"y\"\nz"}}, Json{{"a", nullptr}, {"c", true}}}),
            "a,b,c\n1,\"x, \"\"y\"\"\nz\",\n,,true\n");
  EXPECT_EQ(csv_of({}), "\n");
}

TEST(ReportRows, ConditionsChooseByTextNumberTileAndSeveralValues) {
  Record other = timed("b", 2, 64);
  other.problem.dtype = DType::bfloat16;
  other.problem.shape.seq = 5000;
  const auto files = files_of({timed("a", 1), other});
  const std::vector<std::string> a{"a"}, b{"b"}, both{"a", "b"};
  EXPECT_EQ(chosen(files, "dtype=bf16"), b);
  EXPECT_EQ(chosen(files, "dtype=fp32"), a);
  EXPECT_EQ(chosen(files, "dtype=float|half"), a);
  EXPECT_EQ(chosen(files, "seq>=5000"), b);
  EXPECT_EQ(chosen(files, "seq>5000"), std::vector<std::string>{});
  EXPECT_EQ(chosen(files, "chunk=16|64"), both);
  EXPECT_EQ(chosen(files, "chunk<64,status=measured"), a);
  EXPECT_EQ(chosen(files, "variant!=b"), a);
  EXPECT_EQ(chosen(files, "cold_ms<=1.0"), a);
  EXPECT_EQ(chosen(files, "peer=false"), both);
}

TEST(ReportRows, KeepTheirNumberInTheFileWhenOthersAreLeftOut) {
  const auto some =
      RecordFilter("variant=b|d")
          .of(RecordFilter("variant!=a")
                  .of(files_of({timed("a", 1), timed("b", 1), timed("c", 1), timed("d", 1)})));
  ASSERT_EQ(some[0].records.size(), 2u);
  EXPECT_EQ(flat_row(some[0], 0)["row"], 2);
  EXPECT_EQ(flat_row(some[0], 1)["row"], 4);
}

TEST(ReportRows, SayWhatHoldsACandidateUp) {
  Record record = timed("a", 0.25);
  record.verification->arithmetic = Arithmetic::bfloat16;
  record.backend = BackendId::cuda;
  auto files = files_of({record});
  files[0].environment["matrix_tflop_per_s"] = 240.0;  // 6e9 operations in 0.25 ms are 24
  const Json row = flat_row(files[0], 0);
  EXPECT_EQ(row["bound_by"], "memory") << "2 MB in 0.25 ms are 8 GB/s of 10";
  EXPECT_DOUBLE_EQ(row["of_copy"].get<double>(), 0.8);
  EXPECT_DOUBLE_EQ(row["of_peak"].get<double>(), 0.1);
  EXPECT_NE(row["bound_why"].get<std::string>().find("80 % of the copy rate"), std::string::npos);
  record.timing.reset();
  EXPECT_TRUE(flat_row(files_of({record})[0], 0)["bound_by"].is_null());
}

TEST(ReportRows, ConditionsOfNoSenseAreNamed) {
  EXPECT_NE(complaint("sequence=3").find("no record has \"sequence\"; there are: "),
            std::string::npos);
  EXPECT_NE(complaint("seq>a").find("expected a number"), std::string::npos);
  for (const char* text : {"", "seq", "=3", "seq=<3", "a=1,,b=2"})
    EXPECT_NE(complaint(text).find("--where: found"), std::string::npos) << text;
}

TEST(ReportBest, NamesTheFastestTheNextAndThePeer) {
  Record peer = timed("fla.chunk_gla", 4);
  peer.peer = true;
  Record wrong = timed("wrong", 0.1);
  wrong.status = Status::wrong;
  const auto files = files_of({timed("a", 2), timed("b", 1, 32), timed("b", 1.5), peer, wrong});
  const auto tables = best_tables(files);
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_NE(tables[0].title.find("toy forward float32, seq_first"), std::string::npos);
  const Table& table = tables[0].table;
  ASSERT_EQ(table.rows.size(), 1u);
  const std::vector<std::string>& row = table.rows[0];
  EXPECT_NE(row[0].find("T="), std::string::npos);
  EXPECT_EQ(std::vector<std::string>(row.begin() + 1, row.end()),
            (std::vector<std::string>{"b", "1.000", "10 %", "a 2.00x", "fla.chunk_gla 4.00x",
                                      "chunk=32"}));
  EXPECT_EQ(table.columns[4].title, "next") << "what bounds it is not known of any";
}

TEST(ReportBest, TheTileLeavesFirst) {
  const auto tables = best_tables(files_of({timed("a", 2), timed("b", 1, 32)}));
  const auto head = [&](std::size_t width) {
    const std::string text = tables.at(0).table.text(width);
    return text.substr(0, text.find('\n'));
  };
  const std::string whole = head(0);
  ASSERT_NE(whole.find("tile"), std::string::npos);
  std::size_t width = 200;
  while (head(width).find("tile") != std::string::npos) --width;
  for (const char* title : {"problem", "fastest", "ms", "of floor", "next"})
    EXPECT_NE(head(width).find(title), std::string::npos) << title << " at " << width;
}

TEST(ReportBest, NamesATie) {
  const auto tables = best_tables(files_of({timed("a", 1), timed("b", 1.001)}));
  EXPECT_EQ(tables.at(0).table.rows.at(0)[4], "= b 1.00x");
}

TEST(Where, AValueThatNoRecordHasIsAMistake) {
  const std::vector<Results> files = files_of({timed("a", 1), timed("b", 2)});
  EXPECT_EQ(RecordFilter("variant=a|b").of(files).at(0).records.size(), 2u);
  EXPECT_EQ(RecordFilter("variant!=c").of(files).at(0).records.size(), 2u);
  EXPECT_EQ(RecordFilter("seq>=1000000").of(files).at(0).records.size(), 0u);
  try {
    RecordFilter("variant=c").of(files);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "--where: found variant=c, but no record has that value; there are: a, b");
  }
  EXPECT_THROW(RecordFilter("variant=a|c").of(files), InputError);
  EXPECT_THROW(RecordFilter("dtype=foo").of(files), InputError);
  // What a field may hold is no mistake, even where no record at hand has it.
  for (const char* text : {"status=crashed", "dtype=fp16", "backend=cuda", "layout=head_first",
                           "direction=backward", "operator=softmax"})
    EXPECT_EQ(RecordFilter(text).of(files).at(0).records.size(), 0u) << text;
  for (const char* text : {"status=gone", "backend=tpu", "layout=mild", "operator=forward",
                           "source_hash=1", "cold_ms=77"})
    EXPECT_THROW(RecordFilter(text).of(files), InputError) << text;
  EXPECT_EQ(RecordFilter("cold_ms=1e0").of(files).at(0).records.size(), 1u);
}

TEST(ReportBest, SaysWhereNothingRightWasTimed) {
  Record wrong = timed("wrong", 0.1);
  wrong.status = Status::wrong;
  EXPECT_EQ(best_tables(files_of({wrong})).at(0).table.rows.at(0)[1], "nothing right was timed");
}

}  // namespace
}  // namespace gla_bench
