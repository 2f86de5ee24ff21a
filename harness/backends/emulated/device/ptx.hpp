#pragma once
// The PTX instructions that kernels write as asm statements. sources.hpp has turned each statement
// into an Instruction that runs on Operands. Of an instruction that is not here, the kernel fails
// with its name.

#include <string>
#include <vector>

namespace gla_bench::emulated {

/// One operand of an asm statement: a variable, or the value of an expression.
struct Operand {
  void* variable = nullptr;
  unsigned long long value = 0;

  template <class T>
  T as() const {
    T result{};
    std::memcpy(&result, variable != nullptr ? variable : &value, sizeof result);
    return result;
  }
  template <class T>
  void set(T result) const {
    std::memcpy(variable, &result, sizeof result);
  }
  const unsigned char* shared() const {
    return gla_bench_emulated.shared + static_cast<int>(as<unsigned>());
  }
};

template <class T>
Operand variable(T& variable) {
  return {&variable, 0};
}
template <class T>
Operand value(const T& value) {
  static_assert(sizeof value <= sizeof(unsigned long long));
  Operand operand;
  std::memcpy(&operand.value, &value, sizeof value);
  return operand;
}

/// What each lane brings to an instruction of the whole warp: its operands in their order.
using Lane = std::vector<Operand>;

/// Lane l of the 8 x 8 matrix m takes the pair at row l / 4, columns 2 (l % 4).. of the rows that
/// lanes 8 m.. point at; transposed: the pair at column l / 4.
template <bool transposed>
void load_matrices(void* const* all, int) {
  for (int l = 0; l < warp; ++l) {
    const Lane& to = *static_cast<Lane*>(all[l]);
    for (int m = 0; m < 4; ++m) {
      unsigned short pair[2];
      for (int i = 0; i < 2; ++i) {
        const int row = transposed ? 2 * (l % 4) + i : l / 4;
        const int column = transposed ? l / 4 : 2 * (l % 4) + i;
        const Lane& from = *static_cast<Lane*>(all[8 * m + row]);
        std::memcpy(&pair[i], from[4].shared() + 2 * column, 2);
      }
      unsigned both;
      std::memcpy(&both, pair, sizeof both);
      to[static_cast<std::size_t>(m)].set(both);
    }
  }
}

struct Bfloat16Operands {
  static constexpr int per_register = 2;
  static float value(unsigned bits, int i) {
    return bits_as<float>((i == 0 ? bits << 16 : bits & 0xffff0000u));
  }
};
struct Float16Operands {
  static constexpr int per_register = 2;
  static float value(unsigned bits, int i) {
    __half_raw raw;
    raw.x = static_cast<unsigned short>(bits >> (16 * i));
    return __half2float(__half(raw));
  }
};
struct Tf32Operands {  // the hardware ignores the low 13 bits
  static constexpr int per_register = 1;
  static float value(unsigned bits, int) { return bits_as<float>(bits & 0xffffe000u); }
};

/// D [16 x 8] = A [16 x k] B [k x 8] + C, fragments as device/mma.cuh says. Operands: d0-3, a0-3,
/// b0-1, c0-3. The sum is rounded once, where the hardware rounds or cuts more often.
template <class Operands>
void multiply(void* const* all, int) {
  constexpr int n = Operands::per_register, half = 4 * n, k = 2 * half;
  float a[16][k], b[k][8];
  for (int l = 0; l < warp; ++l) {
    const Lane& lane = *static_cast<Lane*>(all[l]);
    const int g = l / 4, t = l % 4;
    for (int r = 0; r < 4; ++r)
      for (int i = 0; i < n; ++i)
        a[g + 8 * (r % 2)][n * t + i + half * (r / 2)] =
            Operands::value(lane[static_cast<std::size_t>(4 + r)].as<unsigned>(), i);
    for (int r = 0; r < 2; ++r)
      for (int i = 0; i < n; ++i)
        b[n * t + i + half * r][g] =
            Operands::value(lane[static_cast<std::size_t>(8 + r)].as<unsigned>(), i);
  }
  for (int l = 0; l < warp; ++l) {
    const Lane& lane = *static_cast<Lane*>(all[l]);
    const int g = l / 4, t = l % 4;
    float sums[4];
    for (int r = 0; r < 4; ++r) {
      double sum = lane[static_cast<std::size_t>(10 + r)].as<float>();
      for (int i = 0; i < k; ++i)
        sum += static_cast<double>(a[g + 8 * (r / 2)][i]) * b[i][2 * t + r % 2];
      sums[r] = static_cast<float>(sum);
    }
    for (int r = 0; r < 4; ++r) lane[static_cast<std::size_t>(r)].set(sums[r]);
  }
}

inline float flushed(float x) {
  return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x;
}

inline unsigned rounded_to_tf32(float x) {
  const unsigned bits = bits_as<unsigned>(x);
  if ((bits & 0x7f800000u) == 0x7f800000u) return bits;
  return (bits + 0x1000u) & 0xffffe000u;
}

/// One asm statement's instruction: its name, and which operand of the statement stands where.
class Instruction {
 public:
  explicit Instruction(const char* text) : text_(text) {
    const std::size_t end = text_.find_first_of(" ;");
    name_ = text_.substr(0, end);
    for (std::size_t i = end; i < text_.size(); ++i) {
      if (text_[i] == '%')
        places_.push_back({true, std::stoi(text_.substr(i + 1))});
      else if (text_[i] >= '0' && text_[i] <= '9')
        places_.push_back({false, std::stoi(text_.substr(i))});
      else
        continue;
      while (i + 1 < text_.size() && text_[i + 1] >= '0' && text_[i + 1] <= '9') ++i;
    }
  }

  void run(const Operand* statement) const {
    Lane operands;
    for (const Place& place : places_)
      operands.push_back(place.is_operand ? statement[place.number] : value(place.number));
    const auto is = [this](const char* start) { return name_.rfind(start, 0) == 0; };
    const Runtime& runtime = *gla_bench_emulated.runtime;
    if (is("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"))
      meet(operands, multiply<Bfloat16Operands>);
    else if (is("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
      meet(operands, multiply<Float16Operands>);
    else if (is("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"))
      meet(operands, multiply<Tf32Operands>);
    else if (is("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"))
      meet(operands, load_matrices<true>);
    else if (is("ldmatrix.sync.aligned.m8n8.x4.shared.b16"))
      meet(operands, load_matrices<false>);
    else if (is("cp.async.ca.shared.global") || is("cp.async.cg.shared.global"))
      runtime.copy(const_cast<unsigned char*>(operands[0].shared()), operands[1].as<const void*>(),
                   operands[2].as<int>(), operands[3].as<int>());
    else if (is("cp.async.commit_group"))
      runtime.commit_copies();
    else if (is("cp.async.wait_group"))
      runtime.wait_copies(operands[0].as<int>());
    else if (is("ex2.approx.ftz.f32"))
      operands[0].set(flushed(std::exp2(flushed(operands[1].as<float>()))));
    else if (is("rcp.approx.ftz.f32"))
      operands[0].set(flushed(1.0f / flushed(operands[1].as<float>())));
    else if (is("cvt.rna.tf32.f32"))
      operands[0].set(rounded_to_tf32(operands[1].as<float>()));
    else if (is("createpolicy."))
      operands[0].set(0ull);
    else if (is("st.global.L2::cache_hint"))
      store(operands);
    else if (!is("griddepcontrol."))
      runtime.fail(("the emulator does not know the instruction " + name_).c_str());
  }

 private:
  struct Place {
    bool is_operand;
    int number;
  };

  void meet(Lane& operands, Act act) const { meet_lanes(all_lanes, operands, act, name_.c_str()); }

  /// st.global.L2::cache_hint[.vN].u32 [to], {values}, policy
  static void store(const Lane& operands) {
    auto* to = operands[0].as<unsigned*>();
    for (std::size_t i = 1; i + 1 < operands.size(); ++i) to[i - 1] = operands[i].as<unsigned>();
  }

  std::string text_, name_;
  std::vector<Place> places_;
};

}  // namespace gla_bench::emulated
