#include "harness/config/candidates/candidates.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/backends/sources/source_store.hpp"
#include "harness/config/candidates/describe_function.hpp"
#include "harness/config/candidates/functions.hpp"
#include "harness/config/candidates/manifest.hpp"
#include "harness/config/candidates/manifest_variant.hpp"
#include "harness/config/policy.hpp"
#include "harness/support/printable.hpp"

namespace gla_bench {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t most_source_bytes = std::uint64_t{4} << 20;

/// The folder of a manifest's sources.
fs::path folder_of(const std::string& manifest) {
  return fs::path(manifest).parent_path();
}

bool is_same_file(const std::string& one, const std::string& other) {
  std::error_code error;
  return one == other || fs::equivalent(one, other, error);
}

/// Reads a source that the manifest names, and returns its path from the manifest's folder.
std::string read_source(const JsonNode& node, const std::string& manifest,
                        std::map<std::string, std::string>& texts) {
  const std::string path = fs::path(read_path(node, "")).lexically_normal().generic_string();
  if (path.empty()) node.fail("the path of a source");
  if (texts.contains(path)) node.fail("a file that is not named before");
  try {
    texts[path] = read_text_file((folder_of(manifest) / path).string(), most_source_bytes);
  } catch (const InputError& error) {
    throw InputError(node.file() + ": " + node.pointer() + ": " + error.what());
  }
  return path;
}

/// The files of a function's code.
std::vector<std::string> read_function(const JsonNode& node, Manifest& manifest,
                                       std::map<std::string, std::string>& texts) {
  const FunctionPlace place = *function_place(manifest.function);
  const Json file = place.file;
  std::vector<std::string> sources{
      read_source(JsonNode(file, node.file(), "/function"), node.file(), texts)};
  manifest.function = sources.front() + ":" + place.name;
  return sources;
}

/// What a source includes has to be among the texts, or the hash would not know of it.
void expect_known_includes(const JsonNode& node, const std::map<std::string, std::string>& texts,
                           const std::vector<std::string>& sources) {
  const SourceStore store(texts);
  for (const std::string& path : sources)
    for (const std::string& missing : store.missing_includes({path, *store.find(path)}))
      node.fail(path + " to include nothing in quotes but the \"headers\"; it includes \"" +
                printable_ascii(missing, 80) + "\"");
}

Variant read_variant(const JsonNode& node, const std::string& text, const Catalog& catalog) {
  Manifest manifest = read_manifest(node, catalog);
  const std::string& path = node.file();
  const std::string own = fs::path(path).filename().generic_string();
  std::map<std::string, std::string> texts{{own, text}};
  std::vector<std::string> sources;
  if (manifest.function.empty()) {
    manifest.source = read_source(node.at("source"), path, texts);
    sources = {manifest.source};
  } else {
    sources = read_function(node, manifest, texts);
  }
  if (const auto headers = node.find("headers"))
    for (const JsonNode& header : headers->items())
      sources.push_back(read_source(header, path, texts));
  if (manifest.function.empty()) expect_known_includes(node.at("source"), texts, sources);
  sources.push_back(own);
  Variant variant =
      variant_of(manifest, *catalog.find_operator(manifest.op), folder_of(path).string(),
                 std::make_shared<const std::map<std::string, std::string>>(std::move(texts)));
  variant.sources = std::move(sources);
  variant.manifest = path;
  return variant;
}

}  // namespace

Catalog with_manifest(const Catalog& catalog, const std::string& path) {
  for (const std::string& known : manifests_of(catalog))
    if (is_same_file(known, path)) return catalog;
  const std::string text =
      function_place(path) ? described_function(path) : read_text_file(path, most_source_bytes);
  const Json document = parse_json(text, path);
  const JsonNode node(document, path);
  Variant variant = read_variant(node, text, catalog);
  if (catalog.find_variant(variant.op, variant.name, variant.backend, variant.direction) != nullptr)
    node.at("variant").fail("a name that no variant of " + variant.op + " " +
                            std::string(name(variant.direction)) + " has on the backend " +
                            std::string(name(variant.backend)));
  std::vector<Variant> all(catalog.variants.begin(), catalog.variants.end());
  all.push_back(std::move(variant));
  Catalog wider{
      catalog.operators, {}, std::make_shared<const std::vector<Variant>>(std::move(all))};
  wider.variants = *wider.owned;
  return wider;
}

Catalog with_manifests(Catalog catalog, const JsonNode& paths, const std::string& folder) {
  for (const JsonNode& item : paths.items(1)) {
    const std::string path = read_path(item, folder);
    if (path.empty()) item.fail("the path of a manifest");
    catalog = with_manifest(catalog, path);
  }
  return catalog;
}

std::vector<std::string> manifests_of(const Catalog& catalog) {
  std::vector<std::string> paths;
  for (const Variant& variant : catalog.variants)
    if (!variant.manifest.empty()) paths.push_back(variant.manifest);
  return paths;
}

std::vector<std::string> manifest_files(const Variant& variant) {
  if (variant.manifest.empty()) return {};
  std::vector<std::string> files;
  for (const auto& [path, text] : *variant.texts)
    if (!function_place(path)) files.push_back((folder_of(variant.manifest) / path).string());
  return files;
}

}  // namespace gla_bench
