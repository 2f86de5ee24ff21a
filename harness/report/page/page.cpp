#include "harness/report/page/page.hpp"

#include "core/error.hpp"
#include "harness/report/page/packed.hpp"

namespace gla_bench {

std::string page_html(const PageContent& content) {
  const PageShell shell = embedded_page();
  if (shell.before.empty())
    throw InputError(
        "--html: found a program that was built without the page (GLA_BENCH_PAGE=OFF, or no "
        "esbuild "
        "and node-d3), expected one with it: install both, configure again and build");
  std::string page(shell.before);
  page += packed(page_text(content));
  page += shell.after;
  return page;
}

}  // namespace gla_bench
