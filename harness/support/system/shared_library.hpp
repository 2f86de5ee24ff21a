#pragma once
// Shared libraries that are opened at run time, so that the program also starts where they are not
// installed.

#include <span>
#include <string>
#include <string_view>

namespace gla_bench {

/// An open library, or why there is none. A library stays open until the process ends: some have
/// threads and callbacks of their own.
class SharedLibrary {
 public:
  /// Nothing is open, and nothing was looked for.
  SharedLibrary() = default;

  /// Opens the first library that can be opened. Each name is tried as the dynamic loader finds it
  /// (LD_LIBRARY_PATH, the system's folders), then in each of the folders, before the next name is
  /// tried. `companion` is the beginning of the names of libraries that the wanted one looks for by
  /// name. The loader need not find them beside it, so those of its folder are opened before it.
  /// Empty for none.
  static SharedLibrary open(std::span<const std::string> names,
                            std::span<const std::string> folders = {},
                            std::string_view companion = {});

  bool is_open() const { return handle_ != nullptr; }

  /// Why nothing is open: the names and folders that were tried, and what the loader said of a file
  /// that is there. Empty for an open library.
  const std::string& reason() const { return reason_; }

  /// The file that is open, with symbolic links resolved; empty where it cannot be told.
  std::string path() const;

  /// Sets the function to the library's of that name, or to null.
  /// @return whether there is one
  template <class Function>
  bool find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(address(name));
    return function != nullptr;
  }

 private:
  void* address(const char* name) const;

  void* handle_ = nullptr;
  std::string reason_;
};

}  // namespace gla_bench
