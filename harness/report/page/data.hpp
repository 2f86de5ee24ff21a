#pragma once
// Records -> what the page reads (page/rows.js): columns, with each problem and text once.

#include <span>
#include <string>

#include "harness/records/record_file.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

struct Comparison;

/// What a page shows.
struct PageContent {
  std::span<const Results> files;
  const Comparison* comparison = nullptr;  ///< of two runs; null: none is shown
};

/// {"format", "program", "files", "count", "problems", "columns", "tensors", "stages",
/// "comparison"}. A file has its name, environment, number of records, what a reader must know of
/// it (notes), and its records' places where some were left out. A problem is the text that stands
/// in a row's command for it. Columns are packed (columns.hpp), one cell a record in the order
/// of the files; a column that holds nothing is left out. Times in ms with 5 significant digits,
/// errors with 3, bytes and flops with 7.
Json page_data(const PageContent& content);

/// JSON as it may stand inside a <script> element: what could end the element or begin a comment is
/// escaped, invalid UTF-8 is replaced.
std::string json_for_script(const Json& json);

}  // namespace gla_bench
