#include "harness/backends/sources/source_hash.hpp"

#include <algorithm>
#include <mutex>

#include "core/error.hpp"
#include "harness/support/hash.hpp"

namespace gla_bench {

std::string code_hash(const std::vector<Token>& code, const StandIn& stand_in) {
  std::uint64_t state = hash_bytes("");
  for (const Token& token : code) {
    if (token.kind == Token::Kind::literal) {
      const auto other = stand_in ? stand_in(token.text) : std::nullopt;
      state = hash_bytes(other ? *other : "\"" + token.text + "\"", state);
    } else {
      state = hash_bytes(token.text, state);
    }
    state = hash_bytes(token.kind == Token::Kind::line_end ? "\n" : " ", state);
  }
  return hex(state);
}

std::string hash_of_all(std::vector<std::string> code_hashes) {
  std::sort(code_hashes.begin(), code_hashes.end());
  std::uint64_t state = hash_bytes("");
  for (const std::string& hash : code_hashes) state = hash_bytes(hash, state);
  return hex(state);
}

const std::vector<Token>& SourceHashes::code_of(const std::string& path) {
  const auto known = code_.find(path);
  if (known != code_.end()) return known->second;
  const std::string* text = store_.find(path);
  if (text == nullptr) throw InputError("no kernel source '" + path + "'");
  // Tokens are those of C++. In other languages every character counts.
  if (path.ends_with(".py")) return code_[path] = {{Token::Kind::code, *text}};
  return code_[path] = code_tokens(*text);
}

std::optional<std::string> SourceHashes::without_path(const std::string& literal) const {
  if (store_.find(literal) == nullptr && !store_.has_folder(literal)) return std::nullopt;
  return "<source>";
}

const std::string& SourceHashes::of_source(const std::string& path) {
  const auto known = of_source_.find(path);
  if (known != of_source_.end()) return known->second;
  return of_source_[path] = code_hash(
             code_of(path), [this](const std::string& literal) { return without_path(literal); });
}

const std::string& SourceHashes::of(const Variant& variant) {
  if (variant.sources.empty()) throw InputError("variant '" + variant.name + "' names no sources");
  if (!variant.texts) return of_list(variant.sources);
  const auto known = of_texts_.find(variant.texts);
  if (known != of_texts_.end()) return known->second;
  return of_texts_[variant.texts] =
             SourceHashes(SourceStore(*variant.texts)).of_list(variant.sources);
}

const std::string& SourceHashes::of_list(const std::vector<std::string>& sources) {
  const auto known = of_list_.find(sources);
  if (known != of_list_.end()) return known->second;
  std::vector<std::string> paths;
  for (const Source& source : store_.closure(sources)) paths.emplace_back(source.path);
  const StandIn named = [&](const std::string& literal) -> std::optional<std::string> {
    if (!std::binary_search(paths.begin(), paths.end(), literal)) return without_path(literal);
    return "<source " + of_source(literal) + ">";
  };
  std::vector<std::string> hashes;
  for (const std::string& path : paths) hashes.push_back(code_hash(code_of(path), named));
  return of_list_[sources] = hash_of_all(std::move(hashes));
}

std::string source_hash(const Variant& variant, const SourceStore& store) {
  return SourceHashes(store).of(variant);
}

std::string source_hash(const Variant& variant) {
  static std::mutex guard;
  static SourceHashes hashes{SourceStore()};
  const std::lock_guard lock(guard);
  return hashes.of(variant);
}

}  // namespace gla_bench
