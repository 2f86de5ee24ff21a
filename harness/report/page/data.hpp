#pragma once
// Turns records into what the page reads (page/rows.js): columns, with each problem and text stored
// once.

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

/// {"format", "program", "files", "count", "extents", "columns", "tensors", "stages",
/// "comparison"}. A file has its name, environment, number of records, what a reader must know of
/// it (notes), and its records' places where some were left out. A column (row_columns.hpp) is a
/// list with a value for each record in the order of the files, null where there is nothing. A
/// column of texts has each text once: {"texts", "at": the texts' places}. A problem is the text
/// that stands in a row's command for it. Extents are the table of core/extents.hpp.
Json page_data(const PageContent& content);

/// page_data() as text. Invalid UTF-8 is replaced.
std::string page_text(const PageContent& content);

}  // namespace gla_bench
