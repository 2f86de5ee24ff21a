#include "harness/backends/cuda/toolkit/toolkit.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "core/error.hpp"
#include "harness/backends/cuda/toolkit/bound_library.hpp"
#include "harness/backends/cuda/toolkit/cublas_library.hpp"
#include "harness/backends/cuda/toolkit/nvrtc_library.hpp"
#include "harness/backends/devices.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench::cuda {
namespace {

/// Sets a variable of the environment for as long as it lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_)
      ::setenv(name_, before_->c_str(), 1);
    else
      ::unsetenv(name_);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(Toolkit, TheUsersFolderComesFirst) {
  const TemporaryFolder home, path;
  const Variable first("CUDA_HOME", home.path().string()),
      second("CUDA_PATH", path.path().string());
  const std::vector<std::string> folders = toolkit_folders();
  ASSERT_GE(folders.size(), 2U);
  EXPECT_EQ(folders[0], home.path().string());
  EXPECT_EQ(folders[1], path.path().string());
}

TEST(Toolkit, OnlyFoldersThatExistAreSearched) {
  const TemporaryFolder home;
  std::filesystem::create_directory(home.path() / "lib64");
  const Variable variable("CUDA_HOME", home.path().string());
  const Variable other("CUDA_PATH", "/nowhere");
  const std::vector<std::string> folders = toolkit_folders({"/lib64", "/missing"});
  ASSERT_FALSE(folders.empty());
  EXPECT_EQ(folders[0], home.file("lib64"));
  for (const std::string& folder : folders) EXPECT_TRUE(std::filesystem::is_directory(folder));
}

TEST(Toolkit, TheMajorVersionOfTheBuildComesFirst) {
  const std::vector<std::string> names = library_names("libnvrtc");
  ASSERT_EQ(names.size(), 2U);
  EXPECT_EQ(names[0], "libnvrtc.so." + std::to_string(CUDART_VERSION / 1000));
  EXPECT_NE(names[0], names[1]);
}

TEST(Toolkit, AMissingLibraryIsToldWithWhatWasTried) {
  const SharedLibrary missing = open_toolkit_library("libgla-none", "");
  try {
    const Binder bind(missing, "NVRTC, which compiles the kernels,");
    FAIL() << "no error";
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find("NVRTC, which compiles the kernels, is missing: libgla-none.so."), 0U);
    for (const std::string& folder : toolkit_folders({"/lib64"}))
      EXPECT_NE(text.find(folder), std::string::npos) << folder;
  }
}

TEST(Toolkit, ALibraryThatIsTooOldIsToldByItsMissingFunction) {
  const SharedLibrary library = SharedLibrary::open(std::vector<std::string>{"libm.so.6"});
  const Binder bind(library, "mathematics");
  EXPECT_THROW(NvrtcFunctions functions(bind), InputError);
}

TEST(Toolkit, ItsLibrariesAreFoundHere) {
  // The toolkit that the program is built with has both.
  EXPECT_NO_THROW(nvrtc());
  EXPECT_NO_THROW(cublas());
  EXPECT_EQ(&nvrtc(), &nvrtc());
  for (const auto& [name, place] : cuda_libraries())
    EXPECT_TRUE(std::filesystem::is_regular_file(place)) << name << ": " << place;
}

}  // namespace
}  // namespace gla_bench::cuda
