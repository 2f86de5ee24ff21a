#pragma once
// One way to compute an operator: its tile space, which problems it refuses, the bytes it moves,
// and its launches. Each variant is defined in kernels/<family>/. Everything here is data or a pure
// function, so it can be tested without a GPU.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/problem.hpp"
#include "core/tile.hpp"

namespace gla_bench {

enum class BackendId { host, cuda };
std::string_view name(BackendId backend);
std::optional<BackendId> parse_backend(std::string_view text);

/// The limits of the device (or host) that runs the candidate. arch is 10*major+minor of the
/// compute capability, or 0 on the host.
struct Limits {
  int arch = 0;
  std::size_t shared_per_block = 0;  ///< opt-in maximum, bytes
  std::size_t memory_bytes = 0;      ///< device or host memory that a problem may take; 0: unknown
  int multiprocessors = 0;
};

/// The bytes that a variant moves through device memory with a tile, by calculation.
struct Traffic {
  double read_bytes = 0;
  double write_bytes = 0;
};

/// A named piece of scratch memory. The backend allocates it between guard zones and poisons it.
struct Region {
  std::string name;
  std::size_t bytes = 0;
  /// Whether it holds what the forward of a training step leaves for the backward.
  bool kept = false;
};

/// The address of a tensor or workspace region by name. It is null for a tensor that the problem
/// lacks.
using Address = std::function<void*(std::string_view name)>;

/// The family's Params struct, copied by value into each launch.
using ParamBytes = std::vector<std::byte>;

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
  auto operator<=>(const Dim3&) const = default;
};

/// As an argument of a kernel: the address of a tensor or workspace region, null for a tensor that
/// the problem lacks.
struct BufferAddress {
  std::string name;
  auto operator<=>(const BufferAddress&) const = default;
};

/// One argument of a kernel that takes several.
using Argument = std::variant<BufferAddress, std::int32_t, std::int64_t, float>;

/// The most arguments that a launch may pass.
constexpr std::size_t most_arguments = 64;

/// A kernel launch: extern "C" entry(const __grid_constant__ Params), or extern "C" entry(arguments
/// one by one).
struct KernelLaunch {
  std::string entry;
  Dim3 grid, block;
  std::size_t shared_bytes = 0;  ///< dynamic shared memory
  int module = 0;                ///< 0: the recipe's own source; n: imports[n - 1]
  std::string stage = {};        ///< the stage of the computation that its time belongs to
  /// Whether it may begin while the previous launch runs. The kernel then waits (griddepcontrol)
  /// for the results that it needs, and the previous kernel must signal them.
  bool overlaps = false;
  std::vector<Argument> arguments = {};  ///< empty: the kernel takes the Params of its module
};

/// A matrix in a tensor or workspace region, row-major.
struct MatrixOperand {
  std::string buffer;
  DType dtype = DType::float32;
  std::int64_t offset = 0;  ///< elements
  std::int64_t ld = 0;      ///< elements from one row to the next
  std::int64_t stride = 0;  ///< elements from one matrix of the batch to the next
  bool transposed = false;  ///< the operand is the transpose of what is stored (A and B only)
};

/// C[m,n] = alpha A[m,k] B[k,n] + beta C for `batch` row-major matrices, through cuBLAS.
struct MatrixProduct {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  double alpha = 1, beta = 0;
  MatrixOperand a, b, c;
  Arithmetic arithmetic = Arithmetic::float32;  ///< tf32 lets cuBLAS round float32 operands
  std::string stage = {};                       ///< as for KernelLaunch
};

/// Sets a whole workspace region to zero bytes.
struct Zero {
  std::string buffer;
  std::string stage = {};  ///< as for KernelLaunch
};

/// Code on the host that enqueues its work on a stream of the device, such as a function of another
/// language.
struct StreamCall {
  std::function<void(const ParamBytes& params, void* stream)> call;  ///< with the recipe's params
  std::string stage = {};                                            ///< as for KernelLaunch
};

using Step = std::variant<KernelLaunch, MatrixProduct, Zero, StreamCall>;

/// The stage that a step names, "" for none. Either all steps of a recipe name a stage, or none
/// does.
const std::string& stage_of(const Step& step);

/// A constant in the generated prologue: namespace `scope` { constexpr int name = value; }, or
/// #define name (value) where the scope is empty.
struct Constant {
  std::string scope;
  std::string name;
  int value = 0;
  auto operator<=>(const Constant&) const = default;
};

/// A further compilation unit with its own parameters. With it, a recipe launches kernels of
/// another family.
struct Module {
  std::string source;               ///< path of the .cuh below kernels/
  std::vector<Constant> constants;  ///< of this unit alone
  /// Returns the parameters of its kernels, with addresses under the recipe's names.
  std::function<ParamBytes(const Address&)> bind;
};

/// A tensor or workspace region for the bulk tensor copies of sm_90. The backend encodes this map
/// and writes it into the parameters of a module's kernels, after what bind() wrote.
struct TensorMap {
  std::size_t offset = 0;  ///< where its 128 bytes go in the parameters; a multiple of 64
  std::string buffer;
  DType dtype = DType::bfloat16;
  std::vector<std::int64_t> extents;  ///< elements, the contiguous axis first; five axes at most
  std::vector<std::int64_t> strides;  ///< elements, of each axis after the first; whole 16 bytes
  std::vector<int> box;               ///< elements of one copy, per axis
  int swizzle_bytes = 0;              ///< 0, 32, 64 or 128
  int module = 0;                     ///< as of KernelLaunch
};

/// Texts of sources by path. Null: the sources are those of the program.
using SourceTexts = std::shared_ptr<const std::map<std::string, std::string>>;

/// A CUDA candidate described as data: what to compile and launch, in order, on one stream.
struct Recipe {
  /// Path of the .cuh below kernels/, or in `texts`. Empty where no step launches a kernel of it.
  std::string source;
  std::vector<Constant> constants;  ///< besides dtype, which the compiler adds as io_t
  std::vector<Step> steps;
  std::vector<Module> imports = {};  ///< KernelLaunch::module counts them from 1
  std::vector<TensorMap> tensor_maps = {};
  SourceTexts texts = {};  ///< all that `source` may include, where it is not the program's
};

/// A host candidate: plain code over the same Params.
struct HostCall {
  const Problem& problem;
  const Tile& tile;
  const ParamBytes& params;
  /// Times the call's stages: to be called at the end of each stage with its name. May be null.
  const std::function<void(std::string_view stage)>* stage_ended = nullptr;

  void end_stage(std::string_view stage) const {
    if (stage_ended != nullptr) (*stage_ended)(stage);
  }
};

/// The bytes that one stage of a variant moves, by calculation.
struct StageTraffic {
  std::string name;
  Traffic traffic;
};

struct Variant {
  std::string op, name;
  std::string summary;  ///< one line for `gla-bench list`
  BackendId backend = BackendId::host;
  Direction direction = Direction::forward;
  TileSpace space;
  /// Below kernels/, or in `texts`; with what they include they make source_hash.
  std::vector<std::string> sources;
  std::function<Arithmetic(const Problem&, const Tile&)> arithmetic;
  /// Returns the reason for a refusal, or nothing. Never throws, for any problem and tile.
  std::function<std::optional<std::string>(const Problem&, const Tile&, const Limits&)> reject;
  std::function<Traffic(const Problem&, const Tile&)> traffic;
  std::function<double(const Problem&, const Tile&)> flops;
  std::function<std::vector<Region>(const Problem&, const Tile&)> workspace;
  std::function<ParamBytes(const Problem&, const Tile&, const Address&)> bind;
  std::variant<std::function<Recipe(const Problem&, const Tile&)>,
               std::function<void(const HostCall&)>>
      code;
  /// The stages of one call in order, for variants whose steps name stages. May be empty.
  std::function<std::vector<StageTraffic>(const Problem&, const Tile&)> stages = {};
  /// Whether a repeated run gives the same bits. False where sums form in any order (atomic
  /// additions). If true, other bits in a repeated run are a failure.
  bool reproducible = true;
  /// Whether it leaves out keys of which decays have left nothing, wherever the bounds allow it, so
  /// that how many products it forms depends on the gates. What it states has all of them.
  bool skips_decayed_keys = false;
  /// Whether it is another project's implementation: shown beside the others, it wins nothing.
  bool peer = false;
  /// What follows a call, or several, outside of their time: what a function of another language
  /// returned goes to the outputs. `stream` is null on the host. May be empty.
  std::function<void(const ParamBytes& params, void* stream)> after_call = {};
  /// Of a variant from outside the program: the path of the manifest that describes it
  /// (config/candidates/manifest.hpp), as it was given, and the texts of its sources.
  std::string manifest = {};
  SourceTexts texts = {};
};

/// The only list of variants (kernels/variants.cpp).
std::span<const Variant> variants();

/// Returns nothing for an unknown name.
const Variant* find_variant(std::string_view op, std::string_view name, BackendId backend,
                            Direction direction = Direction::forward);

/// In the "variants" of a config: the variant that an earlier search chose for the problem.
constexpr std::string_view auto_variant = "auto";

/// One point to build, verify and measure.
struct Candidate {
  const Variant* variant = nullptr;
  Problem problem;
  Tile tile;
};

/// "chunk_fused [cuda] block_v=32,chunk=64 on gla forward ...", for messages.
std::string describe(const Candidate& candidate);

/// The regions of a candidate's workspace.
/// @throws BuildError where one has the name of a tensor, as a kernel asks for both by name
std::vector<Region> workspace_of(const Candidate& candidate);

std::size_t workspace_bytes(const Candidate& candidate);

/// Of the workspace, what a training step keeps from its forward to its backward.
std::size_t kept_bytes(const Candidate& candidate);

}  // namespace gla_bench
