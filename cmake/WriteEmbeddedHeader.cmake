# cmake -DHEADER=<the header> -DTEXT=<the .cpp to write> -P this
file(READ ${HEADER} content)
file(WRITE ${TEXT} "// Written by cmake/WriteEmbeddedHeader.cmake.
#include \"harness/tuned_table/header.hpp\"

namespace gla_bench {

std::string_view nearest_text() {
  return R\"gla_bench(${content})gla_bench\";
}

}  // namespace gla_bench
")
