#include "harness/backends/sources/source_store.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include "core/error.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {
namespace {

namespace fs = std::filesystem;

// The position of the quoted name in an #include "..." line, or nothing.
struct Quoted {
  std::size_t begin = 0, length = 0;
};

std::optional<Quoted> quoted_include(std::string_view line) {
  const auto skip_blanks = [&](std::size_t at) {
    const std::size_t next = line.find_first_not_of(" \t", at);
    return next == std::string_view::npos ? line.size() : next;
  };
  std::size_t at = skip_blanks(0);
  if (at >= line.size() || line[at] != '#') return std::nullopt;
  at = skip_blanks(at + 1);
  if (line.substr(at, 7) != "include") return std::nullopt;
  at = skip_blanks(at + 7);
  if (at >= line.size() || line[at] != '"') return std::nullopt;
  const std::size_t end = line.find('"', at + 1);
  if (end == std::string_view::npos) return std::nullopt;
  return Quoted{at + 1, end - at - 1};
}

// Calls visit(line without its end) for each line.
template <class Visit>
void for_each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    visit(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
}

// Whether a line is `#word` and what follows it.
bool is_directive(std::string_view line, std::string_view word, std::string_view rest) {
  const auto skip = [&](std::size_t at) {
    return std::min(line.find_first_not_of(" \t", at), line.size());
  };
  std::size_t at = skip(0);
  if (at == line.size() || line[at] != '#') return false;
  at = skip(at + 1);
  if (!line.substr(at).starts_with(word)) return false;
  return line.substr(skip(at + word.size())).starts_with(rest);
}

bool is_source(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".cuh" || extension == ".h" || extension == ".hpp" || extension == ".cpp";
}

template <class Sources>
void read_folder(const fs::path& folder, const std::string& prefix, Sources& sources) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && is_source(entry.path()))
      sources[prefix + fs::relative(entry.path(), folder).generic_string()] =
          read_text_file(entry.path().string());
}

bool below_kernels(std::string_view path) {
  return !path.starts_with("reference/") && !path.starts_with("harness/") &&
         !path.starts_with("configs/");
}

}  // namespace

SourceStore::SourceStore() {
  for (const Source& source : embedded_sources()) sources_[std::string(source.path)] = source.text;
}

SourceStore::SourceStore(const fs::path& kernels_folder) {
  for (const Source& source : embedded_sources())
    if (!below_kernels(source.path)) sources_[std::string(source.path)] = source.text;
  try {
    const fs::path folder = fs::canonical(kernels_folder);
    read_folder(folder, "", sources_);
    for (const char* beside : {"reference", "harness/backends/cuda", "harness/selftest"})
      if (fs::is_directory(folder.parent_path() / beside))
        read_folder(folder.parent_path() / beside, std::string(beside) + "/", sources_);
  } catch (const fs::filesystem_error& error) {
    throw InputError("kernel sources: " + std::string(error.what()));
  }
}

SourceStore::SourceStore(std::map<std::string, std::string> sources) {
  for (auto& [path, text] : sources) sources_[path] = std::move(text);
}

std::vector<std::string> SourceStore::paths() const {
  std::vector<std::string> list;
  for (const auto& [path, text] : sources_) list.push_back(path);
  return list;
}

const std::string* SourceStore::find(std::string_view path) const {
  const auto found = sources_.find(path);
  return found == sources_.end() ? nullptr : &found->second;
}

bool SourceStore::has_folder(std::string_view path) const {
  if (!path.ends_with('/')) return false;
  const auto first = sources_.lower_bound(path);
  return first != sources_.end() && first->first.starts_with(path);
}

std::optional<std::string> SourceStore::resolve(std::string_view includer,
                                                std::string_view written) const {
  const auto stored = [&](const fs::path& path) -> std::optional<std::string> {
    std::string text = path.lexically_normal().generic_string();
    if (find(text) == nullptr) return std::nullopt;
    return text;
  };
  if (auto path = stored(fs::path(includer).parent_path() / written)) return path;
  if (auto path = stored(fs::path(written))) return path;
  if (written.starts_with("kernels/")) return stored(fs::path(written.substr(8)));
  return std::nullopt;
}

std::vector<Source> SourceStore::closure(std::span<const std::string> paths) const {
  std::set<std::string> seen;
  std::vector<std::string> pending;
  const auto add = [&](const std::string& path) {
    if (seen.insert(path).second) pending.push_back(path);
  };
  for (const std::string& path : paths) {
    if (find(path) == nullptr) throw InputError("no kernel source '" + path + "'");
    add(path);
  }
  while (!pending.empty()) {
    const std::string path = std::move(pending.back());
    pending.pop_back();
    for_each_line(*find(path), [&](std::string_view line) {
      if (const auto name = quoted_include(line))
        if (const auto included = resolve(path, line.substr(name->begin, name->length)))
          add(*included);
    });
  }
  std::vector<Source> list;
  for (const std::string& path : seen) {
    const auto found = sources_.find(path);
    list.push_back({found->first, found->second});
  }
  return list;
}

std::vector<std::string> SourceStore::missing_includes(const Source& source) const {
  std::vector<std::string> missing;
  for_each_line(source.text, [&](std::string_view line) {
    const auto name = quoted_include(line);
    if (!name) return;
    const std::string_view written = line.substr(name->begin, name->length);
    if (!resolve(source.path, written)) missing.emplace_back(written);
  });
  return missing;
}

std::string SourceStore::with_full_includes(const Source& source) const {
  std::string text;
  text.reserve(source.text.size() + 256);
  for_each_line(source.text, [&](std::string_view line) {
    const auto name = quoted_include(line);
    const auto full =
        name ? resolve(source.path, line.substr(name->begin, name->length)) : std::nullopt;
    if (full)
      text.append(line.substr(0, name->begin))
          .append(*full)
          .append(line.substr(name->begin + name->length));
    else
      text.append(line);
    text += '\n';
  });
  return text;
}

namespace {

// What in_one() has put together so far.
struct Joined {
  std::string headers, body;
  std::set<std::string, std::less<>> sources, systems;
};

void join(const SourceStore& store,
          const std::function<std::optional<std::string>(std::string_view, std::string_view)>& find,
          const std::string& path, std::string_view text, Joined& joined) {
  for_each_line(text, [&](std::string_view line) {
    if (is_directive(line, "pragma", "once")) return;
    if (is_directive(line, "include", "<")) {
      if (joined.systems.emplace(line).second) joined.headers.append(line) += '\n';
      return;
    }
    const auto name = quoted_include(line);
    const auto included = name ? find(path, line.substr(name->begin, name->length)) : std::nullopt;
    if (!included) {
      joined.body.append(line) += '\n';
    } else if (joined.sources.insert(*included).second) {
      joined.body += "// ---- " + *included + "\n";
      join(store, find, *included, *store.find(*included), joined);
    }
  });
}

}  // namespace

std::string SourceStore::in_one(const std::string& text) const {
  Joined joined;
  join(
      *this, [this](std::string_view path, std::string_view name) { return resolve(path, name); },
      "", text, joined);
  return joined.headers + joined.body;
}

}  // namespace gla_bench
