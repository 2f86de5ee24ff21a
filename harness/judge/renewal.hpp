#pragma once
// Rows of a results file take the verdicts of a newer verification and keep their times. It is for
// the day on which the verification has changed and the kernels have not: to verify every candidate
// again takes minutes, to measure them takes hours. Pure functions of what the files hold.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/records/record_file.hpp"

namespace gla_bench {

/// A row that keeps its old verdict, and why.
struct NotRenewed {
  std::string candidate;  ///< by describe()
  std::string why;
  bool wrong = false;  ///< the newer verification found a measured row wrong
};

/// What renew() did.
struct Renewal {
  std::int64_t renewed = 0;  ///< rows with a newer verdict
  std::int64_t current = 0;  ///< rows whose verdict was of the newer verification already
  std::vector<NotRenewed> left;
};

/// Gives the measured rows of `old` the verdicts that `fresh` has of the same candidates. A row
/// takes the verdict where the candidate is of the same sources and left the same outputs, so that
/// what is verified is what was timed. The outputs are the same where each has the same errors, to
/// the last digit, and the same worst element. A row whose calls may differ from each other, or
/// whose errors are measured in another way now, is left as it is: `run --resume` measures it
/// again. A row that is wrong in both takes the newer verdict. Rows that another program measured,
/// and rows without a time, are left out of account. `old.extended` gets an entry where a row was
/// renewed.
/// @throws InputError naming both files, for another backend or device
Renewal renew(Results& old, std::span<const Results> fresh);

}  // namespace gla_bench
