#include "harness/support/system/shared_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>
#include <vector>

#include "harness/support/text.hpp"

namespace gla_bench {
namespace {

namespace fs = std::filesystem;

// An open library is found by its name from then on, wherever it lies.
void open_companions(const std::string& folder, std::string_view prefix) {
  if (prefix.empty()) return;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.path().filename().string().starts_with(prefix))
      dlopen(entry.path().c_str(), RTLD_NOW);
}

}  // namespace

SharedLibrary SharedLibrary::open(std::span<const std::string> names,
                                  std::span<const std::string> folders,
                                  std::string_view companion) {
  SharedLibrary library;
  std::string broken;
  for (const std::string& name : names) {
    library.handle_ = dlopen(name.c_str(), RTLD_NOW);
    if (library.handle_ != nullptr) return library;
    for (const std::string& folder : folders) {
      const fs::path path = fs::path(folder) / name;
      std::error_code error;
      if (!fs::exists(path, error)) continue;
      open_companions(folder, companion);
      library.handle_ = dlopen(path.c_str(), RTLD_NOW);
      if (library.handle_ != nullptr) return library;
      const char* said = dlerror();
      broken += "; " + std::string(said == nullptr ? path.string() + " cannot be opened" : said);
    }
  }
  library.reason_ =
      join({names.begin(), names.end()}, " or ") + " is not on the dynamic loader's path" +
      (folders.empty() ? "" : " nor in " + join({folders.begin(), folders.end()})) + broken;
  return library;
}

std::string SharedLibrary::path() const {
  link_map* map = nullptr;
  if (handle_ == nullptr || dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr)
    return {};
  std::error_code error;
  return fs::canonical(map->l_name, error).string();
}

void* SharedLibrary::address(const char* name) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, name);
}

}  // namespace gla_bench
