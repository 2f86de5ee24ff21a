#pragma once
// The report as one HTML page that needs no network and no other file.

#include <string>
#include <string_view>

#include "harness/report/page/data.hpp"

namespace gla_bench {

/// The page around the data, as the build made it of page/ (cmake/EmbedPage.cmake): styles and
/// script are inside it. Both are empty in a build without the page.
struct PageShell {
  std::string_view before;  ///< up to where the data stand
  std::string_view after;
};
PageShell embedded_page();

/// The whole page. Nothing in a record can be taken for markup or script: all of it is packed
/// (packed.hpp) in a data block, which the page shows only as text. @throws InputError in a build
/// without the page
std::string page_html(const PageContent& content);

}  // namespace gla_bench
