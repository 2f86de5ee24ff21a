#include "harness/verify/verifier_hash.hpp"

#include <sstream>
#include <vector>

#include "harness/backends/backend.hpp"
#include "harness/backends/sources/source_hash.hpp"
#include "harness/support/hash.hpp"

namespace gla_bench {
namespace {

constexpr std::string_view unknown_compiler = "unknown";

std::string code_of_the_verifier() {
  std::vector<std::string> hashes;
  for (const Source& source : embedded_verifier())
    hashes.push_back(code_hash(code_tokens(source.text)));
  return hash_of_all(std::move(hashes));
}

std::string text_of(const Tolerance& tolerance) {
  std::ostringstream text;
  text.precision(17);
  for (const auto& [arithmetic, of] : tolerance.arithmetic)
    text << name(arithmetic) << " " << of.cap << " " << of.factor << " " << of.chunk_factor << " "
         << of.max_factor << " " << of.steady << " " << of.small << "\n";
  text << tolerance.worst_chunk << " " << tolerance.max_abs;
  return text.str();
}

std::string compiler_of(BackendId backend) {
  const auto description = backend == BackendId::cuda ? cuda_compiler_description()
                                                      : std::optional(host_compiler_description());
  return description ? hex(hash_bytes(*description)) : std::string(unknown_compiler);
}

struct Parts {
  std::string_view verification, compiler;
};

Parts parts_of(std::string_view text) {
  const std::size_t hyphen = text.find('-');
  if (hyphen == std::string_view::npos) return {text, unknown_compiler};
  return {text.substr(0, hyphen), text.substr(hyphen + 1)};
}

}  // namespace

std::string verifier_hash(BackendId backend, const Tolerance& tolerance) {
  static const std::string code = code_of_the_verifier();
  return hex(hash_bytes(text_of(tolerance), hash_bytes(code))) + "-" + compiler_of(backend);
}

VerifierMatch match_verifier(std::string_view recorded, std::string_view today) {
  if (recorded.empty() || today.empty()) return VerifierMatch::unknown;
  const Parts then = parts_of(recorded), now = parts_of(today);
  if (then.verification != now.verification) return VerifierMatch::other_verification;
  if (then.compiler == unknown_compiler || now.compiler == unknown_compiler)
    return VerifierMatch::same;
  return then.compiler == now.compiler ? VerifierMatch::same : VerifierMatch::other_compiler;
}

bool differs(VerifierMatch match) {
  return match == VerifierMatch::other_verification || match == VerifierMatch::other_compiler;
}

}  // namespace gla_bench
