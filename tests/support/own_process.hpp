#pragma once
// Tests whose code changes the process for all that comes after it.

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <iostream>

namespace gla_bench {

/// Runs `body` in a process of its own. It fails where one of the body's expectations does, and
/// says which: gtest itself is silent in such a process.
inline void in_a_process_of_its_own(const std::function<void()>& body) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto run = [&] {
    body();
    const testing::TestResult& result =
        *testing::UnitTest::GetInstance()->current_test_info()->result();
    for (int i = 0; i < result.total_part_count(); ++i)
      if (const testing::TestPartResult& part = result.GetTestPartResult(i); part.failed())
        std::cerr << part.file_name() << ":" << part.line_number() << ": " << part.message()
                  << "\n";
    std::exit(result.Failed() ? 1 : 0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

}  // namespace gla_bench
