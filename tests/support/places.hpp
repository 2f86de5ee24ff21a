#pragma once
// Where the source tree and the programs under test are; written by the build
// (tests/CMakeLists.txt).

namespace gla_bench::places {

extern const char* const source_dir;      ///< root of the source tree
extern const char* const program;         ///< gla-bench
extern const char* const planted_worker;  ///< a worker whose candidates crash and hang

}  // namespace gla_bench::places
