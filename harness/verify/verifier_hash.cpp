#include "harness/verify/verifier_hash.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "core/reference_folders.hpp"
#include "harness/backends/backend.hpp"
#include "harness/backends/sources/source_hash.hpp"
#include "harness/support/hash.hpp"

namespace gla_bench {
namespace {

constexpr std::string_view unknown_compiler = "unknown";

// The code hash of each of the verifier's sources, in the order of embedded_verifier().
const std::vector<std::string>& hashes_of_the_verifier() {
  static const std::vector<std::string> hashes = [] {
    std::vector<std::string> list;
    for (const Source& source : embedded_verifier())
      list.push_back(code_hash(code_tokens(source.text)));
    return list;
  }();
  return hashes;
}

std::string code_of_the_verifier(std::string_view op) {
  std::vector<std::string> hashes;
  for (std::size_t i = 0; i < embedded_verifier().size(); ++i)
    if (verifies(embedded_verifier()[i].path, op)) hashes.push_back(hashes_of_the_verifier()[i]);
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

bool verifies(std::string_view path, std::string_view op) {
  constexpr std::string_view room = "reference/";
  if (!path.starts_with(room)) return true;
  path.remove_prefix(room.size());
  const std::size_t end = path.find('/');
  if (end == std::string_view::npos) return true;
  const auto folders = reference_folders(op);
  return folders.empty() || std::ranges::find(folders, path.substr(0, end)) != folders.end();
}

std::string verifier_hash(BackendId backend, std::string_view op, const Tolerance& tolerance) {
  return hex(hash_bytes(text_of(tolerance), hash_bytes(code_of_the_verifier(op)))) + "-" +
         compiler_of(backend);
}

std::function<std::string(const std::string& op)> verifier_hashes(BackendId backend,
                                                                  const Tolerance& tolerance) {
  auto known = std::make_shared<std::map<std::string, std::string>>();
  return [backend, tolerance, known = std::move(known)](const std::string& op) {
    const auto [found, fresh] = known->try_emplace(op);
    if (fresh) found->second = verifier_hash(backend, op, tolerance);
    return found->second;
  };
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
