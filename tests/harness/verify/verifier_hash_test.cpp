#include "harness/verify/verifier_hash.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "core/operator.hpp"
#include "core/reference_folders.hpp"
#include "harness/backends/backend.hpp"
#include "harness/backends/sources/source_store.hpp"

namespace gla_bench {
namespace {

TEST(VerifierHash, HasTwoGroupsThatFollowWhatTheyAreOf) {
  const std::string host = verifier_hash(BackendId::host, "gla", default_tolerance());
  const std::string cuda = verifier_hash(BackendId::cuda, "gla", default_tolerance());
  EXPECT_TRUE(std::regex_match(host, std::regex("[0-9a-f]{16}-[0-9a-f]{16}"))) << host;
  EXPECT_EQ(host, verifier_hash(BackendId::host, "gla", default_tolerance()));
  EXPECT_EQ(host.substr(0, 16), cuda.substr(0, 16));
  EXPECT_NE(host.substr(17), cuda.substr(17));
  EXPECT_EQ(cuda.ends_with("-unknown"), !cuda_compiler_description().has_value());
}

TEST(VerifierHash, ChangesWithEachNumberOfTheTolerance) {
  const std::string before = verifier_hash(BackendId::host, "gla", default_tolerance());
  for (double Tolerance::*number : {&Tolerance::worst_chunk, &Tolerance::max_abs}) {
    Tolerance changed = default_tolerance();
    changed.*number *= 1.0000001;
    EXPECT_EQ(match_verifier(before, verifier_hash(BackendId::host, "gla", changed)),
              VerifierMatch::other_verification);
  }
  using Policy = Tolerance::PerArithmetic;
  for (double Policy::*number : {&Policy::cap, &Policy::factor, &Policy::chunk_factor,
                                 &Policy::max_factor, &Policy::steady, &Policy::small}) {
    Tolerance changed = default_tolerance();
    changed.arithmetic.at(Arithmetic::tf32).*number *= 1.0000001;
    EXPECT_EQ(match_verifier(before, verifier_hash(BackendId::host, "gla", changed)),
              VerifierMatch::other_verification);
  }
}

TEST(VerifierHash, CoversWhatDecidesWhetherACandidateIsRight) {
  const auto embedded = embedded_verifier();
  for (const char* path :
       {"harness/verify/verify.cpp", "harness/verify/tensor_errors.cpp",
        "harness/verify/tolerance.cpp", "reference/inputs.cpp",
        "reference/linear_recurrence/linear_recurrence.cpp",
        "reference/linear_recurrence/linear_recurrence.cuh", "harness/backends/guarded_buffer.cpp",
        "harness/backends/other_inputs.cpp", "harness/backends/workset.cpp",
        "harness/tensors/staging.cpp"})
    EXPECT_EQ(std::count_if(embedded.begin(), embedded.end(),
                            [&](const Source& source) { return source.path == path; }),
              1)
        << path;
  for (const Source& source : embedded)
    EXPECT_FALSE(source.text.empty()) << source.path << " is embedded without its text";
}

// The names in quotes that a text includes.
std::vector<std::string> included(std::string_view text) {
  std::vector<std::string> list;
  constexpr std::string_view begin = "#include \"";
  for (std::size_t at = text.find(begin); at != text.npos; at = text.find(begin, at + 1)) {
    const std::size_t first = at + begin.size();
    list.emplace_back(text.substr(first, text.find('"', first) - first));
  }
  return list;
}

TEST(VerifierHash, CountsTheReferencesOfTheOperatorAlone) {
  EXPECT_TRUE(verifies("reference/attention/backward.cpp", "decay_attention"));
  EXPECT_FALSE(verifies("reference/attention/backward.cpp", "gla"));
  EXPECT_TRUE(verifies("reference/linear_recurrence/problem.cpp", "gla_layer"));
  EXPECT_FALSE(verifies("reference/gla_layer/backward.cpp", "gla"));
  EXPECT_TRUE(verifies("reference/inputs.cpp", "softmax"));
  EXPECT_TRUE(verifies("harness/verify/verify.cpp", "softmax"));
  const auto of = [](const char* op) {
    return verifier_hash(BackendId::host, op, default_tolerance());
  };
  EXPECT_EQ(of("gla"), of("rwkv6"));
  EXPECT_EQ(of("attention"), of("decay_attention"));
  EXPECT_NE(of("gla"), of("attention"));
  EXPECT_NE(of("gla"), of("gla_layer"));
  const auto hashes = verifier_hashes(BackendId::host, default_tolerance());
  EXPECT_EQ(hashes("softmax"), of("softmax"));
}

TEST(VerifierHash, NothingThatDefinesAnOperatorIsLeftOut) {
  std::set<std::string_view> someones;
  for (const Operator& op : operators()) {
    ASSERT_FALSE(reference_folders(op.name).empty()) << op.name;
    for (const std::string_view folder : reference_folders(op.name)) someones.insert(folder);
    for (const Source& source : embedded_verifier()) {
      // The list of operators includes them all.
      if (!verifies(source.path, op.name) || source.path == "reference/operators.cpp") continue;
      for (const std::string& header : included(source.text))
        EXPECT_TRUE(verifies(header, op.name)) << op.name << ": " << source.path << " includes it";
    }
  }
  for (const Source& source : embedded_verifier()) {
    std::string_view path = source.path;
    if (!path.starts_with("reference/")) continue;
    path.remove_prefix(std::string_view("reference/").size());
    const std::size_t end = path.find('/');
    if (end == path.npos) continue;
    EXPECT_TRUE(someones.contains(path.substr(0, end))) << source.path << " is of no operator";
  }
}

TEST(VerifierHash, NamesCompilersWithTheirOptions) {
  const std::string host = host_compiler_description();
  EXPECT_NE(host.find_first_of("0123456789"), std::string::npos) << host;
  EXPECT_EQ(host.find("-W"), std::string::npos) << host << ": warnings change no kernel";
  const auto cuda = cuda_compiler_description();
  if (!cuda) GTEST_SKIP() << "built without CUDA";
  EXPECT_TRUE(cuda->starts_with("NVRTC ")) << *cuda;
  EXPECT_NE(cuda->find("--std="), std::string::npos) << *cuda;
  EXPECT_EQ(cuda->find("sm_"), std::string::npos) << *cuda << ": the device's, not the program's";
}

TEST(VerifierHash, MatchesByGroup) {
  const std::string now = "aaaaaaaaaaaaaaaa-cccccccccccccccc";
  EXPECT_EQ(match_verifier(now, now), VerifierMatch::same);
  EXPECT_EQ(match_verifier("", now), VerifierMatch::unknown);
  EXPECT_EQ(match_verifier(now, ""), VerifierMatch::unknown);
  EXPECT_EQ(match_verifier("bbbbbbbbbbbbbbbb-cccccccccccccccc", now),
            VerifierMatch::other_verification);
  EXPECT_EQ(match_verifier("aaaaaaaaaaaaaaaa-dddddddddddddddd", now),
            VerifierMatch::other_compiler);
  EXPECT_EQ(match_verifier(now, "aaaaaaaaaaaaaaaa-unknown"), VerifierMatch::same);
  EXPECT_EQ(match_verifier(now, "bbbbbbbbbbbbbbbb-unknown"), VerifierMatch::other_verification);
  EXPECT_EQ(match_verifier("junk", now), VerifierMatch::other_verification);
  EXPECT_FALSE(differs(VerifierMatch::same));
  EXPECT_FALSE(differs(VerifierMatch::unknown));
  EXPECT_TRUE(differs(VerifierMatch::other_verification));
  EXPECT_TRUE(differs(VerifierMatch::other_compiler));
}

}  // namespace
}  // namespace gla_bench
