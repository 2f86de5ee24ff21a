// Journals, whole and torn: what is read up to the last whole line reads the same alone, and each
// line reads the same when it is written again.

#include "harness/records/journal.hpp"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "fuzz/target.hpp"
#include "harness/records/record_json.hpp"

namespace gla_bench {
namespace {

std::string written(const JournalContent& content) {
  std::string text = journal_head(facts_to_json(content.environment), *content.config) + "\n";
  for (const Record& record : content.records)
    text += journal_record(record_to_json(record).dump()) + "\n";
  for (const AskedPoint& point : content.asked) text += journal_asked(point) + "\n";
  for (const Started& started : content.in_flight) text += journal_starting(started) + "\n";
  return text;
}

}  // namespace
}  // namespace gla_bench

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gla_bench;
  const std::string_view text = fuzz::text_of(data, size);
  std::optional<JournalContent> content;
  if (!fuzz::takes("input", [&] { content = parse_journal(text, "input"); }) || !content) return 0;
  const auto whole = static_cast<std::size_t>(content->whole_bytes);
  if (whole > size || content->torn != (whole < size)) std::abort();
  const std::string first = written(*content);
  const auto alone = parse_journal(text.substr(0, whole), "again");
  if (!alone || alone->torn) std::abort();
  fuzz::expect_same(first, written(*alone), "without its torn line it differs");
  fuzz::expect_same(first, written(*parse_journal(first, "again")),
                    "written and read again it differs");
  for (const Started& started : content->in_flight) describe(started);
  return 0;
}
